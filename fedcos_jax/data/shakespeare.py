"""Shakespeare by speaking role, in the form of LEAF and FedProx: 80 characters -> the next one; a client is a role."""

import gzip
import hashlib
import random
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedcos_jax.data.dataset import Dataset
from fedcos_jax.data.formats.forms import Arrays, Form
from fedcos_jax.data.text import next_character
from fedcos_jax.errors import InputError, require

VOCABULARY = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"
WINDOW = 80
CLIENTS, SAMPLES = 143, 517_106
"""Of the paper, whose own draw had no seed; DRAW is the seed of a stand-in with the same counts."""
DRAW = 1437
TEXT_MD5 = "d2028225a89d8b0b3093dddb720da91f"

_AUTHOR_LINE = "by William Shakespeare"
_TITLE_DISTANCES = range(2, 8)
"""Lines from a title to the author's."""

Roles = dict[tuple[str, str], list[str]]
"""(play, role) -> its lines, in the order of the text."""


def build(arrays: Arrays) -> Dataset:
    """The dataset of `text`, indices into the vocabulary [characters], and `offsets` of the roles [clients + 1]."""
    return next_character("shakespeare", arrays["text"], arrays["offsets"], window=WINDOW, classes=len(VOCABULARY))


def read(file: str, folder: Path) -> Arrays:
    """The paper's number of roles and samples, drawn from the complete works."""
    return encode(choose(role_texts(parse(_lines(folder / file)))))


def _lines(path: Path) -> Iterator[str]:
    """The lines of the text, never all of them at once; refuses a text that was not the published one in the end."""
    digest = hashlib.md5(usedforsecurity=False)
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as stream:
            for line in stream:
                digest.update(line)
                yield line.decode("latin-1").rstrip("\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged or not gzip ({error}); fetch it again") from None
    found = digest.hexdigest()
    require(found == TEXT_MD5, f"the text in {path} is not the published one: its MD5 is {found}, not {TEXT_MD5}")


class _Typesetting(NamedTuple):
    """How a play is set."""

    speech: re.Pattern
    continuation: re.Pattern
    heading: str | None = None
    """Names that start so are headings, not roles."""
    ends_at: str | None = None
    """A continuation that starts so ends the speech."""


_USUAL = _Typesetting(re.compile(r"  ([a-zA-Z][a-zA-Z ]*)\. (.*)"), re.compile(r"    (.*)"))
_SPECIAL = {
    "THE COMEDY OF ERRORS": _Typesetting(
        re.compile(r"([a-zA-Z][a-zA-Z ]*)\. (.*)"), re.compile(r"(.*)"), heading="ACT ", ends_at="<"
    )
}


def parse(lines: Iterable[str]) -> Roles:
    """The lines of every role of every play, by LEAF's rules; plays of one role and roles of two lines drop out."""
    plays: dict[str, dict[str, list[str]]] = {}
    works = -1
    said: dict[str, list[str]] = {}
    role, style = None, _USUAL
    above: deque[str] = deque(maxlen=_TITLE_DISTANCES.stop - 1)
    for line in lines:
        if _AUTHOR_LINE in line:
            title = _title(above)
            works += 1
            said = plays.setdefault(title, {}) if works else {}  # the first work is the Sonnets
            role, style = None, _SPECIAL.get(title, _USUAL)
        elif match := style.speech.match(line):
            name = match[1].upper()
            role = None if style.heading and name.startswith(style.heading) else name
            if role is not None:
                said.setdefault(role, []).append(match[2])
        elif role is not None and (match := style.continuation.match(line)):
            if style.ends_at and match[1].startswith(style.ends_at):
                role = None
            else:
                said[role].append(match[1])
        above.appendleft(line.strip())
    cast = {play: said for play, said in plays.items() if len(said) > 1}
    return {(play, role): lines for play in cast for role, lines in cast[play].items() if len(lines) > 2}


def _title(above: Sequence[str]) -> str:
    """The nearest line with text among those at the right distance above the author's; `above[0]` is the nearest."""
    return next((above[d - 1] for d in _TITLE_DISTANCES if d <= len(above) and above[d - 1]), "")


def role_texts(roles: Roles) -> dict[str, str]:
    """The text of each role with more than a window to say, runs of spaces made one, by the name of play and role."""
    texts = {}
    for (play, role), said in roles.items():
        text = re.sub(" +", " ", " ".join([*said, ""]))
        if len(text) > WINDOW:
            texts[re.sub(r"\W+", "_", f"{play}_{role}")] = text
    return texts


def choose(texts: dict[str, str], clients: int = CLIENTS, samples: int = SAMPLES) -> list[str]:
    """So many roles in a fixed random order, the last one cut so that exactly so many samples remain.

    Args:
        texts: of all roles, by name.
        clients: roles to take.
        samples: windows to keep; fewer if the roles taken do not have as many.
    """
    names = sorted(texts)
    random.Random(DRAW).shuffle(names)
    chosen = [texts[name] for name in names[:clients]]
    surplus = max(0, sum(len(text) - WINDOW for text in chosen) - samples)
    require(
        surplus < len(chosen[-1]) - WINDOW, f"{clients} roles have {surplus} more samples than the {samples} wanted"
    )
    return [*chosen[:-1], chosen[-1][: len(chosen[-1]) - surplus]]


def encode(texts: Sequence[str]) -> Arrays:
    """The texts one behind another as vocabulary indices, and where each begins."""
    table = np.full(256, len(VOCABULARY), np.uint8)
    table[np.frombuffer(VOCABULARY.encode("latin-1"), np.uint8)] = np.arange(len(VOCABULARY))
    text = table[np.frombuffer("".join(texts).encode("latin-1"), np.uint8)]
    require(int(text.max(initial=0)) < len(VOCABULARY), "the text has characters outside the vocabulary of LEAF")
    return {"text": text, "offsets": np.cumsum([0, *map(len, texts)]).astype(np.int32)}


FORMS = tuple(Form(file, (file,), partial(read, file)) for file in ("t8.shakespeare.txt.gz", "t8.shakespeare.txt"))
