"""Pretrain a small encoder by masked words on film reviews, four times through, and see whether that helps with few labels.

    python -m benchmarks.masked_words_on_reviews        # some minutes on one core

What comes out is written to `utils/measured/masked_words_on_reviews.json`; chapter 07 shows it beside the small language that
a smaller effort masters. The course's own solved exercises do the work. One thread, so seconds are those of one core.
"""

import copy
import json
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.labels_and_accuracy import answers
from utils.linear_baselines import BAG_PENALTIES, bags, best_on_dev, vocabulary
from utils.masked_word_training import MaskedWordModel, rate_at, set_fresh_weights
from utils.reviews import Review, subset, the_split
from utils.word_pieces import MAX_LEN, the_word_pieces

RESULT = Path(__file__).parent.parent / "utils" / "measured" / "masked_words_on_reviews.json"
SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
VOCABULARY, STEPS, BATCH, EVERY, RATE = 4_000, 980, 64, 70, 1.5e-3
SIZES = {"d_model": 128, "n_heads": 4, "n_layers": 2, "d_ff": 512, "max_len": MAX_LEN, "dropout": 0.1}
LABELS, SEEDS = (128, 512), (0, 1, 2)
FINE_TUNING = {"epochs": 5, "encoder_lr": 5e-4, "head_lr": 1e-3}


def training_sentences() -> list[str]:
    """Give the reviews of the training films, and the sentences of their plots."""
    split = the_split()
    plots = [sentence for plot in split.plots for sentence in re.split(r"(?<=[.!?])\s+", plot)]
    return [review.text for review in split.train] + [sentence for sentence in plots if len(sentence.split()) > 4]


class Pieces:
    """The most frequent word pieces of the training films' texts, numbered; all others are [UNK]."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = Counter(piece for text in texts for piece in self.cut(text)[1:-1])
        self.distinct = len(counts)
        kept = [piece for piece, _count in counts.most_common(VOCABULARY - len(SPECIAL))]
        self.names = [*SPECIAL, *kept]
        self.ids = {piece: number for number, piece in enumerate(self.names)}

    @staticmethod
    def cut(text: str) -> list[str]:
        """Cut a text into pieces, with [CLS] and [SEP]."""
        return the_word_pieces().tokens(text)

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Give ids (B, T), padded with 0."""
        rows = [torch.tensor([self.ids.get(piece, 3) for piece in self.cut(text)]) for text in texts]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def cropped(ids: Tensor) -> Tensor:
    """Cut off columns that are nothing but padding."""
    return ids[:, : int((ids != 0).sum(1).max())]


def padding_of(ids: Tensor) -> Tensor:
    """Give (B, 1, T), True at real tokens."""
    return (ids != 0).unsqueeze(1)


