"""The rules by which LEAF finds the speeches of each role in Shakespeare's complete works."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Roles = dict[tuple[str, str], list[str]]
"""(play, role) -> the lines that the role speaks, in the order of the text."""

_AUTHOR_LINE = "by William Shakespeare"
_TITLE_DISTANCES = range(2, 8)
"""How many lines a title may stand above the author's line."""


class _Typesetting(NamedTuple):
    """How a play marks who speaks."""

    speech: re.Pattern
    """First line of a speech: the role and what it says."""
    continuation: re.Pattern
    """Further line of a speech."""
    heading: str | None = None
    """A name that starts with this is a heading, not a role."""
    ends_at: str | None = None
    """A continuation that starts with this ends the speech."""


_USUAL = _Typesetting(re.compile(r"  ([a-zA-Z][a-zA-Z ]*)\. (.*)"), re.compile(r"    (.*)"))
_SPECIAL = {
    "THE COMEDY OF ERRORS": _Typesetting(
        re.compile(r"([a-zA-Z][a-zA-Z ]*)\. (.*)"), re.compile(r"(.*)"), heading="ACT ", ends_at="<"
    )
}


def parse(lines: Iterable[str]) -> Roles:
    """The lines of every role of every play. Plays of one role and roles of at most two lines are left out."""
    plays: dict[str, dict[str, list[str]]] = {}
    works = -1
    said: dict[str, list[str]] = {}
    role, style = None, _USUAL
    above: deque[str] = deque(maxlen=_TITLE_DISTANCES.stop - 1)
    for line in lines:
        if _AUTHOR_LINE in line:
            title = _title(above)
            works += 1
            said = plays.setdefault(title, {}) if works else {}  # the first work is the Sonnets
            role, style = None, _SPECIAL.get(title, _USUAL)
        elif match := style.speech.match(line):
            name = match[1].upper()
            role = None if style.heading and name.startswith(style.heading) else name
            if role is not None:
                said.setdefault(role, []).append(match[2])
        elif role is not None and (match := style.continuation.match(line)):
            if style.ends_at and match[1].startswith(style.ends_at):
                role = None
            else:
                said[role].append(match[1])
        above.appendleft(line.strip())
    cast = {play: said for play, said in plays.items() if len(said) > 1}
    return {(play, role): lines for play in cast for role, lines in cast[play].items() if len(lines) > 2}


def _title(above: Sequence[str]) -> str:
    """The nearest line with text at one of the title's distances. `above[0]` is next to the author's line."""
    return next((above[d - 1] for d in _TITLE_DISTANCES if d <= len(above) and above[d - 1]), "")


def role_texts(roles: Roles, longer_than: int) -> dict[str, str]:
    """The text of each role, by the name of its play and role. Runs of spaces become one space.

    Args:
        roles: from `parse`.
        longer_than: a role is left out unless its text has more characters than this.
    """
    texts = {}
    for (play, role), said in roles.items():
        text = re.sub(" +", " ", " ".join([*said, ""]))
        if len(text) > longer_than:
            texts[re.sub(r"\W+", "_", f"{play}_{role}")] = text
    return texts
