"""A small language with known rules: verbs agree, pronouns have a gender, and every text keeps to a topic.

Its words are English so that we can read it. A model sees numbers only, and has to find every rule by itself.

A text is two sentences, in either order:
    the [ADJECTIVE] NOUN [##s] [near|behind the [ADJECTIVE] NOUN [##s]] VERB ADJECTIVE .
    NAME said that PRONOUN VERBED the [ADJECTIVE] NOUN [##s] .
The verb agrees with the *first* noun; a second one between them is there to mislead. A plural is a word piece of its own.
"""

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
SINGULAR, PLURAL = ("is", "was"), ("are", "were")
PREPOSITIONS, ACTIONS = ("near", "behind"), ("saw", "liked", "wanted", "drew", "found", "missed")
SHE = ("Amina", "Clara", "Hanna", "Leila", "Mei")
HE = ("Amir", "Carlos", "Hugo", "Jonas", "Wei")
NOUNS = {
    "sea": ("boat", "wave", "island", "whale", "gull"),
    "garden": ("rose", "tree", "hedge", "bee", "root"),
    "kitchen": ("pan", "spoon", "onion", "oven", "cake"),
    "music": ("violin", "drum", "song", "flute", "choir"),
}
ADJECTIVES = {
    "sea": ("deep", "salty", "rough"),
    "garden": ("green", "tall", "wild"),
    "kitchen": ("hot", "sour", "fresh"),
    "music": ("loud", "soft", "lively"),
}
TOPICS = tuple(NOUNS)
OUTDOORS = ("sea", "garden")
_GRAMMAR = ("the", "##s", "said", "that", "she", "he", ".")
VOCABULARY = (
    *SPECIAL,
    *_GRAMMAR,
    *(word for group in (PREPOSITIONS, SINGULAR, PLURAL, ACTIONS, SHE, HE) for word in group),
    *(word for topic in TOPICS for word in (*NOUNS[topic], *ADJECTIVES[topic])),
)
IDS = {word: number for number, word in enumerate(VOCABULARY)}
PAD, MASK = IDS["[PAD]"], IDS["[MASK]"]
MAX_LEN = 32
ON_TOPIC = 0.95  # of the nouns and adjectives; the others are of any topic

TopicWords = dict[str, tuple[str, ...]]


class Text(NamedTuple):
    """One text, and what its writer knows about it."""

    words: tuple[str, ...]
    topic: str
    places: dict[str, int]  # of "subject", "between" (where there is one), "verb", "name", "pronoun" and "object"
    clash: bool | None  # whether the noun between differs in number from the subject; None without such a noun


