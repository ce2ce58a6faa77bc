"""Methods by name: what labels say, how they print, and which methods share a structure."""

import jax
import pytest

from fedcos_jax import labels
from fedcos_jax.errors import InputError
from fedcos_jax.labels import FLAGS, METHODS, WRAPPERS, Entry, MethodSpec, Options, Parameter, Term, parse

CANONICAL = [
    "FedAvg",
    "FedProx(0.1)",
    "FedOpt(1.5)+FedCos(0.02)",
    "FedAdam(0.01,b2=0.999)",
    "FedAdam(0.01,b1=0.8,tau=0.01)+FedCos(0.02)",
    "FedCos(0.02,epsilon=0.0001)",
    "SCAFFOLD+FedCos(0.3)",
]


@pytest.mark.parametrize("label", CANONICAL)
def test_a_canonical_label_prints_as_it_reads(label):
    assert parse(label).label == label
    assert parse(label.upper().replace("(", " ( ").replace("+", " + ")).label == label


@pytest.mark.parametrize(
    ("label", "canonical"),
    [
        ("fedopt(1.5) + fedcos(0.02)", "FedOpt(1.5)+FedCos(0.02)"),
        ("FedAvg+FedCos(0.02)", "FedCos(0.02)"),
        ("FEDPROX", "FedProx(0.1)"),
        ("FedAdam(lr=0.05)", "FedAdam(0.05)"),
        ("FedAdam(b2=0.999,lr=0.05)", "FedAdam(0.05,b2=0.999)"),
        ("FedAdam(0.05,b2=0.99)", "FedAdam(0.05)"),
        ("FedOpt(1e+6)", "FedOpt(1e06)"),
    ],
)
def test_spellings(label, canonical):
    assert parse(label).label == canonical


@pytest.mark.parametrize("number", [0.51234567, 1e6, 123456789.0, 1e-7, 1 / 3])
def test_no_number_is_rounded(number):
    spec = MethodSpec(Term("fedopt", (number,)), (Term("fedcos", (number, None)),))
    assert parse(spec.label) == spec


def test_every_registered_method_is_found_by_its_label():
    for name, entry in (METHODS | WRAPPERS).items():
        assert entry.label.lower() == name
        spec = parse(entry.label)
        assert (spec.base if name in METHODS else spec.wrappers[0]).name == name
        assert parse(spec.label) == spec
        spec.build()


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("fedfoo", "unknown method 'fedfoo'"),
        ("FedAvg(3)", "takes no number"),
        ("FedCos(x)", "'x' in method"),
        ("FedCos(inf)", "'inf' in method 'FedCos(inf)' is not a finite number"),
        ("FedCos(0.1", "not of the form"),
        ("", "not of the form"),
        ("FedCos+FedAvg", "FedAvg in method 'FedCos+FedAvg' is not one of FedCos"),
        ("FedCos+FedCos", "has FedCos twice"),
        ("FedAdam(0.1,0.9)", "needs a name, like tau=0.001"),
        ("FedAdam(0.1,b3=0.9)", "unknown parameter of FedAdam 'b3'"),
        ("FedAdam(0.1,lr=0.9)", "lr is given twice"),
    ],
)
def test_bad_labels(label, message):
    with pytest.raises(InputError) as error:
        parse(label)
    assert message in str(error.value)


def test_numbers_by_flag():
    assert parse("FedOpt").with_numbers({"server_lr": 2.0, "cos_strength": 0.1}).label == "FedOpt(2)+FedCos(0.1)"
    assert parse("FedCos(0.3)").with_numbers({"cos_strength": 0.1}).label == "FedCos(0.1)"
    assert parse("FedOpt+FedCos").without("fedcos").label == "FedOpt(1.5)"
    assert parse("FedCos").without("fedcos").label == "FedAvg"
    assert {flag.term for flag in FLAGS.values()} <= set(METHODS) | set(WRAPPERS)


def test_labels_are_separated_by_commas_outside_brackets():
    assert labels.split_labels("FedAvg, FedAdam(0.1,b2=0.9),FedCos") == ["FedAvg", "FedAdam(0.1,b2=0.9)", "FedCos"]


def test_registries_are_open(monkeypatch):
    """A new wrapper works in labels without any other change."""
    scaled = Entry(
        "Scaled",
        lambda method, options, factor: method._replace(server=labels.methods.fedopt(factor).server),
        "a server learning rate as a wrapper",
        (Parameter("factor", 2.0),),
    )
    monkeypatch.setitem(WRAPPERS, "scaled", scaled)
    spec = parse("SCAFFOLD+Scaled(0.5)+FedCos")
    assert spec.label == "SCAFFOLD+Scaled(0.5)+FedCos(0.02)"
    assert jax.tree.leaves(spec.build().server) == [0.5]


def structures(names, options=Options()):  # noqa: B008
    specs = [parse(name) for name in names]
    return {jax.tree.structure(method) for method in labels.alike(specs, [options] * len(specs))}


def test_methods_of_the_paper_share_one_structure():
    assert len(structures(["FedAvg", "FedProx", "FedAvgM", "FedOpt", "FedCos", "FedAvgM+FedCos"])) == 1
    assert len(structures(["FedAdam(0.1)", "FedAdam(0.2,b2=0.9)"])) == 1
    assert len(structures(["FedAvg", "FedCos(0.1)", "SCAFFOLD", "FedAdam", "FedAdam(0.3)"])) == 3


@pytest.mark.parametrize("epsilon", [0.0, 1e-4])
def test_epsilon_of_the_label_wins_over_the_option(epsilon):
    named = parse(f"FedCos(0.1,epsilon={epsilon})")
    for build in (MethodSpec.build, MethodSpec.in_paper_form):
        with_option = build(parse("FedCos(0.1)"), Options(epsilon=epsilon))
        assert jax.tree.leaves(build(named, Options(epsilon=0.5))) == jax.tree.leaves(with_option)
