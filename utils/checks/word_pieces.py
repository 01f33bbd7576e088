"""What the visible check of wordpiece looks at: small vocabularies made so that each wrong way of cutting shows."""

from utils.probes import probe
from utils.student import Student

VOCAB = {
    "play": 1, "##ing": 2, "##in": 3, "##g": 4, "p": 5, "pl": 6, "##lay": 7, "##ay": 8, "ing": 9, "##er": 10, "##s": 11,
    "un": 12, "##believ": 13, "##able": 14, "##a": 15, "##b": 16, "a": 17, "##ab": 18, "##play": 19, "é": 20, "##é": 21,
    "[UNK]": 22, "##d": 23, "s": 24, "ab": 25, "##cd": 26, "abc": 27, "g": 28, "#er": 29, "ing##": 30, "xy": 31, "xyz": 32,
    "##zw": 33, "h": 34, "##m": 35, "##nop": 36, "hmn": 37, "##op": 38,
}  # fmt: skip


def _cut(student: Student, *words: str, **options: str) -> dict[str, str]:
    """Cut words with the vocabulary as a dict; shows pieces side by side."""
    return {word or "(empty)": _shown(student.wordpiece(word, VOCAB, **options)) for word in words}


def _shown(pieces: object) -> str:
    if isinstance(pieces, list) and all(isinstance(piece, str) for piece in pieces):
        return " ".join(pieces) if pieces else "(no pieces)"
    return f"not a list of strings: {type(pieces).__name__}"


@probe("wordpiece", "a word of the vocabulary is one piece")
def whole_word(student: Student) -> object:
    return _cut(student, "play", "un", "a")


@probe("wordpiece", "the longest piece that fits comes first, then the longest of what is left")
def longest_first(student: Student) -> object:
    return _cut(student, "playing", "player", "players", "unbelievable")


@probe("wordpiece", "pieces inside a word are looked up with ##, and the first one without")
def marks(student: Student) -> object:
    return _cut(student, "sing", "playplay", "ga", "singing")


@probe("wordpiece", "where nothing fits at some place, the whole word is unknown, also if it began well")
def unknown(student: Student) -> object:
    return _cut(student, "playz", "zplay", "plazing", "ingz", "z")


@probe("wordpiece", "greedy means that a choice is never taken back")
def never_back(student: Student) -> object:
    return _cut(student, "abcd", "abcd" * 2, "abd", "xyzw", "hmnop")


@probe("wordpiece", "a word that isn't in the vocabulary can be called by another name")
def other_name(student: Student) -> object:
    return _cut(student, "qqq", "play", "playx", unk="<?>")


@probe("wordpiece", "the empty word has no pieces")
def empty_word(student: Student) -> object:
    return _cut(student, "")


@probe("wordpiece", "letters are taken as they are")
def letters(student: Student) -> object:
    return _cut(student, "é", "éé", "Play", "plaé")


@probe("wordpiece", "the vocabulary may be a set, and it may be small")
def as_a_set(student: Student) -> object:
    small = student.host("word_set", ["go", "##ing", "##es"])
    return {word: _shown(student.wordpiece(word, small)) for word in ("going", "goes", "gone", "ing")}
