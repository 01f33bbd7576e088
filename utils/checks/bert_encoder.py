"""What the visible checks of chapter 07 look at, part 2: the encoder, and a checkpoint's names.

Sizes are pairwise different (but for B = number of layers) and none is the square of another. All weights are one row of
numbers, cut up by the contract's names.
"""

import re
from math import prod

import torch
from torch import Tensor

from utils.execution import LearnerError
from utils.probes import Numbers, error_of, probe
from utils.student import HeldObject, Student

VOCABULARY, D_MODEL, HEADS, D_FF, MAX_LEN = 13, 18, 3, 26, 7
Shapes = dict[str, tuple[int, ...]]

IDS = torch.tensor([[3, 7, 1, 12, 7], [3, 5, 9, 0, 0]])
PADDING = torch.tensor([[[1, 1, 1, 1, 1]], [[1, 1, 1, 0, 0]]]).bool()
SEGMENTS = torch.tensor([[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]])


def _shapes(n_layers: int, max_len: int = MAX_LEN, n_segments: int = 2) -> Shapes:
    d = D_MODEL
    shapes: Shapes = {"tokens.weight": (VOCABULARY, d), "positions.weight": (max_len, d)}
    shapes |= {"segments.weight": (n_segments, d), "norm.weight": (d,), "norm.bias": (d,)}
    for n in range(n_layers):
        linear = {f"attention.{name}": (d, d) for name in ("q_proj", "k_proj", "v_proj", "out_proj")}
        linear |= {"feed_forward.linear_1": (D_FF, d), "feed_forward.linear_2": (d, D_FF)}
        for name, shape in linear.items():
            shapes |= {f"layers.{n}.{name}.weight": shape, f"layers.{n}.{name}.bias": shape[:1]}
        for norm in ("norm_1", "norm_2"):
            shapes |= {f"layers.{n}.{norm}.weight": (d,), f"layers.{n}.{norm}.bias": (d,)}
    return shapes


LAYERS = 2
NUMBERS = Numbers("BertEncoder/weights").normal(sum(prod(shape) for shape in _shapes(LAYERS).values()))


def _state(w: Tensor, n_layers: int = LAYERS, **small: float) -> dict[str, Tensor]:
    """Cut weights from a row of numbers; matrices are divided by the root of their width, `small` scales some by name."""
    state, start = {}, 0
    for name, shape in _shapes(n_layers).items():
        part = w[start : start + prod(shape)].reshape(shape)
        start += prod(shape)
        if "proj" in name or "linear" in name:
            part = part * (1.6 / D_MODEL**0.5 if len(shape) == 2 else 0.5)
        if "norm" in name and name.endswith("weight"):
            part = 1 + 0.3 * part
        for key, factor in small.items():
            if key in name.split("."):
                part = part * factor
        state[name] = part
    return state


def _built(student: Student, w: Tensor, n_layers: int = LAYERS, dropout: float = 0.1, **small: float) -> HeldObject:
    """Build the learner's encoder with these weights, in eval mode."""
    encoder = student.BertEncoder(VOCABULARY, D_MODEL, HEADS, n_layers, D_FF, MAX_LEN, 2, dropout)
    if w.dtype == torch.float64:
        encoder.to("float64")
    return encoder.load(_state(w, n_layers, **small)).eval()


# BertEncoder


@probe("BertEncoder", "one layer: embeddings, attention and feed-forward network follow the formulas", axes=("position", "feature"), w=NUMBERS, ids=IDS)  # fmt: skip
def one_layer(student: Student, w: Tensor, ids: Tensor) -> object:
    return _built(student, w, 1)(ids)


@probe("BertEncoder", "two layers, one after the other, each with its own weights", axes=("position", "feature"), w=NUMBERS, ids=IDS)  # fmt: skip
def two_layers(student: Student, w: Tensor, ids: Tensor) -> object:
    return _built(student, w)(ids)


@probe(
    "BertEncoder",
    "the network between the norms has a GELU, the exact one",
    rtol=1e-6,
    atol=1e-7,
    w=NUMBERS.double(),
    ids=IDS,
)
def exact_gelu(student: Student, w: Tensor, ids: Tensor) -> object:
    return _built(student, w, 1, linear_1=2.5)(ids)


@probe(
    "BertEncoder",
    "every norm has eps 1e-12, so that small numbers are normalised too",
    labels=("small embeddings", "small numbers before norm_1", "small numbers before norm_2"),
    w=NUMBERS,
    ids=IDS,
)
def small_numbers(student: Student, w: Tensor, ids: Tensor) -> object:
    tiny = 1e-3
    embeddings = {"tokens": tiny, "positions": tiny, "segments": tiny}
    return (
        _built(student, w, 1, **embeddings)(ids),
        _built(student, w, 1, norm=tiny, out_proj=tiny)(ids),
        _built(student, w, 1, norm_1=tiny, linear_2=tiny)(ids),
    )


