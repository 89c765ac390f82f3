"""Changes of texts: what is sent, and what comes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlint.model import Position
from attnlint.text.buffers import Lines, Point, changed, replacements

texts = st.text(alphabet="ab\n\r\x0cä𝐪\u2028", max_size=30)


@given(texts, texts, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_replacements_turn_the_one_text_into_the_other(old, new, encoding):
    lines = Lines(old, encoding)
    text = old
    for one in reversed(list(replacements(old, new))):
        start, end = lines.point(one.start), lines.point(one.end)
        text = changed(text, start, end, one.text, encoding)
    assert text == new


@given(texts, st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.integers(0, 5), st.integers(0, 9))
def test_points_and_positions_are_each_others_inverse(text, encoding, line, character):
    lines = Lines(text, encoding)
    position = lines.position(Point(line, character))
    assert lines.position(lines.point(position)) == position


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 6), ("utf-16", 3), ("utf-32", 2)])
def test_units(encoding, character):
    assert Lines("ä𝐪b", encoding).point(Position(1, 3)) == Point(0, character)
    assert Lines("ä𝐪b", encoding).position(Point(0, character)) == Position(1, 3)
