"""What the demo prints, on a terminal and elsewhere."""

import io

import pytest

from soat.standalone.demo.terminal import ProgressBar, Style, Terminal, lines_of, passage


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "61")


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (Screen(), {}, True),
        (Screen(), {"NO_COLOR": ""}, True),
        (Screen(), {"NO_COLOR": "1"}, False),
        (Screen(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    stream: io.StringIO, environment: dict[str, str], coloured: bool
) -> None:
    Terminal(stream, environment).write("text", Style.RED)
    assert stream.getvalue() == ("\x1b[31mtext\x1b[0m\n" if coloured else "text\n")


def test_a_bar_is_redrawn_on_a_terminal() -> None:
    screen = Screen()
    bar = ProgressBar(Terminal(screen, {}), "  ")
    bar.show(0, None, "waiting")
    bar.show(5, 10, "5 of 10")
    bar.show(5, 10, "5 of 10")
    bar.end()
    assert screen.getvalue() == f"\r  [{'.' * 24}] waiting\x1b[K\r  [{'#' * 12}{'.' * 12}] 5 of 10\x1b[K\n"


def test_a_bar_is_plain_lines_elsewhere() -> None:
    stream = io.StringIO()
    bar = ProgressBar(Terminal(stream, {}), "  ")
    for done in (5, 5, 10):
        bar.show(done, 10, f"{done} of 10")
    bar.end()
    assert stream.getvalue() == "  5 of 10\n  10 of 10\n"


def test_a_text_stands_beside_its_label_and_ends_with_dots() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, {})
    terminal.labelled("  1. ", "words " * 50, most=2)
    first, second = stream.getvalue().splitlines()
    assert first.startswith("  1. words words")
    assert second.startswith("     words")
    assert second.endswith(" words ...")
    assert max(len(first), len(second)) <= terminal.width == 60


def test_nobody_who_reads_is_no_error() -> None:
    Terminal(Closed(), {}).write("text")


def test_a_character_that_the_stream_does_not_know_is_no_error() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Terminal(stream, {}).write("caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    stream.seek(0)
    assert stream.read() == "caf?\n"


@pytest.mark.parametrize(
    ("text", "most", "lines"),
    [
        ("", 1, []),
        ("one", 1, ["one"]),
        ("one two three four", 2, ["one two", "three four"]),
        ("one two three four five", 2, ["one two", "three ..."]),
        ("unbreakable", 2, ["unbreakabl", "e"]),
    ],
)
def test_lines(text: str, most: int, lines: list[str]) -> None:
    assert lines_of(text, 10, most) == lines


@pytest.mark.parametrize(
    ("around", "shown"),
    [
        ("alpha", "alpha beta gamma delta epsilon zeta eta theta"),
        ("zeta", "... epsilon zeta eta theta"),
        ("theta", "... epsilon zeta eta theta"),
        ("absent", "alpha beta gamma delta epsilon zeta eta theta"),
        ("", "alpha beta gamma delta epsilon zeta eta theta"),
    ],
)
def test_a_passage_begins_near_what_it_is_about(around: str, shown: str) -> None:
    assert passage("alpha beta\ngamma delta  epsilon zeta eta theta", around, 20) == shown