@probe("BertEncoder", "segments that are given are looked up and added", axes=("position", "feature"), w=NUMBERS, ids=IDS, segments=SEGMENTS)  # fmt: skip
def given_segments(student: Student, w: Tensor, ids: Tensor, segments: Tensor) -> object:
    return _built(student, w, 1)(ids, None, segments)


@probe("BertEncoder", "without segments, all tokens belong to segment 0, whose vector is added", w=NUMBERS, ids=IDS)
def no_segments(student: Student, w: Tensor, ids: Tensor) -> object:
    encoder = _built(student, w, 1)
    return {
        "no segments and segments of zeros give the same": bool(
            torch.allclose(encoder(ids), encoder(ids, None, torch.zeros_like(ids)), atol=1e-5)
        ),
        "segments of ones give something else": not torch.allclose(
            encoder(ids), encoder(ids, None, torch.ones_like(ids)), atol=1e-3
        ),
    }


@probe(
    "BertEncoder",
    "padding hides tokens: real tokens come out as if the sentence stood alone",
    labels=("full sentence", "real tokens of the padded one"),
    w=NUMBERS,
    ids=IDS,
    padding=PADDING,
)
def padded(student: Student, w: Tensor, ids: Tensor, padding: Tensor) -> object:
    output = _built(student, w)(ids, padding)
    return output[0], output[1, :3]


@probe("BertEncoder", "what stands in the padding changes nothing at real tokens", w=NUMBERS, ids=IDS, padding=PADDING)
def content_of_padding(student: Student, w: Tensor, ids: Tensor, padding: Tensor) -> object:
    encoder = _built(student, w)
    other = ids.masked_fill(~padding[:, 0], 11)
    outputs = [encoder(given, padding, SEGMENTS)[1, :3] for given in (ids, other)]
    alone = encoder(ids[1:, :3], None, SEGMENTS[1:, :3])[0]
    return {
        "another padding token changes nothing": bool(torch.allclose(*outputs, atol=1e-5)),
        "alone, the sentence gives the same": bool(torch.allclose(outputs[0], alone, atol=1e-4)),
    }


@probe("BertEncoder", "a sentence of nothing but padding gives no NaN, forward or backward", w=NUMBERS, ids=IDS)
def only_padding(student: Student, w: Tensor, ids: Tensor) -> object:
    encoder = _built(student, w, 1)
    padding = torch.tensor([[[1, 1, 1, 1, 1]], [[0, 0, 0, 0, 0]]]).bool()
    output = encoder(ids, padding)
    encoder.zero_grad()
    if output.requires_grad:
        output[0].sum().backward()
    return {
        "the other sentence": output[0],
        "no NaN forward": bool(output.isfinite().all()),
        "no NaN backward": all(bool(gradient.isfinite().all()) for gradient in encoder.gradients().values()),
    }


@probe("BertEncoder", "T up to max_len works, and more is refused with a ValueError", w=NUMBERS)
def lengths(student: Student, w: Tensor) -> object:
    encoder = _built(student, w, 1)
    longest = encoder(torch.arange(2 * MAX_LEN).reshape(2, MAX_LEN) % VOCABULARY)
    return {
        "T = max_len": longest,
        "T = max_len + 1": error_of(lambda: encoder(torch.zeros(2, MAX_LEN + 1, dtype=torch.int64))),
        "T = 2 · max_len": error_of(lambda: encoder(torch.zeros(1, 2 * MAX_LEN, dtype=torch.int64))),
    }


@probe("BertEncoder", "one sentence, one token", w=NUMBERS)
def one_token(student: Student, w: Tensor) -> object:
    return _built(student, w)(torch.tensor([[5]]), torch.tensor([[[True]]]))


def _listed(parameters: dict[str, Tensor], chosen: str) -> str:
    names = sorted(name for name in parameters if re.match(chosen, name))
    return ", ".join(f"{name} {tuple(parameters[name].shape)}" for name in names) or "none"


@probe("BertEncoder", "parameters have the contract's names and shapes, and d_model is an attribute")
def names_and_shapes(student: Student) -> object:
    encoder = student.BertEncoder(VOCABULARY, D_MODEL, HEADS, 3, D_FF, max_len=11, n_segments=5)
    found = encoder.parameters()
    try:
        width = encoder.attribute("d_model")
    except LearnerError:
        width = "missing"
    return {
        "embeddings": _listed(found, r"(?!layers\.)"),
        "a layer": _listed(found, r"layers\.1\."),
        "layers": ", ".join(sorted({name.split(".")[1] for name in found if name.startswith("layers.")})),
        "d_model": width,
    }