class _Writer:
    """Writes one text, word by word, and notes where everything stands."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.topic = chance.choice(TOPICS)
        self.words, self.places, self.clash = ["[CLS]"], {}, None

    def of_topic(self, lists: TopicWords) -> str:
        topic = self.topic if self.chance.random() < ON_TOPIC else self.chance.choice(TOPICS)
        return self.chance.choice(lists[topic])

    def noun_phrase(self, role: str) -> bool:
        """Write a noun with what belongs to it; tell whether it is a plural."""
        self.words.append("the")
        if self.chance.random() < 0.3:
            self.words.append(self.of_topic(ADJECTIVES))
        self.places[role] = len(self.words)
        self.words.append(self.of_topic(NOUNS))
        is_plural = self.chance.random() < 0.5
        self.words += ["##s"] * is_plural
        return is_plural

    def description(self) -> None:
        is_plural = self.noun_phrase("subject")
        if self.chance.random() < 0.7:
            self.words.append(self.chance.choice(PREPOSITIONS))
            self.clash = self.noun_phrase("between") != is_plural
        self.places["verb"] = len(self.words)
        self.words += [self.chance.choice(PLURAL if is_plural else SINGULAR), self.of_topic(ADJECTIVES), "."]

    def report(self) -> None:
        names, pronoun = self.chance.choice([(SHE, "she"), (HE, "he")])
        self.places |= {"name": len(self.words), "pronoun": len(self.words) + 3}
        self.words += [self.chance.choice(names), "said", "that", pronoun, self.chance.choice(ACTIONS)]
        self.noun_phrase("object")
        self.words.append(".")

    def text(self) -> Text:
        sentences = [self.description, self.report]
        self.chance.shuffle(sentences)
        for write in sentences:
            write()
        return Text((*self.words, "[SEP]"), self.topic, self.places, self.clash)


def draw_texts(n: int, seed: int) -> list[Text]:
    """Draw n texts; the same seed gives the same ones."""
    chance = random.Random(f"texts {seed}")
    return [_Writer(chance).text() for _ in range(n)]


def written(text: Text) -> str:
    """Write a text as one would read it, with plurals joined to their nouns."""
    return " ".join(text.words[1:-1]).replace(" ##", "").replace(" .", ".")


def batch_of(texts: Sequence[Text]) -> tuple[Tensor, Tensor]:
    """Turn texts into ids (B, T), padded at the end, and their padding mask (B, 1, T), True at real tokens."""
    rows = [torch.tensor([IDS[word] for word in text.words]) for text in texts]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    return ids, (ids != PAD).unsqueeze(1)


def is_special(ids: Tensor) -> Tensor:
    """Tell which of the ids (B, T) are no words, and so are never to be guessed."""
    return ids < len(SPECIAL)


class Probe(NamedTuple):
    """A question to a masked-word model: which group of words gets the most probability at the hidden place?"""

    name: str
    ids: Tensor  # (B, T), with [MASK] at one place of each text
    padding: Tensor  # (B, 1, T)
    places: Tensor  # (B,)
    groups: Tensor  # (G, V), 1 where a word belongs to a group
    answers: Tensor  # (B,): the right group

    @property
    def chance(self) -> float:
        """The share of right answers of someone who guesses."""
        return 1 / len(self.groups)


def _make_probe(
    name: str, texts: Sequence[Text], role: str, groups: Sequence[Sequence[str]], right: list[int]
) -> Probe:
    ids, padding = batch_of(texts)
    places = torch.tensor([text.places[role] for text in texts])
    ids[torch.arange(len(texts)), places] = MASK
    members = torch.zeros(len(groups), len(VOCABULARY))
    for row, words in enumerate(groups):
        members[row, [IDS[word] for word in words]] = 1
    return Probe(name, ids, padding, places, members, torch.tensor(right))


NEXT_TO_IT, GENDER, TOPIC, ACROSS = (
    "verb agrees with the noun next to it",
    "pronoun fits the name",
    "noun fits the topic",
    "verb agrees across a noun of the other number",
)


@cache
def probes(n: int = 200, seed: int = 10_000) -> tuple[Probe, ...]:
    """Make the four questions, n texts each, of texts that nobody trains on."""
    texts = draw_texts(8 * n, seed)
    nothing_between = [text for text in texts if text.clash is None][:n]
    clashing = [text for text in texts if text.clash][:n]
    numbers, pronouns = (SINGULAR, PLURAL), (("she",), ("he",))

    def number(chosen: list[Text]) -> list[int]:
        return [int(text.words[text.places["verb"]] in PLURAL) for text in chosen]

    genders = [int(text.words[text.places["pronoun"]] == "he") for text in texts[:n]]
    topics = [TOPICS.index(text.topic) for text in texts[:n]]
    return (
        _make_probe(NEXT_TO_IT, nothing_between, "verb", numbers, number(nothing_between)),
        _make_probe(GENDER, texts[:n], "pronoun", pronouns, genders),
        _make_probe(TOPIC, texts[:n], "object", list(NOUNS.values()), topics),
        _make_probe(ACROSS, clashing, "verb", numbers, number(clashing)),
    )


def asked(probe: Probe, which: int = 0) -> str:
    """Write one of the probe's texts, with its gap, as one would read it."""
    words = [VOCABULARY[number] for number in probe.ids[which].tolist() if number != PAD]
    return " ".join(words[1:-1]).replace(" ##", "").replace(" .", ".").replace("[MASK]", "____")


def answer(probe: Probe, which: int = 0) -> str:
    """Write the words of the right group for one of the probe's texts."""
    members = probe.groups[probe.answers[which]].nonzero().flatten().tolist()
    return ", ".join(VOCABULARY[number] for number in members)


def share_right(probe: Probe, logits: Tensor) -> float:
    """Give the share of right answers of logits (B, T, V)."""
    rows = torch.arange(len(probe.ids))
    chosen = logits[rows, probe.places].softmax(-1) @ probe.groups.to(logits).T  # (B, G)
    return (chosen.argmax(-1) == probe.answers).double().mean().item()
