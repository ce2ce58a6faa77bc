"""A round for accelerators without one: what is lowered for them, and how the compiler's estimates are added up."""

import importlib.util

import pytest

from benchmarks import accelerators, cycles

HLO = """\
HloModule jit_round

%body.1 (arg: (s32[])) -> (s32[]) {
  %fusion.1 = f32[4] fusion(%x), calls=%fused.1, backend_config={"window_config":{"estimated_cycles":"100"}}
}

%condition.1 (arg: (s32[])) -> pred[] {
  %constant.1 = s32[]{:T(128)} constant(97), metadata={}
  ROOT %lt.1 = pred[] compare(%i, %constant.1), direction=LT
}

%body.2 (arg: (s32[])) -> (s32[]) {
  %fusion.2 = f32[4] fusion(%x), backend_config={"window_config":{"estimated_cycles":"7"}}
  %while.1 = (s32[]) while(%tuple.1), condition=%condition.1, body=%body.1, metadata={}
}

%condition.2 (arg: (s32[])) -> pred[] {
  %constant.2 = s32[] constant(5)
  ROOT %lt.2 = pred[] compare(%i, %constant.2), direction=LT
}

%condition.3 (arg: (s32[])) -> pred[] {
  ROOT %any.1 = pred[] fusion(%x), calls=%fused.3
}

ENTRY %main.1 (state: f32[4]) -> f32[4] {
  %fusion.4 = f32[4] fusion(%x), backend_config={"window_config":{"estimated_cycles":"1000"}}
  %while.2 = (s32[]) while(%tuple.2), condition=%condition.2, body=%body.2
  %while.3 = (s32[]) while(%tuple.3), condition=%condition.3, body=%body.1
}
"""


def test_cycles_of_loops_count_as_often_as_they_turn():
    for steps in (0, 1, 10):
        expected = 1000 + 5 * (7 + steps * 100) + 100
        assert cycles.estimated_cycles(HLO, steps) == expected
        at_run_time = HLO.replace("%constant.1), direction=LT", "%limit), direction=LT").replace("constant(97)", "")
        assert cycles.estimated_cycles(at_run_time, steps) == expected


@pytest.mark.parametrize(("platform", "has_convolutions"), [("tpu", True), ("cuda", True), ("cpu", False)])
def test_a_whole_round_is_lowered_in_the_platforms_form(platform, has_convolutions):
    module = accelerators.lowered_for(platform, "cnn", 3)
    assert (module["convolutions"] > 0) == has_convolutions
    assert module["module_bytes"] > 10_000


def test_a_missing_compiler_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("sys.argv", ["accelerators"])
    with pytest.raises(SystemExit) as stop:
        accelerators.main()
    assert "libtpu" in str(stop.value)
    assert "\n" not in str(stop.value)
