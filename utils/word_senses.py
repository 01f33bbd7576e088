"""A small task that needs context: say what an ambiguous word means, in sentences that hold two such words."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm.auto import tqdm

CLAUSES = {
    "bank: of a river": (
        "the boat drifted to the bank of the river",
        "we fished from the muddy bank",
        "the flood washed away the bank",
        "reeds grew along the bank of the stream",
        "ducks slept on the grassy bank",
        "he swam across the river to the other bank",
    ),
    "bank: for money": (
        "the bank raised the interest on my loan",
        "she opened an account at the bank",
        "the bank lent us the money",
        "he took the cheque to the bank",
        "a clerk at the bank counted the coins",
        "my loan came from the other bank",
    ),
    "bat: an animal": (
        "the bat flew out of the dark cave",
        "a bat hung asleep from the roof",
        "the bat caught moths at dusk",
        "a bat folded the wings and slept",
        "the owl chased a bat to the cave",
    ),
    "bat: for a ball": (
        "he swung the bat and missed the ball",
        "the player broke the bat in the last match",
        "she hit the ball with a wooden bat",
        "the coach handed me a bat",
        "the team bought a new bat for the match",
    ),
    "mouse: an animal": (
        "the cat chased the mouse",
        "a mouse gnawed at the cheese",
        "the owl caught a mouse in the field",
        "the mouse squeaked and hid from the cat",
        "a mouse stole the cheese from the pantry",
    ),
    "mouse: of a computer": (
        "she clicked the icon with the mouse",
        "the mouse of my computer needs a battery",
        "he moved the cursor with the mouse",
        "a cable joins the mouse to the laptop",
        "the screen froze and the mouse was stuck",
    ),
}
SENSES = tuple(CLAUSES)
AMBIGUOUS = tuple(dict.fromkeys(sense.split(":")[0] for sense in SENSES))
LINKS = ("while", "and", "because", "when")
PADDING = "–"
HIDDEN_SHARE = 0.3
VOCABULARY = (
    PADDING,
    *sorted({*LINKS, *(word for clauses in CLAUSES.values() for c in clauses for word in c.split())}),
)
NUMBER_OF = {word: number for number, word in enumerate(VOCABULARY)}


class Sentences(NamedTuple):
    """Sentences as numbers, and the sense of each ambiguous word; −1 stands for all other words."""

    ids: Tensor  # (B, T)
    senses: Tensor  # (B, T)

    @property
    def mask(self) -> Tensor:
        """True at words, False at padding: (B, 1, T)."""
        return (self.ids != 0).unsqueeze(1)


def ids_of(*sentences: str) -> Tensor:
    """Turn sentences made of known words into numbers, filled up with padding: (B, T)."""
    rows = [torch.tensor([NUMBER_OF[word] for word in sentence.split()]) for sentence in sentences]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def all_sentences() -> tuple[list[str], list[list[int]]]:
    """Join every two clauses about different words; a link goes with each in turn."""
    texts, senses = [], []
    pairs = itertools.permutations([(sense, clause) for sense in SENSES for clause in CLAUSES[sense]], 2)
    pairs = [pair for pair in pairs if pair[0][0].split(":")[0] != pair[1][0].split(":")[0]]
    for number, ((first, left), (second, right)) in enumerate(pairs):
        texts.append(f"{left} {LINKS[number % len(LINKS)]} {right}")
        meant = {sense.split(":")[0]: SENSES.index(sense) for sense in (first, second)}
        senses.append([meant.get(word, -1) for word in texts[-1].split()])
    return texts, senses


def split(seed: int = 0) -> tuple[Sentences, Sentences]:
    """Give sentences to learn from and, one in ten, sentences to test with: pairings of clauses that were not seen."""
    texts, senses = all_sentences()
    ids = ids_of(*texts)  # (N, T)
    targets = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in senses], batch_first=True, padding_value=-1)
    order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(seed))
    cut = len(ids) // 10
    return Sentences(ids[order[cut:]], targets[order[cut:]]), Sentences(ids[order[:cut]], targets[order[:cut]])


class SenseReader(nn.Module):
    """An embedding, one layer of self-attention, and a linear readout of the sense at every position; nothing else."""

    def __init__(self, attention: nn.Module, d_model: int, d_v: int) -> None:
        super().__init__()
        self.words = nn.Embedding(len(VOCABULARY), d_model)
        nn.init.normal_(self.words.weight, std=d_model**-0.5)
        self.attention = attention
        self.readout = nn.Linear(d_v, len(SENSES))

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Give logits (B, T, senses), the attention's output (B, T, d_v) and its weights (B, T, T)."""
        output, weights = self.attention(self.words(ids), mask)
        return self.readout(output), output, weights


def train(
    build: Callable[[int, int, int], nn.Module], widths: tuple[int, int, int], steps: int, seed: int = 0
) -> SenseReader:
    """Train a reader whose attention layer is `build(d_model, d_k, d_v)`.

    Only ambiguous words count in the loss. Every other word is hidden from attention with probability 0.3, anew at every
    step, so that no single clue is enough.
    """
    torch.manual_seed(seed)
    reader = SenseReader(build(*widths), widths[0], widths[2])
    sentences, _test = split()
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.005)
    for _ in tqdm(range(steps), desc="learning to read", unit="step", leave=False):
        chosen = torch.randint(len(sentences.ids), (64,), generator=generator)
        batch = Sentences(sentences.ids[chosen], sentences.senses[chosen])
        kept = torch.rand(batch.ids.shape, generator=generator) >= HIDDEN_SHARE
        logits, _output, _weights = reader(batch.ids, batch.mask & (kept | (batch.senses >= 0)).unsqueeze(1))
        loss = F.cross_entropy(logits.flatten(0, 1), batch.senses.flatten(), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reader.eval()


@torch.no_grad()
def accuracy(reader: SenseReader, sentences: Sentences) -> float:
    """Give the share of ambiguous words whose sense is found."""
    logits, _output, _weights = reader(sentences.ids, sentences.mask)
    asked = sentences.senses >= 0
    return (logits.argmax(-1) == sentences.senses)[asked].double().mean().item()
