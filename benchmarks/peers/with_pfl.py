"""The job in pfl: its FederatedAveraging on a simulated backend, one process per core, as its guide says."""

import itertools
import time

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNEvalHyperParams, NNTrainHyperParams
from pfl.internal.ops.selector import get_default_framework_module
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel

from benchmarks.peers import in_torch
from benchmarks.peers.job import BATCH, RATE, Data, Job, Outcome, Weights


class Trainable(torch.nn.Module):
    """The model with the loss and the metrics that pfl asks for."""

    def __init__(self, net: torch.nn.Module):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)

    def loss(self, x, y):
        self.train()
        return torch.nn.functional.cross_entropy(self(x), y)

    @torch.no_grad()
    def metrics(self, x, y):
        self.eval()
        return {"loss": Weighted(torch.nn.functional.cross_entropy(self(x), y, reduction="sum").item(), len(y))}


class Clock(TrainingProcessCallback):
    """When each round ended."""

    def __init__(self):
        self.ends: list[float] = []

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
        self.ends.append(time.perf_counter())
        return False, Metrics()


def train(job: Job, data: Data, weights: Weights) -> Outcome:
    """Every process trains its share of the clients. pfl evaluates in the first round only."""
    torch.set_num_threads(1)
    users = {str(client): in_torch.client_tensors(data, client) for client in range(job.clients)}
    sampler = get_user_sampler("minimize_reuse", list(users))
    federated = FederatedDataset(lambda user: Dataset(users[user], user_id=user), sampler)
    net = Trainable(in_torch.build(job, weights))
    model = PyTorchModel(net, torch.optim.SGD, torch.optim.SGD(net.parameters(), lr=1.0))
    clock = Clock()
    started = time.perf_counter()
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=job.rounds,
            evaluation_frequency=job.rounds + 1,
            train_cohort_size=job.clients,
            val_cohort_size=None,
        ),
        SimulatedBackend(federated, federated),
        model,
        NNTrainHyperParams(local_num_epochs=1, local_learning_rate=RATE, local_batch_size=BATCH),
        NNEvalHyperParams(local_batch_size=None),
        [clock],
    )
    rounds = [after - before for before, after in itertools.pairwise(clock.ends)]
    setting = f"{get_default_framework_module().distributed.world_size} processes, 1 thread each"
    return Outcome(clock.ends[0] - started, rounds, in_torch.weights_of(list(net.parameters()), weights), setting)
