"""LEAF's rules on a small text, and its counts on the complete works."""

from fedcos_jax.data import shakespeare
from fedcos_jax.data.formats import speeches

TEXT = """
THE SONNETS

by William Shakespeare

  Nobody. This is no play.
    Nor this.
  Somebody. Nor that.

A SHORT PLAY


by William Shakespeare

Stage direction
  FIRST LORD. One,
    two.
  Exeunt omnes, pursued
  Lady. Three;
  First Lord. four,
    five   and six.
   LADY. three spaces are no speech
    seven.
    eight.
  SILENT MAN. Two lines,
    no more.

MONOLOGUE

by William Shakespeare
  HERMIT. a
    b
    c

THE COMEDY OF ERRORS

by William Shakespeare

DUKE. Merchant,
plead no more;
<<A NOTICE>>
not a word
ACT II. SCENE 1
nor this
DROMIO. I
will

go.
DUKE. Well.
"""


def test_speeches_are_told_apart_by_leafs_rules():
    roles = speeches.parse(TEXT.splitlines())
    assert roles == {
        ("A SHORT PLAY", "FIRST LORD"): ["One,", "two.", "four,", "five   and six.", "seven.", "eight."],
        ("THE COMEDY OF ERRORS", "DUKE"): ["Merchant,", "plead no more;", "Well."],
        ("THE COMEDY OF ERRORS", "DROMIO"): ["I", "will", "", "go."],
    }


def test_lines_are_joined_and_runs_of_spaces_collapse():
    roles = {("A Play", "LORD"): ["x" * 70 + "  y", "", "zzzzzzzz"], ("A Play", "PAGE"): ["short", "too", "short"]}
    assert speeches.role_texts(roles, longer_than=80) == {"A_Play_LORD": "x" * 70 + " y zzzzzzzz "}


def test_the_complete_works_have_leafs_counts(real_data):
    lines = shakespeare.published_lines(real_data / "shakespeare" / "t8.shakespeare.txt.gz")
    roles = speeches.parse(lines)
    texts = speeches.role_texts(roles, shakespeare.WINDOW)
    assert (len({play for play, _ in roles}), len(texts)) == (36, 1130)
    assert sum(len(text) - shakespeare.WINDOW for text in texts.values()) == 4_226_206
    assert len(set("".join(texts.values()))) == 79
