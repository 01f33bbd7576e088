"""Record how three translators learn to reverse long random strings: chapter 06 draws what is measured here.

    python benchmarks/reversal.py            # about a quarter of an hour on one core

Writes utils/measured/reversal.json: settings, and for every translator and seed exact match against updates, and against the
length of the string after the last update. The Transformer is the course's own solution.
"""

import json
import random
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from autograder.sources import answer_with_imports
from utils import reversal_task, translation
from utils.catalogue import find_exercise
from utils.recurrent_translators import RecurrentTranslator
from utils.translation import BOS, EOS

TARGET = Path(__file__).parent.parent / "utils" / "measured" / "reversal.json"
LENGTHS, BATCH, STEPS, EVERY, SEEDS, D_MODEL = (12, 20), 64, 1500, 100, (0, 1, 2), 64
LSTM_RATE, NOAM_FACTOR, WARMUP = 3e-3, 0.35, 100
TRANSLATORS = ("LSTM", "LSTM with attention", "Transformer")


def solutions() -> dict[str, Any]:
    """Run the course's own answers of chapter 06, with the sinusoids of chapter 05."""
    namespace, earlier = {"__name__": "solutions"}, {"__name__": "solutions"}
    exec(answer_with_imports(find_exercise("greedy_decode")), namespace)
    exec(answer_with_imports(find_exercise("TransformerEmbedding")), earlier)
    namespace["TransformerEmbedding"] = earlier["TransformerEmbedding"]
    return namespace


def build(name: str, solved: dict[str, Any]) -> nn.Module:
    """Build one of the three, all with the same width."""
    sizes = (reversal_task.VOCABULARY, reversal_task.VOCABULARY)
    if name == "Transformer":
        return solved["Transformer"](*sizes, d_model=D_MODEL, n_heads=4, n_layers=2, d_ff=4 * D_MODEL, dropout=0.0)
    return RecurrentTranslator(*sizes, D_MODEL, attention=name != "LSTM")


def rate_of(name: str, solved: dict[str, Any], step: int) -> float:
    """Give the learning rate: the paper's for the Transformer, a line down to a tenth for LSTMs."""
    if name == "Transformer":
        return NOAM_FACTOR * solved["noam_rate"](step, D_MODEL, WARMUP)
    return LSTM_RATE * min(1, step / 50) * (1 - 0.9 * step / STEPS)


def run(name: str, seed: int, solved: dict[str, Any]) -> dict[str, Any]:
    """Train one translator from one seed, and measure it."""
    torch.manual_seed(seed)
    model = build(name, solved)
    if name == "Transformer":  # LSTMs start as PyTorch makes them
        translation.initialise(model, seed)
    decode = partial(solved["greedy_decode"], bos_id=BOS, eos_id=EOS, max_len=LENGTHS[1] + 1)
    held_out = reversal_task.draw(500, LENGTHS, random.Random(10_001))
    started = time.process_time()
    course = translation.train(
        model,
        solved["label_smoothed_loss"],
        lambda step: rate_of(name, solved, step),
        reversal_task.batches(BATCH, LENGTHS, seed),
        STEPS,
        held_out,
        decode,
        EVERY,
        name=f"{name}, seed {seed}",
    )
    seconds = time.process_time() - started
    by_length = {
        length: translation.exact_match(model, reversal_task.draw(500, (length, length), random.Random(length)), decode)
        for length in range(LENGTHS[0], LENGTHS[1] + 1)
    }
    test = reversal_task.draw(2000, LENGTHS, random.Random(10_002))
    return {
        "seed": seed,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seconds": round(seconds),
        "asked": course.asked,
        "exact": course.exact,
        "test": translation.exact_match(model, test, decode),
        "by_length": by_length,
    }


def main() -> None:
    """Measure everything, and write it down."""
    torch.set_num_threads(1)
    solved = solutions()
    measured: dict[str, Any] = {
        "settings": {
            "lengths": LENGTHS,
            "symbols": reversal_task.SYMBOLS,
            "batch": BATCH,
            "steps": STEPS,
            "d_model": D_MODEL,
            "lstm_rate": LSTM_RATE,
            "noam_factor": NOAM_FACTOR,
            "warmup": WARMUP,
            "torch": torch.__version__,
        },
        "runs": {name: [] for name in TRANSLATORS},
    }
    TARGET.parent.mkdir(exist_ok=True)
    for seed in SEEDS:
        for name in TRANSLATORS:
            measured["runs"][name].append(run(name, seed, solved))
            TARGET.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
            print(name, seed, measured["runs"][name][-1]["test"], flush=True)


if __name__ == "__main__":
    main()
