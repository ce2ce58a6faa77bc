"""Rounds per second of this library and of its peers on the same federated job, in one run.

`make bench-peers`: FedAvg on an MLP and on a CNN, 10 and 100 clients in every round. Every library runs in its own
environment and process, one after another. All start from the same weights, see the same data and take the same number
of local steps. The weights that they end with are all evaluated here, which shows that they did the same work.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers import ours
from benchmarks.peers.job import BATCH, JOBS, ROWS, STEPS, Data, Job, Weights, initial_weights, make_data
from benchmarks.workload import RESULTS, markdown_table, write_json

CORES = os.cpu_count() or 1
NAME = "peers"
SAME_COSINE, SAME_LENGTH = 0.9, 1.2
"""Two runs did the same work if the cosine between their moves and the ratio of their lengths keep to these limits."""


class Library(NamedTuple):
    """A library and how its process is started."""

    label: str
    module: str
    packages: tuple[str, ...]
    environment: Mapping[str, str] = MappingProxyType({})
    processes: int = 1


LIBRARIES = {
    "ours": Library("fedcos_jax", "ours", ("jax",)),
    "torch": Library("plain PyTorch loop", "torch_loop", ("torch",)),
    "fedjax": Library("FedJAX", "with_fedjax", ("fedjax", "jax")),
    "pfl": Library("pfl", "with_pfl", ("pfl", "torch"), processes=CORES),
    "flower": Library(
        "Flower simulation",
        "with_flower",
        ("flwr", "ray", "torch"),
        {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"},
    ),
}


def run_library(name: str, python: Path, job: Job, folder: Path) -> None:
    """Runs the job in a library's own environment, and leaves its outcome in the folder."""
    library = LIBRARIES[name]
    command = [str(python), "-m", "benchmarks.peers.worker", library.module, job.name, str(folder)]
    environment = os.environ | library.environment | {"PYTHONPATH": os.getcwd()}
    addresses = ",".join(f"localhost:{8100 + rank}" for rank in range(library.processes))
    ranks = [{"PFL_WORKER_RANK": str(rank), "PFL_WORKER_ADDRESSES": addresses} for rank in range(library.processes)]
    with open(folder / f"{name}.log", "w") as log:
        started = [
            subprocess.Popen(command, env=environment | (rank if library.processes > 1 else {}), stdout=log, stderr=log)
            for rank in ranks
        ]
        codes = [process.wait() for process in started]
    if any(codes):
        raise RuntimeError((folder / f"{name}.log").read_text().strip().splitlines()[-1])


def versions_in(python: Path, packages: tuple[str, ...]) -> str:
    """The libraries' versions, as their own environment has them."""
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    found = subprocess.run([python, "-c", code, *packages], check=True, capture_output=True, text=True).stdout.split()
    return ", ".join(f"{package} {version}" for package, version in zip(packages, found, strict=True))


def measure(name: str, python: Path, job: Job, data: Data, folder: Path) -> dict[str, Any]:
    """One row of the table. If the library fails, the row says why."""
    library = LIBRARIES[name]
    row = {"job": job.name, "library": name, "label": library.label}
    try:
        row["versions"] = versions_in(python, library.packages)
        run_library(name, python, job, folder)
    except (OSError, subprocess.CalledProcessError, RuntimeError) as error:
        return row | {"error": str(error)}
    outcome = json.loads((folder / f"{library.module}.json").read_text())
    weights = dict(np.load(folder / f"{library.module}.npz"))
    own = dict(np.load(folder / "ours.npz")) if (folder / "ours.npz").exists() else weights
    return row | {
        "round_seconds": statistics.median(outcome["round_seconds"]),
        "all_round_seconds": outcome["round_seconds"],
        "first_seconds": outcome["first_seconds"],
        "accuracy": ours.accuracy(job, data, weights),
        **moves(job, weights, own),
        "setting": outcome["setting"],
    }