@probe("BertEncoder", "max_len is 512 and there are 2 segments where nothing else is asked for")
def defaults(student: Student) -> object:
    found = student.BertEncoder(VOCABULARY, D_MODEL, HEADS, 1, D_FF).parameters()
    return {name: _listed(found, name) for name in ("positions", "segments")}


@probe("BertEncoder", "dropout works in train mode, and is off in eval mode and at rate 0", w=NUMBERS, ids=IDS)
def dropout(student: Student, w: Tensor, ids: Tensor) -> object:
    student.seed(1)
    still = _built(student, w, dropout=0.0)
    reference = still(ids)
    encoder = _built(student, w, dropout=0.3)
    resting = encoder(ids)
    busy = [encoder.train()(ids) for _ in range(2)]
    default = student.BertEncoder(VOCABULARY, D_MODEL, HEADS, LAYERS, D_FF, MAX_LEN).load(_state(w)).train()
    return {
        "eval mode": resting,
        "in train mode two calls differ": not torch.allclose(*busy, atol=1e-4),
        "in train mode numbers stay finite": bool(torch.stack(busy).isfinite().all()),
        "at rate 0 train mode gives what eval mode gives": bool(
            torch.allclose(still.train()(ids), reference, atol=1e-5)
        ),
        "by default something is dropped": not torch.allclose(default(ids), default(ids), atol=1e-4),
    }


@probe("BertEncoder", "keeps float64", w=NUMBERS.double(), ids=IDS, padding=PADDING)
def double_precision(student: Student, w: Tensor, ids: Tensor, padding: Tensor) -> object:
    return _built(student, w, 1)(ids, padding)[:, :3]


@probe("BertEncoder", "gradients reach every parameter", w=NUMBERS, ids=IDS, padding=PADDING)
def trainable(student: Student, w: Tensor, ids: Tensor, padding: Tensor) -> object:
    encoder = _built(student, w)
    output = encoder(ids, padding)
    encoder.zero_grad()
    if output.requires_grad:
        (output * torch.linspace(-1, 1, output.numel()).reshape(output.shape))[0].sum().backward()
    reached = encoder.gradients()
    missed = sorted(name for name in _shapes(LAYERS) if name not in reached)
    return {"parameters without a gradient": ", ".join(missed) or "none"}


# rename_checkpoint

PARTS = {
    "attention.self.query": (3, 5),
    "attention.self.key": (3, 5),
    "attention.self.value": (3, 5),
    "attention.output.dense": (3, 5),
    "attention.output.LayerNorm": (5,),
    "intermediate.dense": (7, 5),
    "output.dense": (5, 7),
    "output.LayerNorm": (5,),
}


def published(n_layers: int, prefix: str = "") -> dict[str, Tensor]:
    """Make a small published checkpoint: every tensor is filled with a number of its own, matrices aren't square."""
    shapes: Shapes = {f"embeddings.{name}_embeddings.weight": (n, 5) for name, n in (("word", 11), ("position", 7), ("token_type", 2))}  # fmt: skip
    shapes |= {"embeddings.LayerNorm.weight": (5,), "embeddings.LayerNorm.bias": (5,)}
    for n in range(n_layers):
        for part, shape in PARTS.items():
            shapes |= {f"encoder.layer.{n}.{part}.weight": shape, f"encoder.layer.{n}.{part}.bias": shape[:1]}
    return {
        prefix + name: i + torch.arange(prod(shape)).reshape(shape) / 100.0
        for i, (name, shape) in enumerate(shapes.items())
    }


def _mentioned(call: object) -> tuple[str, set[str]]:
    """Run a call; give the kind of error, and the names in its message."""
    try:
        call()  # type: ignore[operator]
    except LearnerError as error:
        if error.type_name == "NotImplementedError":
            raise
        kind = "KeyError" if "KeyError" in error.bases else error.type_name
        return kind, {word.strip(".") for word in re.findall(r"[\w.]+", error.message)}
    return "no error", set()


def _names(old: str, new: str = "") -> set[str]:
    return {old, f"bert.{old}"} | ({new} if new else set())


def _told(student: Student, state: dict[str, Tensor], *names: set[str]) -> dict[str, object]:
    kind, words = _mentioned(lambda: student.rename_checkpoint(state))
    return {"error": kind, "names that are listed": sum(bool(words & alternatives) for alternatives in names)}


@probe("rename_checkpoint", "names become those of BertEncoder, each with its own values")
def renamed(student: Student) -> object:
    return student.rename_checkpoint(published(1))


