"""Tables of Hugging Face's `datasets`: the package where it is installed, and a stand-in with its interface."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from PIL import Image

import fedcos_jax as fc

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (12, 8, 8, 3), np.uint8)


class Feature:
    """What a column is."""

    def __init__(self, names=None):
        if names is not None:
            self.names, self.num_classes = names, len(names)


class Table:
    """A table like `datasets.Dataset`: columns, formats, and slices as dictionaries of columns."""

    def __init__(self, columns, features, formatted=None):
        self.columns, self.features, self.formatted = columns, features, formatted
        self.column_names = list(columns)

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, key):
        part = {name: values[key] for name, values in self.columns.items()}
        return {name: as_numpy(values) for name, values in part.items()} if self.formatted == "numpy" else part

    def select_columns(self, names):
        return Table({name: self.columns[name] for name in names}, self.features, self.formatted)

    def with_format(self, formatted):
        return Table(self.columns, self.features, formatted)


def as_numpy(values):
    """Columns as the package gives them: floats in single precision, objects for empty or ragged ones."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(len(values), object)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def stand_in(columns, names=None):
    return Table(columns, {column: Feature((names or {}).get(column)) for column in columns})


def real(columns, names=None):
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    table = datasets.Dataset.from_dict(columns)
    for column, classes in (names or {}).items():
        table = table.cast_column(column, datasets.ClassLabel(names=classes))
    return table


@pytest.fixture(params=[stand_in, real], ids=["stand-in", "datasets"])
def table(request):
    """(columns[, column -> names of its classes]) -> table."""
    return request.param


CLASSES = {"label": ["cat", "dog", "emu", "fox"]}


def pictures(rows=12, mode="RGB"):
    return [Image.fromarray(pixels).convert(mode) for pixels in PIXELS[:rows]]


def test_images_classes_and_clients(table):
    train = table({"image": pictures(), "label": [0, 1, 2] * 4, "who": list("baab") * 3}, CLASSES)
    test = table({"image": pictures(3), "label": [0, 1, 0], "who": ["b", "aa", "a"]}, CLASSES)
    dataset = fc.from_huggingface(train, test, group="who")
    np.testing.assert_array_equal(dataset.train.x, PIXELS)
    assert (dataset.train.x.dtype, dataset.train.y.tolist()) == (np.uint8, [0, 1, 2] * 4)
    assert (dataset.classes, dataset.input_shape, dataset.name) == (4, (8, 8, 3), "huggingface")
    assert dataset.client_names.tolist() == ["a", "b", "aa"]
    assert dataset.groups.tolist() == [1, 0, 0, 1] * 3
    assert dataset.test_groups.tolist() == [1, 2, 0]
    seen = np.asarray(dataset.preprocess(dataset.train.x, None))
    np.testing.assert_allclose(seen, PIXELS / 127.5 - 1, atol=1e-6)
    without = fc.from_huggingface(train, test)
    assert without.groups is without.client_names is without.test_groups is None


def test_a_run_from_a_table(table):
    columns = {"image": pictures(mode="L"), "label": [0, 1] * 6, "who": [5, 7, 7] * 4}
    dataset = fc.from_huggingface(
        table(columns), table({name: columns[name] for name in ("image", "label")}), group="who"
    )
    assert (dataset.client_names.tolist(), dataset.test_groups) == ([5, 7], None)
    ownership = fc.partition.build("natural", dataset.train.y, 2, 0, dataset.groups)
    experiment = fc.Experiment(
        method=fc.fedcos(0.02),
        optimizer=fc.client_sgd(0.1),
        data=fc.federate(dataset, ownership),
        model=fc.models.build("mlp", dataset.input_shape, dataset.classes),
        schedule=fc.Schedule(rounds=2, local_steps=2, batch_size=4),
    )
    _, history = fc.run(jax.random.key(0), experiment)
    assert np.isfinite(history.evaluation.loss).all()