def moves(job: Job, weights: Weights, others: Weights) -> dict[str, float]:
    """Cosine of the angle between two moves from the initial weights, and the ratio of their lengths."""
    start = initial_weights(job)
    one, other = (np.concatenate([np.ravel(end[n] - start[n]) for n in start]) for end in (weights, others))
    length, other_length = np.linalg.norm(one), np.linalg.norm(other)
    return {"cosine": float(one @ other / (length * other_length)), "length": float(length / other_length)}


def add_ratios(rows: list[dict[str, Any]]) -> None:
    """How many of our rounds fit in one of theirs, and whether they did the same work."""
    base = next((row for row in rows if row["library"] == "ours" and "error" not in row), None)
    for row in rows:
        if base and "error" not in row:
            row["our_rounds_in_one"] = row["round_seconds"] / base["round_seconds"]
            same_length = 1 / SAME_LENGTH <= row["length"] <= SAME_LENGTH
            row["same_work"] = same_length and row["cosine"] >= SAME_COSINE


HEADINGS = (
    "job",
    "library",
    "rounds/s",
    "time, ours = 1",
    "first round, s",
    "accuracy, %",
    "move",
    "cores",
    "versions",
)
NOTE = f"""\
FedAvg, all clients in every round, {STEPS} local steps of batch {BATCH} on {ROWS} rows each, on {CORES} cores. The name
of a job is its model and its number of clients. Rounds/s are those of the median round after the first. The first
round, in a column of its own, includes starting workers and compiling. Accuracies are those of the final weights, all
evaluated by the same program. *Move* is the cosine of the angle between a library's whole move from the initial weights
and ours, and the ratio of their lengths. The libraries draw batches in different orders."""


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table."""
    start = [row["job"], row["label"]]
    if "error" in row:
        return [*start, "did not run", "", "", "", "", row["error"], row.get("versions", "")]
    return [
        *start,
        f"{1 / row['round_seconds']:.2f}",
        f"{row['our_rounds_in_one']:.1f}" if "our_rounds_in_one" in row else "",
        f"{row['first_seconds']:.1f}",
        f"{row['accuracy']:.1f}",
        f"{row['cosine']:.3f}, {row['length']:.2f}" + ("" if row.get("same_work", True) else " (differs)"),
        row["setting"],
        row["versions"],
    ]


def write(rows: list[dict[str, Any]]) -> None:
    """Writes the JSON and the table. Jobs that did not run now are kept from before."""
    path = RESULTS / f"{NAME}.json"
    now = {row["job"] for row in rows}
    earlier = [row for row in json.loads(path.read_text()) if row["job"] not in now] if path.exists() else []
    rows = sorted(earlier + rows, key=lambda row: list(JOBS).index(row["job"]))
    write_json(NAME, rows)
    table = markdown_table(HEADINGS, ["---", "---", *["---:"] * 5, "---", "---"], map(cells, rows))
    path.with_suffix(".md").write_text(f"# Peers, side by side\n\n{NOTE}\n\n{table}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS), help="default: all")
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES), help="default: all")
    parser.add_argument(
        "--environments", default=".venv-peer-", help="path of the peers' environments, up to the name of each"
    )
    options = parser.parse_args()
    print(" | ".join(HEADINGS))
    for job in (JOBS[name] for name in options.jobs):
        data, rows = make_data(job), []
        with tempfile.TemporaryDirectory() as folder:
            for field, array in data._asdict().items():
                np.save(Path(folder, f"{field}.npy"), array)
            for name in options.libraries:
                peer = Path(f"{options.environments}{name}", "bin", "python").absolute()
                python = Path(sys.executable) if name == "ours" else peer
                rows.append(measure(name, python, job, data, Path(folder)))
                add_ratios(rows)
                print(" | ".join(cells(rows[-1])), flush=True)
        write(rows)


if __name__ == "__main__":
    main()