@probe("rename_checkpoint", "any number of layers: 12 of them, and layer 10 isn't layer 1")
def many_layers(student: Student) -> object:
    found = student.rename_checkpoint(published(12))
    probes = [
        f"layers.{n}.{part}" for n in (0, 1, 9, 10, 11) for part in ("norm_2.bias", "feed_forward.linear_1.weight")
    ]
    return {"how many": len(found)} | {name: found.get(name) for name in probes}


@probe("rename_checkpoint", "a leading `bert.` is dropped")
def with_prefix(student: Student) -> object:
    return student.rename_checkpoint(published(1, "bert."))


@probe("rename_checkpoint", "pooler, cls and embeddings.position_ids are left out, with `bert.` or without")
def left_out(student: Student) -> object:
    extra = {"pooler.dense.weight": torch.ones(5, 5), "pooler.dense.bias": torch.ones(5), "embeddings.position_ids": torch.arange(7)}  # fmt: skip
    heads = {"cls.predictions.bias": torch.ones(11), "cls.seq_relationship.weight": torch.ones(2, 5)}
    plain = student.rename_checkpoint(extra | published(1) | heads)
    prefixed = {f"bert.{name}": value for name, value in extra.items()}
    return {"without": ", ".join(sorted(plain)), "with": ", ".join(sorted(student.rename_checkpoint(prefixed | published(1, "bert.") | heads)))}  # fmt: skip


@probe("rename_checkpoint", "all unknown names are listed in one KeyError")
def unknown_names(student: Student) -> object:
    unknown = ["embeddings.LayerNorm.gamma", "encoder.layer.1.attention.self.query.scale", "classifier.weight", "embeddings.position_ids_2.weight"]  # fmt: skip
    state = published(2) | {name: torch.ones(3) for name in unknown}
    return _told(student, state, *(_names(name) for name in unknown))


@probe("rename_checkpoint", "all missing names are listed in one KeyError")
def missing_names(student: Student) -> object:
    gone = {
        "embeddings.token_type_embeddings.weight": "segments.weight",
        "embeddings.LayerNorm.bias": "norm.bias",
        "encoder.layer.0.attention.output.dense.bias": "layers.0.attention.out_proj.bias",
        "encoder.layer.1.output.LayerNorm.weight": "layers.1.norm_2.weight",
    }
    state = {name: value for name, value in published(2).items() if name not in gone}
    return _told(student, state, *(_names(old, new) for old, new in gone.items()))


@probe("rename_checkpoint", "layers that are missing in the middle are noticed")
def layer_gap(student: Student) -> object:
    state = {name: value for name, value in published(4).items() if ".layer.1." not in name and ".layer.2." not in name}
    norm = ("encoder.layer.1.output.LayerNorm.weight", "layers.1.norm_2.weight")
    query = ("encoder.layer.2.attention.self.query.bias", "layers.2.attention.q_proj.bias")
    far = {name: v for name, v in published(11).items() if ".layer." not in name or re.search(r"r\.(0|10)\.", name)}
    kind, words = _mentioned(lambda: student.rename_checkpoint(far))
    there = _names("encoder.layer.10.output.dense.bias", "layers.10.feed_forward.linear_2.bias")
    return _told(student, state, _names(*norm), _names(*query)) | {
        "the error with layers 0 and 10 only": kind,
        "layer 10, which is there, is listed": bool(words & there),
    }


@probe("rename_checkpoint", "unknown and missing names are listed together")
def both(student: Student) -> object:
    state = published(1)
    state["embeddings.word_embedding.weight"] = state.pop("embeddings.word_embeddings.weight")
    state["encoder.layer.1.mystery.weight"] = torch.ones(3)
    kind, words = _mentioned(lambda: student.rename_checkpoint(state))
    return {
        "error": kind,
        "the unknown names are listed": {"embeddings.word_embedding.weight", "encoder.layer.1.mystery.weight"}
        <= {word.removeprefix("bert.") for word in words},
        "the missing name is listed": bool(words & _names("embeddings.word_embeddings.weight", "tokens.weight")),
    }  # fmt: skip


@probe("rename_checkpoint", "the dict that was given stays as it was, and values aren't changed")
def twice(student: Student) -> object:
    state = published(1, "bert.") | {"cls.predictions.bias": torch.ones(11)}
    found = student.rename_checkpoint(state)
    same = [torch.equal(found[new], state[old]) for new, old in (("tokens.weight", "bert.embeddings.word_embeddings.weight"), ("layers.0.feed_forward.linear_2.weight", "bert.encoder.layer.0.output.dense.weight")) if new in found]  # fmt: skip
    return {"values are the same": same == [True, True]}
