"""The paper's figures by name, one module each."""

from experiments.figures import deep, efficiency, long, many_clients, mechanism, server_rates, trajectories
from experiments.figures.figure import Figure

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
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
