"""The figures of the benchmarks, drawn from the stored measurements."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.workload import RESULTS


def scaling(measured: Mapping[str, Any]) -> None:
    """Time per client-step, memory, and wasted work, side by side."""
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    times, memory, waste = figure.subplots(1, 3)
    for steps in sorted({row["local_steps"] for row in measured["clients"]}):
        rows = [row for row in measured["clients"] if row["local_steps"] == steps]
        _line(times, rows, "clients", "seconds_a_client_step", 1e6, label=f"{steps} local steps")
    times.set(xlabel="clients per round, of 100,000", ylabel="µs per client-step")
    times.legend()
    for key, label in (
        ("peak_resident_bytes", "process, at most"),
        ("program_argument_bytes", "arguments (dataset)"),
        ("program_temporary_bytes", "besides"),
    ):
        _line(memory, measured["populations"], "population", key, 1e-6, label=label)
    memory.set(xlabel="clients in the population", ylabel="MB", yscale="log")
    memory.legend()
    for devices in sorted({row["devices"] for row in measured["waste"]}):
        rows = [row for row in measured["waste"] if row["devices"] == devices and row["clients"] == 1_000]
        label = f"{devices} device{'s' if devices > 1 else ''}"
        _line(waste, rows, "chunk", "devices_times_busiest", label=label)
    waste.set(xlabel="clients at once", ylabel="steps taken / real steps, power law")
    waste.axhline(1.3, color="grey", linestyle=":")
    waste.legend()
    save(figure, "scaling")


def round_costs(measured: Mapping[str, Any]) -> None:
    """Where the time of a round goes, and how it grows with the size of the round."""
    figure = Figure(figsize=(9, 2.2 + 0.3 * len(measured["breakdown"])), layout="constrained")
    axes = figure.subplots()
    names = [row["part"] for row in measured["breakdown"]]
    shares = [100 * row["share"] for row in measured["breakdown"]]
    bars = axes.barh(names, shares, color="tab:blue")
    axes.bar_label(bars, fmt="%.1f%%", padding=3)
    axes.invert_yaxis()
    axes.set(xlabel="share of a round, %", xlim=(min(0, *shares) - 5, max(shares) + 8))
    save(figure, "round_breakdown")

    figure = Figure(figsize=(10, 5.5), layout="constrained")
    for axes, (name, rows) in zip(figure.subplots(2, 2).flat, measured["curves"].items(), strict=True):
        _line(axes, rows, name, "seconds", 1e3)
        axes.set(
            xlabel=name.replace("_", " "), ylabel="ms per run" if name == "rounds" else "ms per round", yscale="log"
        )
        shares = axes.twinx()
        _line(shares, rows, name, "of_the_limit", 100, color="tab:orange")
        shares.set(ylim=(0, 100))
        shares.set_ylabel("% of the matrix-product limit", color="tab:orange")
    save(figure, "cost_curves")


def _line(axes: Axes, rows: Sequence[Mapping[str, float]], x: str, y: str, scale: float = 1, **style: Any) -> None:
    axes.plot([row[x] for row in rows], [scale * row[y] for row in rows], marker="o", **style)
    axes.set_xscale("log")
    if y == "seconds_a_client_step":
        axes.set_ylim(bottom=0)


def save(figure: Figure, name: str) -> None:
    """Writes a small PNG to benchmarks/results."""
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / f"{name}.png", dpi=80)