def hidden_for_test(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Hide 15 % of the words, all of them behind [MASK], always the same ones: inputs and labels (B, T)."""
    chosen = (torch.rand(ids.shape, generator=torch.Generator().manual_seed(9)) < 0.15) & (ids >= len(SPECIAL))
    return torch.where(chosen, SPECIAL.index("[MASK]"), ids), torch.where(chosen, ids, -100)


@torch.no_grad()
def guessing(model: nn.Module, inputs: Tensor, labels: Tensor) -> dict[str, float]:
    """Give loss, accuracy and the share of words that are among the five best guesses."""
    model.eval()
    logits, targets = [], []
    for rows in range(0, len(inputs), 100):
        ids, truth = cropped(inputs[rows : rows + 100]), labels[rows : rows + 100]
        truth = truth[:, : ids.shape[1]]
        logits.append(model(ids, padding_of(ids))[truth != -100])
        targets.append(truth[truth != -100])
    logits, targets = torch.cat(logits), torch.cat(targets)
    model.train()
    return {
        "loss": nn.functional.cross_entropy(logits, targets).item(),
        "accuracy": (logits.argmax(-1) == targets).double().mean().item(),
        "top_5": (logits.topk(5).indices == targets[:, None]).any(1).double().mean().item(),
        "words": len(targets),
    }


def frequencies(corpus: Tensor) -> Tensor:
    """Give the share of every piece among the words of the corpus: (V,), none of them 0."""
    counts = torch.bincount(corpus.flatten(), minlength=VOCABULARY) + 0.5
    counts[: len(SPECIAL)] = 0.5
    return counts / counts.sum()


def always_the_most_frequent(corpus: Tensor, labels: Tensor, names: Sequence[str]) -> dict[str, object]:
    """Give what counting alone reaches: loss by frequency, and the accuracy of always guessing the commonest piece."""
    shares, targets = frequencies(corpus), labels[labels != -100]
    best = int(shares.argmax())
    accuracy = (targets == best).double().mean().item()
    return {"loss": -shares[targets].log().mean().item(), "accuracy": accuracy, "guess": names[best]}


def pretrain(corpus: Tensor, held_out: tuple[Tensor, Tensor]) -> tuple[nn.Module, list[dict]]:
    """Train the masked-word model; give it, and what it guessed at every few steps."""
    torch.manual_seed(0)
    encoder = answers()["BertEncoder"](VOCABULARY, **SIZES)
    set_fresh_weights(encoder, seed=0)
    model, generator = MaskedWordModel(encoder), torch.Generator().manual_seed(0)
    with torch.no_grad():
        model.bias.copy_(frequencies(corpus).log())  # counting is for free: training starts from it
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    lengths, curve, used, seen = (corpus != 0).sum(1), [], 0.0, 0
    tokens = int(lengths.sum())
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            found = {"step": step, "cpu_seconds": round(used, 1), "epochs": round(seen / tokens, 2)}
            curve.append(found | guessing(model, *held_out))
            print(curve[-1], flush=True)
        if step == STEPS:
            break
        started = time.process_time()
        drawn = torch.randperm(len(corpus), generator=generator)[: 4 * BATCH]
        quarter = int(torch.randint(4, (1,), generator=generator)) * BATCH  # texts of about one length make a batch
        ids = cropped(corpus[drawn[lengths[drawn].argsort()][quarter : quarter + BATCH]])
        seen += int((ids != 0).sum())
        special = ids < len(SPECIAL)
        inputs, labels = answers()["mask_tokens"](ids, special, 4, VOCABULARY, 0.15, generator)
        loss = answers()["mlm_loss"](model(inputs, padding_of(ids)), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = rate_at(step, STEPS, RATE)
        optimizer.step()
        used += time.process_time() - started
    return model, curve


def in_batches(reviews: Sequence[Review], pieces: Pieces, size: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Give (ids, padding, labels), `size` reviews each."""
    groups = [reviews[start : start + size] for start in range(0, len(reviews), size)]
    ids = [pieces([review.text for review in group]) for group in groups]
    fresh = [torch.tensor([int(review.fresh) for review in group]) for group in groups]
    return [(batch, padding_of(batch), labels) for batch, labels in zip(ids, fresh, strict=True)]


def fine_tuned(pretrained: nn.Module | None, labels: int, seed: int, pieces: Pieces) -> float:
    """Fine-tune from the pretrained encoder, or from fresh weights, and give the accuracy on the test reviews."""
    torch.manual_seed(100 + seed)
    if pretrained is None:
        encoder = answers()["BertEncoder"](VOCABULARY, **SIZES)
        set_fresh_weights(encoder, seed=100 + seed)
    else:
        encoder = copy.deepcopy(pretrained)
    model = answers()["SequenceClassifier"](encoder, 2, pooling="mean")
    batches = in_batches(subset(the_split().train, labels, seed), pieces, 16)
    random.Random(seed).shuffle(batches)
    answers()["fine_tune"](model, batches, **FINE_TUNING)
    model.eval()
    with torch.no_grad():
        right = [
            model(ids, padding).argmax(-1) == fresh for ids, padding, fresh in in_batches(the_split().test, pieces, 100)
        ]
    return torch.cat(right).double().mean().item()


def bag_of_words(labels: int, seed: int) -> float:
    """Fit the linear baseline that knows no order and nothing beforehand; its penalty is chosen on dev."""
    split = the_split()
    chosen = subset(split.train, labels, seed)
    known = vocabulary([review.text for review in chosen])
    sides = [
        (bags([review.text for review in side], known), torch.tensor([int(review.fresh) for review in side]))
        for side in (chosen, split.dev, split.test)
    ]
    _penalty, _dev, fit = best_on_dev(sides[0], sides[1], BAG_PENALTIES)
    return (fit(sides[2][0]) == sides[2][1]).double().mean().item()


def main() -> None:
    """Measure everything, and write it down."""
    torch.set_num_threads(1)
    sentences = training_sentences()
    pieces = Pieces(sentences)
    corpus = pieces(sentences)
    held_out = hidden_for_test(pieces([review.text for review in the_split().test]))
    model, curve = pretrain(corpus, held_out)
    ways = {
        "masked words first": lambda labels, seed: fine_tuned(model.encoder, labels, seed, pieces),
        "from scratch": lambda labels, seed: fine_tuned(None, labels, seed, pieces),
        "bag of words": bag_of_words,
    }
    accuracy = {way: {str(n): [round(run(n, seed), 4) for seed in SEEDS] for n in LABELS} for way, run in ways.items()}
    unknown = (corpus == SPECIAL.index("[UNK]")).sum() / (corpus != 0).sum()
    measured = {
        "sentences": len(corpus),
        "tokens": int((corpus != 0).sum()),
        "distinct_pieces": pieces.distinct,
        "vocabulary": VOCABULARY,
        "unknown_share": round(unknown.item(), 4),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": STEPS,
        "batch": BATCH,
        "torch": torch.__version__,
        "threads": 1,
        "counting": always_the_most_frequent(corpus, held_out[1], pieces.names),
        "curve": curve,
        "test_accuracy": accuracy,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
