"""Text to ids and back, and the pieces that the cells of a row show."""

import random

import pytest

from playground.text import BOS, BROKEN_PIECE, EOS, MASK_PIECE, PAD

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
STRINGS = {
    "plain": "Once upon a time, there was a little dog.",
    "family emoji": f"The {FAMILY} went home.",
    "flags": "🇩🇪🇫🇷🇯🇵 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "skin tones": "👍🏽👋🏿🤝🏻",
    "variation selector": "❤️ ☂︎",
    "combining marks": "e\u0301 n\u0303 a\u0323\u0302",
    "zalgo": "h\u0335\u0321\u031be\u0334\u0322",
    "composed and decomposed": "\u00e9 e\u0301",
    "compatibility letters": "ﬁ ½ Å Å",
    "CJK": "你好，世界。こんにちは 안녕",
    "RTL": "שלום עולם مرحبا \u202eabc\u202c",
    "devanagari": "नमस्ते क्षि",
    "NUL": "a\x00b",
    "control characters": "\x01\x1b[31m\x7f\x85",
    "lone CR": "a\rb\r",
    "CRLF": "a\r\nb",
    "tabs": "\ta\t\tb",
    "double spaces": "  two  spaces   here  ",
    "only spaces": "     ",
    "only newlines": "\n\n\n",
    "special spaces": "a\u00a0b\u3000c\u200bd\ufeff",
    "end mark typed": "<eos>",
    "padding typed": "<pad> <bos> <mask>",
    "backslashes": "C:\\users\\new",
    "template": "${x} {{y}} `z`",
    "replacement character": "a\ufffdb",
    "noncharacters": "\uffff\U0010ffff",
    "GPT-2 symbols": "ĠĊĀ",
    "empty": "",
}


def random_strings(count: int) -> list[str]:
    """Strings of 0 to 24 characters from all of Unicode (surrogates left out), half of them from its busy parts."""
    rng = random.Random(20)
    busy = [(0, 0x250), (0x300, 0x370), (0x590, 0x700), (0x900, 0x980), (0x1F1E6, 0x1F200), (0x1F300, 0x1F700)]
    made = []
    for _ in range(count):
        low_high = [(0, 0x110000)] if rng.random() < 0.5 else busy
        codes = [rng.randrange(*rng.choice(low_high)) for _ in range(rng.randrange(25))]
        made.append("".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000))
    return made


def joined(pieces) -> str:
    return "".join(piece for piece in pieces if isinstance(piece, str))


