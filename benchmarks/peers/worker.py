"""One job in one library, in its own environment: `python -m benchmarks.peers.worker LIBRARY JOB DIR`."""

import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np

from benchmarks.peers.job import JOBS, Data, initial_weights


def load(folder: Path) -> Data:
    """The data that the driver wrote. It is mapped into memory, so that several processes share it."""
    return Data(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in Data._fields))


def main(library: str, job_name: str, folder: Path) -> None:
    job = JOBS[job_name]
    outcome = importlib.import_module(f"benchmarks.peers.{library}").train(job, load(folder), initial_weights(job))
    if os.environ.get("PFL_WORKER_RANK", "0") != "0":
        return
    np.savez(folder / f"{library}.npz", **outcome.weights)
    (folder / f"{library}.json").write_text(json.dumps(outcome._replace(weights={})._asdict()))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
