"""What full-text search is given to read."""

import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from soat.engine import lexical
from soat.engine.lexical import MAX_LEXEME_BYTES, MAX_WORD_LENGTH, POSITION_BYTES, WORD_BYTES, lexical_text

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
TRICKY = st.text(
    st.sampled_from(
        "aBß1٣½ éİıσς-_./:@+#&'\u2019 \n" + "東京ーのあ゙한국ที่นี่ကြ\u0301\u0307\u00ad\u200b\u200d\u200f\ufe0f😀ǅⅧﬁ①፩́"
    )
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SKU-4711", "sku 4711 sku4711"),
        ("(SKU-4711),", "sku 4711 sku4711"),
        ("10.0.0.1", "10 0 0 1 10001"),
        ("2024-03-14", "2024 03 14 20240314"),
        ("user@example.com", "user example com examplecom userexamplecom"),
        ("E_CONN_42", "e conn 42 econn42"),
        ("a/b:c+d#e", "a b c d e abcde"),
        ("SKU-4711/SKU-4712", "sku 4711 sku4711 sku 4712 sku4712 sku4711sku4712"),
        ("http://10.0.0.1:8080/x", "http 10 0 0 1 10001 8080 x 100018080x"),
        ("AT&T", "at t att"),
        ("-5 +5 #5 _x_", "5 5 5 x"),
        ("C++ and C#", "c and c"),
        ("a--b", "a b"),
        ("a-b-c-d-e-f", "a b c d e f abcdef"),
        ("a-b-c-d-e-f-g", "a b c d e f g"),
        ("don't l\u2019été", "don t l été"),
        ("x<y>z &amp;", "x y z amp"),
        ("ﬁne Ⅷ x² ①", "fine viii x2 1"),
        ("½", "1 2"),
        ("STRASSE Straße", "strasse strasse"),
        ("İstanbul ISTANBUL", "istanbul istanbul"),
        ("soft\u00adhyphen left\u200eright zero\u200bwidth", "softhyphen leftright zero width"),
        ("東京都", "東京 京都"),
        ("犬。猫", "犬 猫"),
        ("東京SKU-4711です", "東京 sku 4711 sku4711 です"),
        ("ラーメン ﾗｰﾒﾝ", "ラー ーメ メン ラー ーメ メン"),
        ("한국어 검색", "한국 국어 검색"),
        ("ที่นี่ครับ", "ที่นี่ นี่ค ครั รับ"),
        ("ລາວ ខ្មែរ မြန်", "ລາ າວ ខ្មែ មែរ မြန်"),
        ("\u0301b a\u0301", "b á"),
        ("", ""),
        ("…!?- \u2013", ""),
        ("😀 👩‍👩‍👧 🇩🇪", ""),
    ],
)
def test_words(text: str, words: str) -> None:
    assert lexical_text(text) == words


def test_a_word_is_cut() -> None:
    assert lexical_text("a" * 100_000) == "a" * MAX_WORD_LENGTH
    assert lexical_text("a" * 150 + "-" + "b" * 150).split()[-1] == "a" * 150 + "b" * 50
    assert lexical_text("a" + "\u0323" * 100_000) == "ạ" + "\u0323" * (MAX_WORD_LENGTH - 1)


def cost(words: list[str]) -> int:
    distinct = set(words)
    lengths = sum(len(word.encode()) + WORD_BYTES for word in distinct)
    return lengths + POSITION_BYTES * (len(words) - len(distinct))


def test_the_end_of_what_does_not_fit_is_left_out() -> None:
    text = "".join(chr(0x20000 + number * (1 + number // 40_009) % 40_009) for number in range(100_000))
    words = lexical_text(text).split()
    assert MAX_LEXEME_BYTES - 20 < cost(words) <= MAX_LEXEME_BYTES
    assert words[0] == text[:2]
    assert words == lexical_text(text[: len(words) + 1]).split()


def test_words_that_are_repeated_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "MAX_LEXEME_BYTES", 40)
    assert lexical_text("same " * 16 + "last") == " ".join(["same"] * 16)
    assert lexical_text("same " * 11 + "last") == " ".join([*["same"] * 11, "last"])


@given(st.one_of(ANY_TEXT, TRICKY))
def test_it_is_stable(text: str) -> None:
    once = lexical_text(text)
    assert lexical_text(once) == once


@given(st.one_of(ANY_TEXT, TRICKY))
def test_spelling_and_case_do_not_matter(text: str) -> None:
    words = lexical_text(text)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert lexical_text(unicodedata.normalize(form, text)) == words
    assert all(len(word) <= MAX_WORD_LENGTH for word in words.split(" "))
    assert regex.fullmatch(r"[\p{L}\p{M}\p{N} ]*", words)


@given(st.lists(TRICKY, max_size=5))
def test_white_space_parts_words(texts: list[str]) -> None:
    apart = [words for text in texts for word in text.split() if (words := lexical_text(word))]
    assert lexical_text("\n".join(texts)) == " ".join(apart)
