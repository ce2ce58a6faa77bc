"""Archives: the named members in their order, and one line about a damaged or incomplete one."""

import zipfile

import pytest

from fedcos_jax import InputError
from fedcos_jax.data.formats.archives import damage_named, unpack
from tests.data.tiny_cifar import archived

FILES = {"folder/a": b"one", "folder/b": b"", "c": b"three" * 100}


def test_named_members_come_in_the_order_of_their_names(tmp_path):
    path = tmp_path / "archive.tar.gz"
    path.write_bytes(archived(FILES))
    assert list(unpack(path, ["c", "folder/a"]).items()) == [("c", FILES["c"]), ("folder/a", b"one")]
    assert [found.name for found in tmp_path.iterdir()] == ["archive.tar.gz"]


def test_a_zip_is_read_likewise(tmp_path):
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    assert list(unpack(path, ["c", "folder/a"]).items()) == [("c", FILES["c"]), ("folder/a", b"one")]
    with pytest.raises(InputError, match=r"archive.zip has no d in it"):
        unpack(path, ["c", "d"])
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(InputError, match=r"archive.zip is damaged or not a zip \("):
        unpack(path, ["c"])


def test_a_missing_member_is_named(tmp_path):
    path = tmp_path / "archive.tar.gz"
    path.write_bytes(archived(FILES))
    with pytest.raises(InputError, match=r"archive.tar.gz has no d in it"):
        unpack(path, ["c", "d"])


@pytest.mark.parametrize("content", [b"", b"no archive", archived(FILES)[:60]], ids=["empty", "text", "cut"])
def test_a_damaged_archive_is_named(tmp_path, content):
    path = tmp_path / "archive.tar.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"archive.tar.gz is damaged or not a tar.gz \("):
        unpack(path, ["c"])


def test_other_mistakes_are_not_taken_for_damage(tmp_path):
    with pytest.raises(KeyError), damage_named(tmp_path, "gzip"):
        raise KeyError
