"""Measure test accuracy against number of labels, four ways, with the course's own solved exercises.

    python -m benchmarks.labels_and_accuracy            # an hour or more on one core
    python -m benchmarks.labels_and_accuracy --progress # what is there, and what isn't

Each finished run is added to `utils/measured/labels_and_accuracy.json`, and a later start goes on from there. Chapter 07 draws
its figure from that file. One thread, so that a run's seconds are those of one core.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from autograder.sources import answer_with_imports
from autograder.whole_file import written_whole
from utils.assets import asset
from utils.catalogue import find_exercise
from utils.linear_baselines import BAG_PENALTIES, PROBE_PENALTIES, bags, best_on_dev, vocabulary
from utils.reviews import Review, subset, the_split
from utils.word_pieces import in_batches, the_word_pieces

RESULT = Path(__file__).parent.parent / "utils" / "measured" / "labels_and_accuracy.json"
RECIPE = {"epochs": 3, "encoder_lr": 2e-4, "head_lr": 1e-3, "weight_decay": 0.01, "batch": 16, "dropout": 0.1}
SIZES = {"vocab_size": 30_522, "d_model": 384, "n_heads": 12, "n_layers": 6, "d_ff": 1_536}
SEEDS = (0, 1, 2)
Run = tuple[str, int | None, int]  # method, labels (None: all), seed


def plan() -> Iterator[Run]:
    """Give the runs in the order in which partial results are most useful."""
    for labels in (512, 64, 256, 1024):
        yield from (("bag of words", labels, seed) for seed in SEEDS)
    yield ("bag of words", None, 0)
    for labels in (512, 64, 256, 1024):
        for method in ("frozen", "pretrained", "random"):
            yield from ((method, labels, seed) for seed in SEEDS)
    yield from (("frozen", None, 0), ("pretrained", None, 0), ("random", None, 0))
    yield from (("pretrained", None, 1), ("random", None, 1), ("pretrained", None, 2), ("random", None, 2))


@cache
def answers() -> dict:
    """Define the course's own answers: chapter 07's, on chapter 04's attention."""
    namespaces = {}
    for name in ("scaled_dot_product_attention", "MultiHeadAttention", "fine_tune"):
        namespaces[name] = {}
        exec(answer_with_imports(find_exercise(name)), namespaces[name])
    attention, ours = namespaces["MultiHeadAttention"], namespaces["fine_tune"]
    attention["scaled_dot_product_attention"] = namespaces["scaled_dot_product_attention"][
        "scaled_dot_product_attention"
    ]
    ours["MultiHeadAttention"] = attention["MultiHeadAttention"]
    return ours


def encoder(pretrained: bool) -> nn.Module:
    """Build the encoder: with the published weights and its embeddings frozen, or as BERT's training starts."""
    built = answers()["BertEncoder"](**SIZES, dropout=RECIPE["dropout"])
    if pretrained:
        built.load_state_dict(answers()["rename_checkpoint"](load_file(asset("minilm_weights"))))
        for part in (built.tokens, built.positions, built.segments, built.norm):
            part.requires_grad_(False)
        return built
    for part in built.modules():
        if isinstance(part, (nn.Linear, nn.Embedding)):
            nn.init.normal_(part.weight, std=0.02)
        if isinstance(part, nn.Linear):
            nn.init.zeros_(part.bias)
    return built


@torch.no_grad()
def accuracy(model: nn.Module, reviews: Sequence[Review]) -> float:
    """Give the share of reviews that a classifier gets right."""
    model.eval()
    right = [
        model(ids, padding).argmax(-1) == fresh for ids, padding, fresh in in_batches(reviews, 64, the_word_pieces())
    ]
    return torch.cat(right).float().mean().item()