def test_numbers_sequences_and_several_columns(table):
    rows = RNG.normal(size=(5, 3)).astype(np.float32)
    columns = {f"c{i}": rows[:, i].tolist() for i in range(3)} | {"row": rows.tolist(), "y": [True, False] * 2 + [True]}
    data = table(columns)
    for x in (["c0", "c1", "c2"], "row", ["row"]):
        dataset = fc.from_huggingface(data, data, x=x, y="y", name="mine")
        np.testing.assert_allclose(dataset.train.x, rows, rtol=1e-6)
        np.testing.assert_allclose(dataset.preprocess(dataset.train.x, None), rows, rtol=1e-6)
        assert (dataset.name, dataset.classes, dataset.train.y.tolist()) == ("mine", 2, [1, 0, 1, 0, 1])
    with pytest.raises(fc.InputError, match="column 'row' must hold one number per row to be joined with others"):
        fc.from_huggingface(data, data, x=["c0", "row"], y="y")


def test_more_rows_than_are_decoded_at_once(table):
    data = table({"x": np.arange(5000).reshape(2500, 2).tolist(), "label": [0, 1] * 1250})
    np.testing.assert_array_equal(fc.from_huggingface(data, data, x="x").train.x, np.arange(5000).reshape(2500, 2))


@pytest.mark.parametrize(("mode", "shape"), [("P", (8, 8, 3)), ("1", (8, 8)), ("L", (8, 8)), ("CMYK", (8, 8, 3))])
def test_palettes_and_other_modes_become_brightness_or_colours(mode, shape):
    found = fc.from_huggingface(*[stand_in({"image": pictures(2, mode), "label": [0, 1]})] * 2).train.x
    expected = pictures(1, mode)[0].convert("RGB" if len(shape) == 3 else "L")
    np.testing.assert_array_equal(found[0], expected)
    assert found.shape[1:] == shape


GOOD = {"image": pictures(2), "label": [0, 1], "who": ["a", "b"]}


@pytest.mark.parametrize(
    ("changes", "arguments", "complaint"),
    [
        ({}, {"x": "img"}, "unknown column of the training data: 'img'"),
        ({}, {"x": []}, "x must name a column"),
        ({}, {"y": "labels"}, "unknown column of the training data: 'labels'; did you mean 'label'"),
        ({}, {"group": "whom"}, "unknown column of the training data: 'whom'; did you mean 'who'"),
        ({}, {"x": "who"}, "training inputs must be numbers"),
        (
            {"label": ["cat", "dog"]},
            {},
            "the column 'label' holds texts: number them with class_encode_column('label')",
        ),
        ({"label": [0, -1]}, {}, "training labels must be whole numbers from 0"),
        ({"image": [[1, 2], [3]]}, {}, "the column 'image' has empty values or values of different shapes"),
        ({"who": ["a", None]}, {"group": "who"}, "the column 'who' has empty values"),
        ({"who": [[1, 2], [1, 3]]}, {"group": "who"}, "the column 'who' must name one client per row"),
        (
            {"image": [*pictures(1), pictures(1)[0].resize((9, 8))]},
            {},
            "row 1 of the column 'image' is an image of 8x9x3 uint8, and the first is of 8x8x3 uint8",
        ),
        ({"image": [*pictures(1), *pictures(1, "L")]}, {}, "is an image of 8x8 uint8"),
        ({"image": [*pictures(1), None]}, {}, "row 1 of the column 'image' is empty"),
    ],
)
def test_tables_that_do_not_fit(table, changes, arguments, complaint):
    data = table(GOOD | changes)
    with pytest.raises(fc.InputError) as refusal:
        fc.from_huggingface(data, data, **arguments)
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_other_things_than_tables(table):
    good = table(GOOD)
    with pytest.raises(fc.InputError, match="the training data are a dictionary of splits: give one table"):
        fc.from_huggingface({"train": good}, good)
    with pytest.raises(fc.InputError, match="the test data are no table of the package datasets but a list"):
        fc.from_huggingface(good, [1, 2])
    with pytest.raises(fc.InputError, match="the test data have no rows"):
        fc.from_huggingface(good, table({"image": [], "label": []}))


def test_streams_are_refused():
    class Stream:
        column_names = ("image", "label")

        def with_format(self, formatted):
            return self

    with pytest.raises(fc.InputError, match="the training data are a stream: load them without streaming=True"):
        fc.from_huggingface(Stream(), Stream())


def test_the_same_class_must_have_the_same_number(table):
    other = {"label": ["dog", "cat", "emu", "fox"]}
    with pytest.raises(fc.InputError, match=r"the classes of 'label' differ: \['cat', .* for training, \['dog', "):
        fc.from_huggingface(table(GOOD, CLASSES), table(GOOD, other))


def test_the_package_is_not_imported():
    code = "import sys, fedcos_jax; print('datasets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
