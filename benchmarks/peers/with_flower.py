"""The job in Flower: its FedAvg on its simulation engine, one client per core, as in its PyTorch quickstart."""

import functools
import itertools
import os
import time
from pathlib import Path

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

from benchmarks.peers import in_torch, worker
from benchmarks.peers.job import JOBS, ROWS, Data, Job, Outcome, Weights, initial_weights

client_app = ClientApp()


@functools.cache
def _client(folder: str, client: int):
    return in_torch.client_tensors(worker.load(Path(folder)), client)


@functools.cache
def _model(job_name: str) -> torch.nn.Module:
    torch.set_num_threads(1)
    return in_torch.build(JOBS[job_name], initial_weights(JOBS[job_name]))


@client_app.train()
def train_client(message: Message, context: Context) -> Message:
    """One client's local training, in a worker process that keeps the data and the model in memory."""
    config, arrays = message.content["config"], message.content["arrays"]
    model = _model(config["job"])
    model.load_state_dict(arrays.to_torch_state_dict())
    in_torch.train(model.train(), *_client(config["folder"], context.node_config["partition-id"]))
    metrics = MetricRecord({"num-examples": ROWS})
    return Message(RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics}), reply_to=message)


def train(job: Job, data: Data, weights: Weights) -> Outcome:
    """Trains with one worker process per core and one thread per process."""
    assert isinstance(data.x, np.memmap)
    config = ConfigRecord({"job": job.name, "folder": str(Path(str(data.x.filename)).parent)})
    model = in_torch.build(job, weights)
    ends: list[float] = []
    server_app = ServerApp()

    def round_ended(server_round: int, arrays: ArrayRecord) -> None:
        ends.append(time.perf_counter())

    @server_app.main()
    def main(grid: Grid, context: Context) -> None:
        strategy = FedAvg(fraction_evaluate=0.0, min_train_nodes=job.clients, min_available_nodes=job.clients)
        initial = ArrayRecord(model.state_dict())
        result = strategy.start(grid, initial, job.rounds, train_config=config, evaluate_fn=round_ended)
        model.load_state_dict(result.arrays.to_torch_state_dict())

    started = time.perf_counter()
    cores = os.cpu_count() or 1
    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": cores}}
    run_simulation(server_app, client_app, num_supernodes=job.clients, backend_config=resources)
    rounds = [after - before for before, after in itertools.pairwise(ends[1:])]
    setting = f"{cores} Ray workers, 1 thread each"
    return Outcome(ends[1] - started, rounds, in_torch.weights_of(list(model.parameters()), weights), setting)
