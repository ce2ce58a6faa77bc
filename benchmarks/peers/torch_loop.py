"""A plain PyTorch loop over clients, as the paper's experiments were run."""

import time

import torch

from benchmarks.peers import in_torch
from benchmarks.peers.job import Data, Job, Outcome, Weights


def train(job: Job, data: Data, weights: Weights) -> Outcome:
    """Trains one client after another, with one or two threads, whichever is faster."""
    clients = [in_torch.client_tensors(data, client) for client in range(job.clients)]
    model = in_torch.build(job, weights).train()

    def one_round() -> float:
        started = time.perf_counter()
        start = [parameter.detach().clone() for parameter in model.parameters()]
        total = [torch.zeros_like(parameter) for parameter in start]
        with_weights = list(model.parameters())
        for x, y in clients:
            _copy(start, with_weights)
            in_torch.train(model, x, y)
            with torch.no_grad():
                torch._foreach_add_(total, with_weights, alpha=1 / job.clients)
        _copy(total, with_weights)
        return time.perf_counter() - started

    first = one_round()
    seconds = {threads: _with_threads(threads, one_round) for threads in (1, 2)}
    torch.set_num_threads(min(seconds, key=seconds.__getitem__))
    model.load_state_dict(in_torch.build(job, weights).state_dict())
    times = [one_round() for _ in range(job.rounds)]
    setting = f"one process, {torch.get_num_threads()} threads (the faster of 1 and 2)"
    return Outcome(first, times[1:], in_torch.weights_of(list(model.parameters()), weights), setting)


def _with_threads(threads: int, one_round) -> float:
    torch.set_num_threads(threads)
    return one_round()


@torch.no_grad()
def _copy(source: list[torch.Tensor], target: list[torch.Tensor]) -> None:
    for old, new in zip(target, source, strict=True):
        old.copy_(new)
