"""The cycles that the TPU's compiler expects a program to take, added up from the text of the compiled program."""

import re

STEPS = 97
"""Local steps of the compiled round. No other loop has this number of turns, so the loop of steps is known by it."""


def estimated_cycles(hlo: str, steps: int) -> int:
    """Σ of the compiler's estimates over all instructions. The body of a loop counts as often as the loop turns.

    Args:
        hlo: a compiled program as text. Its estimates count the body of a loop once.
        steps: how often to count the loop of local steps.
    """
    computations: dict[str, list[str]] = {}
    entry, lines = "", []
    for line in hlo.splitlines():
        if head := re.match(r"(ENTRY )?%(\S+) \(.*\{$", line):
            lines = computations[head[2]] = []
            entry = head[2] if head[1] else entry
        lines.append(line)

    def cycles(computation: str) -> int:
        total = 0
        for line in computations[computation]:
            if estimate := re.search(r'"estimated_cycles":"(\d+)"', line):
                total += int(estimate[1])
            if loop := re.search(r" while\(.* condition=%([^\s,]+), body=%([^\s,]+)", line):
                total += _turns(computations[loop[1]], steps) * cycles(loop[2])
        return total

    return cycles(entry)


def _turns(condition: list[str], steps: int) -> int:
    """How often a loop turns, by its condition: a counter below a constant, or below a number known at run time.

    Only the loop of local steps has a limit that is known at run time, unless the compiler sees that it is STEPS. Any
    other loop counts once: it waits for a permutation to land inside its range, which mostly happens at once.
    """
    text = "\n".join(condition)
    if limit := re.search(r" constant\((\d+)\)", text):
        return steps if int(limit[1]) == STEPS else int(limit[1])
    return steps if re.search(r"ROOT .* compare\(.*direction=LT", text) else 1
