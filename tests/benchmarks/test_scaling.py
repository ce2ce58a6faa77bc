"""What a round of unequal clients does beside its real steps: counted, not timed."""

import numpy as np
import pytest

from benchmarks import waste
from benchmarks.scaling import BATCH


@pytest.mark.parametrize(
    ("clients", "chunk", "count", "exchange"),
    [(100, 16, 2, False), (1_000, 256, 1, False), (1_000, 16, 8, False), (100, 1, 8, True), (10_000, 256, 8, True)],
)
def test_power_law_clients_waste_little(clients, chunk, count, exchange):
    row = waste.waste(clients, chunk, count, exchange, BATCH)
    assert 1 <= row["steps_taken"] <= row["devices_times_busiest"] <= waste.WASTE
    assert row["padded_to_the_longest"] > 10


@pytest.mark.parametrize("exchange", [False, True])
def test_equal_clients_wait_for_nobody(exchange):
    assert waste.work_done(np.full(64, 7), chunk=16, count=2, exchange=exchange) == (64 * 7, 32 * 7)
