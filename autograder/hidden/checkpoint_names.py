"""Hidden tests of chapter 07, part 3: a checkpoint's names."""

import re

import torch
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import Unmet, close, expect
from autograder.hidden.randomness import Randomness
from utils.execution import LearnerError
from utils.student import Student

State = dict[str, Tensor]

EMBEDDINGS = {"word_embeddings": "tokens", "position_embeddings": "positions", "token_type_embeddings": "segments"}
PARTS = {
    "attention.self.query": "attention.q_proj",
    "attention.self.key": "attention.k_proj",
    "attention.self.value": "attention.v_proj",
    "attention.output.dense": "attention.out_proj",
    "attention.output.LayerNorm": "norm_1",
    "intermediate.dense": "feed_forward.linear_1",
    "output.dense": "feed_forward.linear_2",
    "output.LayerNorm": "norm_2",
}
KINDS = ("weight", "bias")
LONGEST = 2000  # of a longer message, the grader sees only the start
CUT = "(cut)"
SIDE = ("pooler.dense.weight", "pooler.dense.bias", "cls.predictions.transform.dense.weight", "cls.seq_relationship.bias", "embeddings.position_ids")  # fmt: skip


def _new_names(n_layers: int) -> dict[str, str]:
    """Give published name → contract's name."""
    names = {f"embeddings.{old}.weight": f"{new}.weight" for old, new in EMBEDDINGS.items()}
    names |= {f"embeddings.LayerNorm.{kind}": f"norm.{kind}" for kind in KINDS}
    for n in range(n_layers):
        for old, new in PARTS.items():
            names |= {f"encoder.layer.{n}.{old}.{kind}": f"layers.{n}.{new}.{kind}" for kind in KINDS}
    return names


def _published(rng: Randomness, n_layers: int, prefix: str = "", side: bool = False) -> tuple[State, State]:
    """Draw a checkpoint, in no particular order, and what it becomes."""
    names = list(_new_names(n_layers).items())
    height, width = rng.sizes(2)
    given, wanted = {}, {}
    for place in rng.order(len(names)).tolist():
        old, new = names[place]
        is_matrix = old.endswith("weight") and "LayerNorm" not in old
        value = rng.normal(height, width) if is_matrix else rng.normal(width)
        given[prefix + old], wanted[new] = value, value
    if side:  # some in front, some behind; what belongs to pretraining never has the prefix
        named = {name if name.startswith("cls.") else prefix + name: rng.normal(3) for name in SIDE}
        given = {prefix + SIDE[0]: rng.normal(3), **given, **named}
    return given, wanted


def _renamed(student: Student, given: State) -> State:
    found = student.rename_checkpoint(given)
    expect(not student.changed, "the dict that was given has changed, or a tensor in it")
    expect(isinstance(found, dict), "not a dict: the result")
    return found


def _same(found: State, wanted: State) -> None:
    expect(set(found) == set(wanted), "the names of the result aren't those of BertEncoder's parameters")
    for name, value in wanted.items():
        close(found[name], value, "a parameter under its new name", rtol=0.0, atol=0.0)


def _complaint(student: Student, given: State) -> set[str]:
    """Expect a KeyError; give the names in its message, without `bert.`."""
    try:
        student.rename_checkpoint(given)
    except LearnerError as error:
        if "NotImplementedError" in error.bases:
            raise
        expect("KeyError" in error.bases, "another error than KeyError is raised")
        words = {word.strip(".").removeprefix("bert.") for word in re.findall(r"[\w.]+", error.message)}
        return words | {CUT} if len(error.message) >= LONGEST else words
    raise Unmet("KeyError should be raised and isn't")


@hidden("rename_checkpoint", weight=3)
def names_become_the_encoders(student: Student, rng: Randomness) -> None:
    """Every parameter comes out under its new name with its own values, whatever the order, for any number of layers."""
    for n_layers in (1, 2, 6, 12):
        given, wanted = _published(rng, n_layers)
        _same(_renamed(student, given), wanted)


@hidden("rename_checkpoint", weight=2)
def the_prefix_is_dropped(student: Student, rng: Randomness) -> None:
    """A leading "bert." is dropped."""
    given, wanted = _published(rng, rng.integer(1, 4), "bert.")
    _same(_renamed(student, given), wanted)


@hidden("rename_checkpoint", weight=2)
def what_the_encoder_lacks_is_left_out(student: Student, rng: Randomness) -> None:
    """pooler.*, cls.* and embeddings.position_ids are left out, with "bert." in front or without."""
    for prefix in ("", "bert."):
        given, wanted = _published(rng, 2, prefix, side=True)
        _same(_renamed(student, given), wanted)


@hidden("rename_checkpoint", weight=2)
def unknown_names_are_listed(student: Student, rng: Randomness) -> None:
    """Unknown names, in embeddings, layers or elsewhere, give one KeyError that lists all of them."""
    for prefix in ("", "bert."):
        given, wanted = _published(rng, 2, prefix, side=True)
        unknown = ["embeddings.LayerNorm.beta", "encoder.layer.0.attention.self.query.scale", "encoder.layer.1.crossattention.self.key.weight"]  # fmt: skip
        unknown += [
            "qa_outputs.weight",
            "embeddings.word_embeddings.bias",
            "embeddings.position_ids_2",
            "encoder.pooler.bias",
        ]
        _same(_renamed(student, given), wanted)
        listed = _complaint(student, given | {prefix + name: rng.normal(3) for name in unknown})
        expect(set(unknown) <= listed, "the message doesn't list all unknown names")


@hidden("rename_checkpoint", weight=2)
def missing_names_are_listed(student: Student, rng: Randomness) -> None:
    """Missing names give one KeyError that lists all of them, up to the highest layer that is there; whole layers too."""
    n_layers = 4
    names = _new_names(n_layers)
    given, wanted = _published(rng, n_layers)
    _same(_renamed(student, given), wanted)
    chosen = [list(names)[place] for place in rng.order(len(names))[:5].tolist()]
    middle = [name for name in names if re.match(r"encoder\.layer\.[12]\.", name)]
    for gone in (chosen, middle, list(names)[:5]):
        left = {name: value for name, value in given.items() if name not in gone}
        listed = _complaint(student, left)
        complete = all({name, names[name]} & listed for name in gone)
        expect(complete or CUT in listed, "the message doesn't list all missing names")


@hidden("rename_checkpoint")
def unknown_and_missing_at_once(student: Student, rng: Randomness) -> None:
    """Unknown and missing names are listed together."""
    given, wanted = _published(rng, 2)
    _same(_renamed(student, given), wanted)
    names = _new_names(2)
    gone = "encoder.layer.1.intermediate.dense.bias"
    unknown = ["encoder.layer.2.adapter.down.weight", "encoder.layer.1.intermediate.dense.offset"]
    state = {name: value for name, value in given.items() if name != gone} | {name: rng.normal(3) for name in unknown}
    listed = _complaint(student, state)
    expect(set(unknown) <= listed, "the message doesn't list all unknown names")
    expect(bool({gone, names[gone]} & listed), "the message doesn't list the missing name")


@hidden("rename_checkpoint")
def the_dict_stays_as_it_was(student: Student, rng: Randomness) -> None:
    """The given dict and its tensors stay as they were, also where it is refused; dtypes are kept."""
    given, wanted = _published(rng, 2, "bert.", side=True)
    given = {name: value.to(torch.float32) for name, value in given.items()}
    _same(_renamed(student, given), {name: value.to(torch.float32) for name, value in wanted.items()})