@pytest.mark.parametrize("text", STRINGS.values(), ids=STRINGS.keys())
def test_decode_gives_back_what_was_encoded(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert joined(tokenizer.pieces(ids)) == text


def test_random_unicode_comes_back_exactly(tokenizer):
    for text in random_strings(300):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        pieces = tokenizer.pieces(ids)
        assert joined(pieces) == text
        assert len(pieces) == len(ids)
        assert "\ufffd" in text or not any("\ufffd" in piece for piece in pieces)


@pytest.mark.parametrize("text", STRINGS.values(), ids=STRINGS.keys())
def test_pieces_of_whole_text_hold_no_broken_bytes(tokenizer, text):
    pieces = tokenizer.pieces(tokenizer.encode(text))
    assert all(isinstance(piece, str) for piece in pieces)
    assert ("\ufffd" in joined(pieces)) == ("\ufffd" in text)


@pytest.mark.parametrize("cluster", [FAMILY, "👍🏽", "🇩🇪", "❤️", "🏳️\u200d🌈"])
def test_a_joined_emoji_sits_whole_in_one_cell(tokenizer, cluster):
    pieces = tokenizer.pieces(tokenizer.encode(cluster))
    assert len(pieces) > 1
    assert pieces == [cluster] + [""] * (len(pieces) - 1)


def test_two_flags_are_two_clusters(tokenizer):
    assert [piece for piece in tokenizer.pieces(tokenizer.encode("🇩🇪🇫🇷")) if piece] == ["🇩🇪", "🇫🇷"]


@pytest.mark.parametrize("cluster", ["e\u0301", "\u0915\u093f", "1\ufe0f\u20e3"], ids=["above", "spacing", "enclosing"])
def test_a_combining_mark_stays_with_its_letter(tokenizer, cluster):
    assert [piece for piece in tokenizer.pieces(tokenizer.encode(cluster)) if piece] == [cluster]


def test_a_combining_mark_after_a_special_cell_has_nothing_to_join(tokenizer):
    ids = [*tokenizer.encode("e"), BOS, *tokenizer.encode("\u0301")]
    pieces = tokenizer.pieces(ids)
    assert pieces[0] == "e"
    assert joined(pieces[2:]) == "\u0301"


def test_every_token_alone_is_text_or_broken(tokenizer):
    pieces = [tokenizer.pieces([i])[0] for i in range(3, tokenizer.vocab_size)]
    assert all(piece == BROKEN_PIECE or (isinstance(piece, str) and piece) for piece in pieces)
    assert not any("\ufffd" in piece for piece in pieces if isinstance(piece, str))
    assert " the" in pieces and BROKEN_PIECE in pieces


@pytest.mark.parametrize("char", ["你", "😀", "é"])
def test_bytes_that_complete_no_character_are_broken(tokenizer, char):
    ids = tokenizer.encode(char)
    if len(ids) == 1:  # this vocabulary has the character whole: take its first byte instead
        ids = [tokenizer._bytes.index(char.encode()[:1]), -1]
    cut = ids[:-1]
    assert tokenizer.pieces(cut) == [BROKEN_PIECE] * len(cut)
    assert tokenizer.decode(cut) == ""


def test_broken_bytes_do_not_spoil_the_text_around_them(tokenizer):
    cut = tokenizer.encode("😀")[:-1]
    assert cut
    before, after = tokenizer.encode("Tom"), tokenizer.encode(" ran")
    ids = [*before, *cut, *after]
    assert tokenizer.decode(ids) == "Tom ran"
    assert tokenizer.pieces(ids)[len(before) : len(before) + len(cut)] == [BROKEN_PIECE] * len(cut)


def test_a_special_cell_between_the_bytes_of_a_character_breaks_it(tokenizer):
    ids = tokenizer.encode("😀")
    assert len(ids) > 1
    pieces = tokenizer.pieces([ids[0], tokenizer.vocab_size, *ids[1:]])
    assert pieces == [BROKEN_PIECE, MASK_PIECE, *[BROKEN_PIECE] * (len(ids) - 1)]


def test_special_ids_show_as_numbers(tokenizer):
    assert tokenizer.pieces([PAD, BOS, EOS, tokenizer.vocab_size]) == [0, 1, 2, MASK_PIECE] == [0, 1, 2, 3]
    assert BROKEN_PIECE == 4


@pytest.mark.parametrize("text", ["<eos>", "<pad>", "<bos>", "a<eos>b", " <eos> "])
def test_a_typed_special_token_never_becomes_one(tokenizer, text):
    ids = tokenizer.encode(text)
    assert not {PAD, BOS, EOS} & set(ids)
    assert tokenizer.decode(ids) == text


def test_encode_adds_no_marks(tokenizer):
    assert tokenizer.encode("") == []
    assert BOS not in tokenizer.encode("Once") and EOS not in tokenizer.encode("Once")


@pytest.mark.parametrize(("text", "position"), [("\ud800", 1), ("ab\udfff", 3), ("ok 😀 \ud83d", 6)])
def test_half_a_surrogate_pair_is_refused_with_its_position(tokenizer, text, position):
    with pytest.raises(ValueError, match=f"character {position} is half of a surrogate pair"):
        tokenizer.encode(text)


def test_decode_stops_at_the_first_end_mark(tokenizer):
    ids = tokenizer.encode("The end.")
    assert tokenizer.decode([BOS, *ids, EOS, *tokenizer.encode(" More."), EOS, PAD]) == "The end."
    assert tokenizer.decode([EOS, *ids]) == ""


def test_the_joined_pieces_before_the_end_mark_are_the_decoded_row(tokenizer):
    rng = random.Random(4)
    for _ in range(50):
        ids = [rng.randrange(tokenizer.vocab_size + 1) for _ in range(64)] + [EOS, 5, 6]
        pieces = tokenizer.pieces(ids)
        assert len(pieces) == len(ids)
        assert joined(pieces[: ids.index(EOS)]) == tokenizer.decode(ids)
        assert "\ufffd" not in joined(pieces)
