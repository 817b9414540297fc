import random

import pytest
import torch

from playground.text import BOS, EOS, PAD, Tokenizer
from playground.training.data import (
    Corpus,
    CorpusError,
    encode,
    given_cells,
    opening,
    read_texts,
    sentences,
    split,
    window,
)

DOCUMENT = [[10, 11, 12], [20, 21], [30, 31, 32, 33]]


class Always:
    """A random number generator that always starts windows at `first`."""

    def __init__(self, first: int):
        self.first = first

    def random(self):
        return 0.0 if self.first == 0 else 0.9

    def randrange(self, n):
        return self.first


def test_a_window_holds_whole_sentences_between_its_marks():
    assert window(DOCUMENT, 8, Always(0)) == [BOS, 10, 11, 12, 20, 21, EOS, PAD]
    assert window(DOCUMENT, 12, Always(1)) == [20, 21, 30, 31, 32, 33, EOS, PAD, PAD, PAD, PAD, PAD]


def test_practice_text_has_no_start_mark():
    assert window(DOCUMENT, 8, Always(0), opens=False) == [10, 11, 12, 20, 21, EOS, PAD, PAD]


def test_a_sentence_longer_than_the_row_is_cut_and_has_no_end_mark():
    assert window(DOCUMENT, 3, Always(2)) == [30, 31, 32]


def test_a_cut_window_is_full_and_ends_only_where_the_document_does():
    assert window(DOCUMENT, 5, Always(0), cut=True) == [BOS, 10, 11, 12, 20]
    assert window(DOCUMENT, 8, Always(1), cut=True) == [20, 21, 30, 31, 32, 33, EOS, PAD]
    assert window(DOCUMENT, 8, Always(1), opens=False, cut=True) == [20, 21, 30, 31, 32, 33, PAD, PAD]


def test_an_opening_is_where_the_document_starts():
    assert opening(DOCUMENT, 5) == [BOS, 10, 11, 12, EOS]


def test_sentences_end_at_marks_before_capitals_and_after_quotes():
    text = 'He said, "Stop it!" She did not. Mr. fox ran. "Why?" he asked.'
    assert sentences(text) == ['He said, "Stop it!"', "She did not.", "Mr. fox ran.", '"Why?" he asked.']


def test_sentences_joined_again_are_the_text(corpus):
    text = 'Tom ran. "Where to?" asked Mia. Tom did not know!'
    document = encode(text, corpus.tokenizer)
    assert corpus.tokenizer.decode([token for sentence in document for token in sentence]) == text


def test_validation_stories_are_split_off_and_the_same_every_time():
    documents = [str(i) for i in range(100)]
    held, rest = split(documents)
    assert len(held) == 5 and sorted(held + rest) == sorted(documents)
    assert split(documents) == (held, rest)
    assert len(split([str(i) for i in range(10_000)])[0]) == 250


def test_with_shares_only_the_first_file_opens_and_validates(corpus):
    stories, lines = corpus.sources
    assert (stories.opens, lines.opens) == (True, False)
    assert len(corpus.validation) == 10 and len(stories.documents) == 190 and len(lines.documents) == 5


def test_rows_follow_the_shares(corpus):
    rows = corpus.rows(2000, 24, random.Random(0))
    practice = {tuple(window(d, 24, Always(0), opens=False)) for d in corpus.sources[1].documents}
    assert abs(sum(tuple(row) in practice for row in rows.tolist()) / 2000 - 0.2) < 0.04


def test_without_shares_every_file_counts_by_its_size(folder, tokenizer_file):
    corpus = Corpus.read(folder, Tokenizer(tokenizer_file))
    assert [source.name for source in corpus.sources] == ["lines.txt", "stories.txt"]
    assert corpus.sources[1].share > 50 * corpus.sources[0].share


@pytest.mark.parametrize(
    ("content", "documents"),
    [
        (b"One.\n<|endoftext|>\nTwo\n lines.", ["One.", "Two lines."]),
        (b"One\nhere.\n\n  \nTwo.", ["One here.", "Two."]),
        (b"One.\nTwo.\n", ["One.", "Two."]),
    ],
)
def test_documents_are_parted_by_marks_blank_lines_or_lines(tmp_path, content, documents):
    (tmp_path / "a.txt").write_bytes(content)
    assert read_texts(tmp_path) == {"a.txt": documents}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds no .txt file"),
        ({"a.txt": b"Only one line."}, "single document; at least two"),
        ({"a.txt": b""}, "a.txt holds no text"),
        ({"a.txt": b"\xff\xfe\x00binary"}, "a.txt is not UTF-8 text (byte 1)"),
        ({"a.txt": b"a\x00b"}, "a.txt holds NUL bytes"),
    ],
)
def test_a_corpus_that_cannot_be_used_says_why(tmp_path, files, said):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError) as error:
        read_texts(tmp_path)
    assert said in str(error.value)


def test_a_missing_folder_and_a_missing_file_are_named(tmp_path):
    with pytest.raises(CorpusError, match="nowhere does not exist"):
        read_texts(tmp_path / "nowhere")
    with pytest.raises(CorpusError, match=r"gone\.txt cannot be read"):
        read_texts(tmp_path, {"gone.txt": 1.0})


def test_given_cells_have_the_documented_mix():
    rows = torch.zeros(4000, 32, dtype=torch.long)
    given = given_cells(rows, random.Random(0), torch.Generator().manual_seed(0))
    nothing = (~given).all(1)
    prefix = given[:, 0] & (given.long().diff(dim=1) <= 0).all(1) & ~given[:, -1]
    assert abs(nothing.float().mean() - 0.5) < 0.03
    assert 0.17 < prefix.float().mean() < 0.30  # the prefixes, and spans that reach the row's end
    assert not given.all(1).any()


def test_a_byte_order_mark_is_not_text_and_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfOne.\r\nTwo.\r\n")
    (tmp_path / "b.txt").mkdir()
    assert read_texts(tmp_path) == {"a.txt": ["One.", "Two."]}


def test_a_first_file_of_one_document_leaves_nothing_to_validate_with(tmp_path, tokenizer_file):
    (tmp_path / "a.txt").write_text("Only one.")
    (tmp_path / "b.txt").write_text("One.\nTwo.")
    with pytest.raises(CorpusError, match=r"a.txt is a single document, so none can be held out"):
        Corpus.read(tmp_path, Tokenizer(tokenizer_file), {"a.txt": 0.5, "b.txt": 0.5})
