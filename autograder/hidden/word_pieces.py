"""Hidden tests of wordpiece. The reference tries every way of cutting a word, and takes the greedy one among them."""

import string

from autograder.hidden import hidden
from autograder.hidden.expectations import expect
from autograder.hidden.randomness import Randomness
from utils.student import Student


def _greedy(word: str, vocab: set[str], unk: str = "[UNK]") -> list[str]:
    """Cut by recursion: the longest head that is known, then the same for the tail."""

    def tail(rest: str, mark: str) -> list[str] | None:
        if not rest:
            return []
        heads = [rest[:size] for size in range(1, len(rest) + 1) if mark + rest[:size] in vocab]
        if not heads:
            return None
        longest = max(heads, key=len)
        behind = tail(rest[len(longest) :], "##")
        return None if behind is None else [mark + longest, *behind]

    found = tail(word, "")
    return [unk] if found is None else found


def _draw(rng: Randomness, letters: str, low: int, high: int) -> str:
    return "".join(letters[i] for i in rng.integers(0, len(letters) - 1, rng.integer(low, high)).tolist())


def _vocabulary(rng: Randomness, letters: str, count: int) -> set[str]:
    """Draw pieces of up to four letters, some with ##, some without."""
    return {("##" if rng.integer(0, 2) else "") + _draw(rng, letters, 1, 4) for _ in range(count)}


def _same(student: Student, word: str, vocab: set[str], **options: str) -> None:
    found = student.wordpiece(word, {piece: number for number, piece in enumerate(sorted(vocab))}, **options)
    expect(
        isinstance(found, list) and all(isinstance(piece, str) for piece in found),
        "a list of strings should be returned",
    )
    expect(found == _greedy(word, vocab, **options), "the pieces aren't those of longest match first")


@hidden("wordpiece", weight=3)
def longest_match_first(student: Student, rng: Randomness) -> None:
    """Cuts words of pieces that overlap: the longest that fits first, then the longest of what is left."""
    for _ in range(6):
        letters = "".join(string.ascii_lowercase[i] for i in rng.order(26)[:3].tolist())
        vocab = _vocabulary(rng, letters, 30) | set(letters) | {f"##{letter}" for letter in letters}
        for _ in range(6):
            _same(student, _draw(rng, letters, 1, 9), vocab)


@hidden("wordpiece", weight=3)
def words_that_cannot_be_cut(student: Student, rng: Randomness) -> None:
    """Where nothing fits at some place the whole word becomes unknown, wherever that place is; choices aren't taken back."""
    for _ in range(8):
        vocab = _vocabulary(rng, "abc", 14) | {"a"}
        for _ in range(5):
            _same(student, _draw(rng, "abc", 2, 7), vocab)
        _same(student, "a", vocab)
    vocab = {"ab", "abc", "##cd", "##d", "a", "##b", "x"}
    for word in ("abcd", "abcde", "axb", "xab", "abcdx"):
        _same(student, word, vocab - {"##d"})
        _same(student, word, vocab)


@hidden("wordpiece", weight=2)
def first_pieces_and_later_ones(student: Student, rng: Randomness) -> None:
    """The first piece stands in the vocabulary without ##, later ones with; neither can take the other's place."""
    one, two = _draw(rng, "klmn", 2, 4), _draw(rng, "opqr", 2, 4)
    for vocab in ({one, two}, {one, f"##{two}"}, {f"##{one}", two}, {f"##{one}", f"##{two}"}):
        for word in (one + two, two + one, one, two, one + one, two + two):
            _same(student, word, vocab)


@hidden("wordpiece", weight=2)
def unknown_and_empty(student: Student, rng: Randomness) -> None:
    """A word that can't be cut becomes what unk says, [UNK] where it says nothing; the empty word has no pieces."""
    vocab = _vocabulary(rng, "abc", 12)
    for options in ({}, {"unk": "<unknown>"}):
        _same(student, _draw(rng, "xyz", 1, 5), vocab, **options)
        _same(student, "", vocab, **options)
        _same(student, "", set(), **options)
        _same(student, "ab", {"a", "##b"}, **options)
        _same(student, "ab", set(), **options)


@hidden("wordpiece")
def vocabulary_as_a_set(student: Student, rng: Randomness) -> None:
    """The vocabulary may be a set as well as a dict."""
    pieces = _vocabulary(rng, "abc", 20) | {"a", "b", "##c"}
    held = student.host("word_set", sorted(pieces))
    for _ in range(8):
        word = _draw(rng, "abc", 1, 6)
        expect(student.wordpiece(word, held) == _greedy(word, pieces), "the pieces aren't those of longest match first")


@hidden("wordpiece")
def any_letters(student: Student, rng: Randomness) -> None:
    """Upper case, accents, digits and signs are letters like any others, and long words are no problem."""
    vocab = {"É", "##é", "e", "##e", "A", "##1", "9", "##?", "##東", "京", "##京", "##a"}
    for word in ("Éé", "ee", "é", "A1", "a1", "91?", "9?1", "京東", "東京", "Ée1?東京"):
        _same(student, word, vocab)
    _same(student, "e" * rng.integer(150, 250), vocab)
