"""The figures by name: our own first, then those of the paper, one module each."""

from experiments.figures import (
    deep,
    efficiency,
    hero,
    long,
    many_clients,
    mechanism,
    rounds,
    server_rates,
    trajectories,
)
from experiments.figures.figure import Figure

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        hero.FIGURE,
        rounds.TABLE1,
        rounds.TABLE2,
        trajectories.TWO,
        trajectories.THREE,
        mechanism.CONSISTENCY,
        many_clients.FIGURE,
        efficiency.FIGURE,
        server_rates.FIGURE,
        deep.FIGURE,
        long.FIGURE,
        mechanism.MECHANISM,
    )
}