def fine_tuned(pretrained: bool, labels: int | None, seed: int) -> dict:
    """Fine-tune by the recipe and test; embeddings are frozen where they are pretrained."""
    split = the_split()
    torch.manual_seed(seed)
    model = answers()["SequenceClassifier"](encoder(pretrained), 2, dropout=RECIPE["dropout"], pooling="mean")
    chosen = subset(split.train, labels, seed)
    batches = in_batches(chosen, RECIPE["batch"], the_word_pieces(), random.Random(seed))
    rates = {name: RECIPE[name] for name in ("epochs", "encoder_lr", "head_lr", "weight_decay")}
    losses = answers()["fine_tune"](model, batches, **rates)
    last = losses[-len(batches) :]
    return {"steps": len(losses), "last_epoch_loss": sum(last) / len(last), "test": accuracy(model, split.test)}


@cache
def states() -> Callable[[Sequence[Review]], Tensor]:
    """Give a function from reviews to the mean of their states in the frozen encoder, each computed once."""
    frozen, known = encoder(pretrained=True).eval(), {}

    @torch.no_grad()
    def of(reviews: Sequence[Review]) -> Tensor:
        new = sorted((review for review in reviews if review not in known), key=lambda review: len(review.text))
        for start in range(0, len(new), 64):
            group = new[start : start + 64]
            ids, padding = the_word_pieces()([review.text for review in group])
            real = padding.transpose(1, 2)
            known.update(zip(group, (frozen(ids, padding) * real).sum(1) / real.sum(1), strict=True))
        return torch.stack([known[review] for review in reviews])

    return of


def linear(method: str, labels: int | None, seed: int) -> dict:
    """Fit a logistic regression to bags of words, or to frozen states; the penalty is chosen on dev."""
    split = the_split()
    chosen = subset(split.train, labels, seed)
    sides = (chosen, split.dev, split.test)
    if method == "frozen":
        features = [states()(side) for side in sides]
        mean, deviation = features[0].mean(0), features[0].std(0)
        features = [(side - mean) / deviation for side in features]
    else:
        known = vocabulary([review.text for review in chosen])
        features = [bags([review.text for review in side], known) for side in sides]
    fresh = [torch.tensor([int(review.fresh) for review in side]) for side in sides]
    penalties = PROBE_PENALTIES if method == "frozen" else BAG_PENALTIES
    penalty, dev, fit = best_on_dev((features[0], fresh[0]), (features[1], fresh[1]), penalties)
    test = (fit(features[2]) == fresh[2]).float().mean().item()
    return {"features": features[0].shape[1], "penalty": penalty, "dev": dev, "test": test}


def measure(method: str, labels: int | None, seed: int) -> dict:
    """Carry out one run."""
    started = time.process_time()
    if method in ("frozen", "bag of words"):
        found = linear(method, labels, seed)
    else:
        found = fine_tuned(method == "pretrained", labels, seed)
    rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in found.items()}
    count = len(subset(the_split().train, labels, seed))
    about = {"method": method, "labels": count, "all": labels is None, "seed": seed}
    return about | rounded | {"cpu_seconds": round(time.process_time() - started, 1)}


def load() -> dict:
    """Read what has been measured so far."""
    if RESULT.exists():
        return json.loads(RESULT.read_text(encoding="utf-8"))
    return {"recipe": RECIPE, "test_reviews": 1_000, "torch": torch.__version__, "threads": 1, "runs": []}


def save(measured: dict) -> None:
    """Write the file in one move, one run a line."""
    head = {name: value for name, value in measured.items() if name != "runs"}
    lines = ",\n".join("    " + json.dumps(run) for run in measured["runs"])
    text = json.dumps(head, indent=2)[:-2] + f',\n  "runs": [\n{lines}\n  ]\n}}\n'
    with written_whole(RESULT) as stream:
        stream.write(text)


def missing(measured: dict) -> list[Run]:
    """List the runs of the plan that aren't there yet."""
    there = {(run["method"], None if run["all"] else run["labels"], run["seed"]) for run in measured["runs"]}
    return [run for run in plan() if run not in there]


def main() -> None:
    """Go through what is missing, or say what is."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--progress", action="store_true", help="only say what is there and what is missing")
    if parser.parse_args().progress:
        print(f"{len(load()['runs'])} runs are there; missing: {missing(load())}")
        return
    torch.set_num_threads(1)
    RESULT.parent.mkdir(exist_ok=True)
    for run in missing(load()):
        found = measure(*run)
        measured = load()
        measured["runs"].append(found)
        save(measured)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
