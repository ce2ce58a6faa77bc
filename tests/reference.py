"""A plain NumPy float64 federated loop for softmax regression: no stacking, no tricks, gradients by hand."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Reference:
    """The methods of the library, written out; numbers left at their defaults are FedAvg."""

    prox: float | np.ndarray = 0.0
    cos: float | np.ndarray = 0.0
    epsilon: float = 1e-4
    before_server: bool = False
    server_lr: float = 1.0
    server_momentum: float | None = None
    damped: bool = False
    adaptive: str = ""
    uniform: bool = False
    normalized: bool = False
    control: bool = False
    dynamic: float = 0.0
    lr: float | np.ndarray = 0.1
    lr_factor: list[float] = field(default_factory=list)
    momentum: float = 0.0
    weight_decay: float = 0.0

    def run(self, w, b, x, y, rows_of, cohorts, batches):
        """The global (w, b) after each round.

        Args:
            w, b: initial parameters.
            x, y: all rows.
            rows_of: client -> its rows.
            cohorts: the clients of each round.
            batches: (client, step counted over the run) -> positions among the client's rows.
        """
        weights = np.concatenate([b, w.ravel()])
        direction = np.zeros_like(weights)
        momentum = None
        first, second = np.zeros_like(weights), np.zeros_like(weights)  # m and v of FedAdam and FedYogi
        steps_taken = dict.fromkeys(rows_of, 0)
        own = {client: np.zeros_like(weights) for client in rows_of}  # c_i of SCAFFOLD, or g_i of FedDyn
        shift = np.zeros_like(weights)  # h of FedDyn
        trajectory = []
        for r, (cohort, steps) in enumerate(cohorts):
            moves, sizes = [], []
            remembered = {client: memory.copy() for client, memory in own.items()}
            everybody = np.mean(list(remembered.values()), axis=0)
            for client, num_steps in zip(cohort, steps, strict=True):
                local, velocity = weights.copy(), np.zeros_like(weights)
                for _ in range(num_steps):
                    chosen = rows_of[client][batches(client, steps_taken[client])]
                    gradient = self.gradient(local, x[chosen], y[chosen], weights, direction, client)
                    if self.control:
                        gradient = gradient + everybody - remembered[client]
                    if self.dynamic:
                        gradient = gradient + self.dynamic * (local - weights) - remembered[client]
                    velocity = self.momentum * velocity + gradient
                    local = local - self.rate(client, r) * velocity
                    steps_taken[client] += 1
                moves.append(local - weights)
                sizes.append(len(rows_of[client]))
                if self.control:
                    mean_gradient = (weights - local) / (num_steps * self.rate(client, r))
                    own[client] = remembered[client] - everybody + mean_gradient
                if self.dynamic:
                    own[client] = remembered[client] - self.dynamic * moves[-1]
            share = np.ones(len(sizes)) / len(sizes) if self.uniform else np.array(sizes) / sum(sizes)
            update = sum(s * m for s, m in zip(share, moves, strict=True))
            if self.normalized:
                rates = [s / n for s, n in zip(share, steps, strict=True)]
                update = np.dot(share, steps) * sum(rate * m for rate, m in zip(rates, moves, strict=True))
            step = update
            if self.dynamic:
                shift = shift - self.dynamic / len(rows_of) * sum(moves)
                step = update - shift / self.dynamic
            if self.server_momentum is not None:
                beta = self.server_momentum
                share_of_new = 1 - beta if self.damped else 1
                momentum = update if momentum is None else beta * momentum + share_of_new * update
                step = momentum
            if self.adaptive:
                pull = second - update**2 if self.adaptive == "adam" else np.sign(second - update**2) * update**2
                first, second = first + 0.1 * (update - first), second - 0.01 * pull
                step = first / (1 - 0.9 ** (r + 1)) / (np.sqrt(second / (1 - 0.99 ** (r + 1))) + 1e-3)
            direction = update if self.before_server else self.server_lr * step
            weights = weights + self.server_lr * step
            trajectory.append(weights)
        return trajectory

    def rate(self, client, r):
        own = self.lr if np.ndim(self.lr) == 0 else self.lr[client]
        return own * (self.lr_factor[r] if self.lr_factor else 1.0)

    def gradient(self, local, x, y, start, direction, client):
        classes = len(local) // (x.shape[1] + 1)
        b, w = local[:classes], local[classes:].reshape(x.shape[1], classes)
        scores = x @ w + b
        odds = np.exp(scores - scores.max(1, keepdims=True))
        error = odds / odds.sum(1, keepdims=True)
        error[np.arange(len(y)), y] -= 1
        error /= len(y)
        gradient = np.concatenate([error.sum(0), (x.T @ error).ravel()])
        return gradient + self.weight_decay * local + self.penalty_gradient(local - start, direction, client)

    def penalty_gradient(self, move, direction, client):
        prox, cos = (p if np.ndim(p) == 0 else p[client] for p in (self.prox, self.cos))
        gradient = 2 * prox * move
        length2, direction2 = move @ move, direction @ direction
        under_root = length2 * direction2 + self.epsilon
        if direction2 == 0 or under_root == 0:
            return gradient
        along = move @ direction
        cosine_gradient = direction / under_root**0.5 - along * direction2 * move / under_root**1.5
        return gradient - cos * cosine_gradient
