"""A task with a gap: name the first symbol of a sequence after a number of others, with four networks that try."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm.auto import tqdm

SYMBOLS = 8  # to remember; as many others serve as distractors, and one more asks the question
WIDTH, HIDDEN = 32, 64
CHANCE = 1 / SYMBOLS
NETWORKS = ("RNN", "LSTM", "LSTM, forget bias 3", "attention")


def draw(batch: int, gap: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw sequences (batch, gap + 2): a symbol, `gap` distractors, a question mark; and the symbols (batch,)."""
    first = torch.randint(0, SYMBOLS, (batch, 1), generator=generator)
    distractors = torch.randint(SYMBOLS, 2 * SYMBOLS, (batch, gap), generator=generator)
    return torch.cat([first, distractors, torch.full((batch, 1), 2 * SYMBOLS)], dim=1), first[:, 0]


def written(sequence: Tensor) -> str:
    """Write a sequence as letters: capitals to remember, small ones as distractors."""
    names = "ABCDEFGHabcdefgh?"
    return " ".join(names[symbol] for symbol in sequence.tolist())


class Recurrent(nn.Module):
    """Embedding, PyTorch's RNN or LSTM, and a readout at the last step."""

    def __init__(self, network: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2 * SYMBOLS + 1, WIDTH)
        self.layer = (nn.RNN if network == "RNN" else nn.LSTM)(WIDTH, HIDDEN, batch_first=True)
        self.readout = nn.Linear(HIDDEN, SYMBOLS)
        if network.endswith("bias 3"):  # gates are stacked as i, f, g, o, and PyTorch adds two biases
            with torch.no_grad():
                self.layer.bias_ih_l0[HIDDEN : 2 * HIDDEN].fill_(3.0)
                self.layer.bias_hh_l0[HIDDEN : 2 * HIDDEN].zero_()

    def forward(self, sequences: Tensor) -> Tensor:
        """Give logits (B, SYMBOLS)."""
        states, _last = self.layer(self.embedding(sequences))  # (B, T, HIDDEN)
        return self.readout(states[:, -1])


class Attending(nn.Module):
    """Embedding and learned positions, one look from the last step at all others, and a readout; no recurrence."""

    def __init__(self, longest: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2 * SYMBOLS + 1, HIDDEN)
        self.positions = nn.Embedding(longest, HIDDEN)
        self.query, self.key, self.value = (nn.Linear(HIDDEN, HIDDEN) for _ in range(3))
        self.readout = nn.Linear(HIDDEN, SYMBOLS)

    def forward(self, sequences: Tensor) -> Tensor:
        """Give logits (B, SYMBOLS)."""
        x = self.embedding(sequences) + self.positions.weight[: sequences.shape[1]]  # (B, T, HIDDEN)
        scores = self.query(x[:, -1:]) @ self.key(x).mT / math.sqrt(HIDDEN)  # (B, 1, T)
        return self.readout((scores.softmax(-1) @ self.value(x))[:, 0])


def train(network: str, gap: int, steps: int, seed: int = 0) -> tuple[float, int]:
    """Train one network on fresh sequences; stop early once 20 batches in a row were all right.

    Gives the share of right answers on 1,000 new sequences, and the number of updates.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Attending() if network == "attention" else Recurrent(network)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    perfect = step = 0
    while step < steps and perfect < 20:
        step += 1
        sequences, targets = draw(64, gap, generator)
        logits = model(sequences)
        optimizer.zero_grad()
        F.cross_entropy(logits, targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        perfect = perfect + 1 if bool((logits.argmax(-1) == targets).all()) else 0
    with torch.no_grad():
        sequences, targets = draw(1000, gap, generator)
        return (model(sequences).argmax(-1) == targets).double().mean().item(), step


def race(gaps: Sequence[int], steps: int, seeds: Sequence[int] = (0,)) -> dict[str, Tensor]:
    """Train every network at every gap and seed: network → shares of right answers (gaps, seeds)."""
    runs = [(network, gap, seed) for network in NETWORKS for gap in gaps for seed in seeds]
    shares = {network: torch.zeros(len(gaps), len(seeds)) for network in NETWORKS}
    with tqdm(runs, unit="run", leave=False) as bar:
        for network, gap, seed in bar:
            bar.set_description(f"{network}, gap {gap}")
            shares[network][gaps.index(gap), seeds.index(seed)], _step = train(network, gap, steps, seed)
    return shares
