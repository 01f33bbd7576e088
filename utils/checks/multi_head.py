"""What the visible checks of chapter 04 look at.

Sizes are pairwise different and none is the square of another (except where a mask is tried with B = H); weights are
inputs, scores aren't saturated.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from utils.probes import Numbers, error_of, gradients, probe
from utils.student import HeldObject, Student

LAYERS = ("q_proj", "k_proj", "v_proj", "out_proj")
BOTH = ("output", "weights")
D_MODEL, HEADS = 18, 3


def _matrices(n: Numbers) -> Tensor:
    """Four square weights, small enough that no score saturates: (4, d_model, d_model)."""
    return n.normal(4, D_MODEL, D_MODEL) / D_MODEL**0.5


def _biases(n: Numbers) -> Tensor:
    return n.normal(4, D_MODEL)


def _state(w: Tensor, b: Tensor | None) -> dict[str, Tensor]:
    weights = {f"{layer}.weight": matrix for layer, matrix in zip(LAYERS, w, strict=True)}
    return weights | ({} if b is None else {f"{layer}.bias": row for layer, row in zip(LAYERS, b, strict=True)})


def _built(student: Student, w: Tensor, b: Tensor | None, **options: float) -> HeldObject:
    """Build the learner's module with these weights, in eval mode."""
    more = {**options, **({"bias": False} if b is None else {})}
    return student.MultiHeadAttention(D_MODEL, HEADS, **more).load(_state(w, b)).eval()


def _hosted(student: Student, w: Tensor, b: Tensor | None) -> HeldObject:
    """Build the course's own module with these weights, in eval mode, for exercises that take one."""
    return student.host("multi_head_attention", D_MODEL, HEADS, bias=b is not None).load(_state(w, b)).eval()


def _unchanged(module: HeldObject, state: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, state[name]) for name, value in module.parameters().items())


def _outcome(call: Callable[[], object]) -> str:
    """Observe the error that a call raises, or what it gives instead."""
    given: list[object] = []
    error = error_of(lambda: given.append(call()))
    return (
        error if error != "no error" else f"no error, but {'a tensor' if isinstance(given[0], Tensor) else 'a value'}"
    )


# split_heads


@probe(
    "split_heads",
    "every head holds all words, and of each word its own block of neighbouring features",
    axes=("word", "feature"),
    x=torch.arange(2)[:, None, None] * 10.0 + torch.arange(5)[:, None] + torch.arange(18) / 100,
)
def blocks_of_features(student: Student, x: Tensor) -> object:
    return student.split_heads(x, 3)


@probe(
    "split_heads",
    "one head, and as many heads as features, work too",
    labels=("one head", "7 heads of width 1"),
    x=lambda n: n.normal(2, 3, 7),
)
def extremes(student: Student, x: Tensor) -> object:
    return student.split_heads(x, 1), student.split_heads(x, 7)


@probe("split_heads", "works for one word of one sentence", x=lambda n: n.normal(1, 1, 15))
def one_word(student: Student, x: Tensor) -> object:
    return student.split_heads(x, 3)


@probe("split_heads", "works on a tensor that isn't contiguous in memory", x=lambda n: n.normal(5, 2, 12))
def split_transposed(student: Student, x: Tensor) -> object:
    return student.split_heads(x.transpose(0, 1), 3)


@probe(
    "split_heads",
    "a width that can't be shared out evenly is refused with a ValueError",
    labels=("7 features, 3 heads", "4 features, 8 heads"),
    x=lambda n: n.normal(2, 5, 7),
)
def uneven_width(student: Student, x: Tensor) -> object:
    return _outcome(lambda: student.split_heads(x, 3)), _outcome(lambda: student.split_heads(x[..., :4], 8))


@probe("split_heads", "keeps float64", x=lambda n: n.normal(2, 5, 12, dtype=torch.float64))
def split_double(student: Student, x: Tensor) -> object:
    return student.split_heads(x, 3)


@probe("split_heads", "gradients flow back", x=lambda n: n.normal(2, 5, 12))
def split_gradient(student: Student, x: Tensor) -> object:
    x = x.clone().requires_grad_()
    return gradients(student.split_heads(x, 3), x)


# merge_heads


@probe(
    "merge_heads",
    "every word gets the features of all heads side by side, head 0 first",
    axes=("word", "feature"),
    x=torch.arange(2)[:, None, None, None] * 10.0
    + torch.arange(3)[:, None, None]
    + torch.arange(5)[:, None] / 10
    + torch.arange(6) / 100,
)
def side_by_side(student: Student, x: Tensor) -> object:
    return student.merge_heads(x)


@probe(
    "merge_heads",
    "one head, and heads of width 1, work too",
    labels=("one head", "7 heads of width 1"),
    x=lambda n: n.normal(2, 7, 3, 1),
)
def merge_extremes(student: Student, x: Tensor) -> object:
    return student.merge_heads(x.transpose(1, 3)), student.merge_heads(x)


@probe("merge_heads", "works for one word of one sentence", x=lambda n: n.normal(1, 3, 1, 5))
def merge_one_word(student: Student, x: Tensor) -> object:
    return student.merge_heads(x)


@probe(
    "merge_heads",
    "works on tensors that aren't contiguous in memory",
    labels=("swapped before", "turned round"),
    x=lambda n: n.normal(2, 5, 3, 6),
)
def merge_transposed(student: Student, x: Tensor) -> object:
    return student.merge_heads(x.transpose(1, 2)), student.merge_heads(x.permute(0, 3, 1, 2))


@probe("merge_heads", "keeps float64", x=lambda n: n.normal(2, 3, 5, 6, dtype=torch.float64))
def merge_double(student: Student, x: Tensor) -> object:
    return student.merge_heads(x)


@probe("merge_heads", "gradients flow back", x=lambda n: n.normal(2, 3, 5, 6))
def merge_gradient(student: Student, x: Tensor) -> object:
    x = x.clone().requires_grad_()
    return gradients(student.merge_heads(x), x)


# MultiHeadAttention


@probe(
    "MultiHeadAttention",
    "self-attention: output and weights follow the formula",
    labels=BOTH,
    axes=("query", "key"),
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def self_attention(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return _built(student, w, b)(x, x, x)


@probe(
    "MultiHeadAttention",
    "cross-attention: query, key and value differ, and so do T_q and T_k",
    labels=BOTH,
    axes=("query", "key"),
    w=_matrices,
    b=_biases,
    query=lambda n: n.normal(2, 5, D_MODEL),
    key=lambda n: n.normal(2, 7, D_MODEL),
    value=lambda n: n.normal(2, 7, D_MODEL),
)
def cross_attention(student: Student, w: Tensor, b: Tensor, query: Tensor, key: Tensor, value: Tensor) -> object:
    return _built(student, w, b)(query, key, value)


@probe(
    "MultiHeadAttention",
    "a mask (T_q, T_k) holds for every sentence and every head",
    labels=BOTH,
    axes=("query", "key"),
    w=_matrices,
    b=_biases,
    query=lambda n: n.normal(2, 4, D_MODEL),
    memory=lambda n: n.normal(2, 5, D_MODEL),
    mask=torch.tensor([[1, 0, 0, 1, 0], [1, 1, 0, 0, 1], [0, 1, 1, 1, 0], [1, 1, 1, 0, 1]]).bool(),
)
def mask_for_all(student: Student, w: Tensor, b: Tensor, query: Tensor, memory: Tensor, mask: Tensor) -> object:
    return _built(student, w, b)(query, memory, memory, mask)


@probe(
    "MultiHeadAttention",
    "masks of three dimensions are one per sentence: (B, 1, T_k) and (B, T_q, T_k)",
    labels=("output (padding)", "weights (padding)", "output", "weights"),
    w=_matrices,
    b=_biases,
    query=lambda n: n.normal(2, 4, D_MODEL),
    memory=lambda n: n.normal(2, 5, D_MODEL),
    padding=torch.tensor([[[1, 1, 1, 0, 0]], [[1, 1, 1, 1, 1]]]).bool(),
    mask=torch.tensor(
        [
            [[1, 0, 0, 1, 0], [1, 1, 0, 0, 1], [0, 1, 1, 1, 0], [1, 1, 1, 0, 1]],
            [[0, 1, 1, 0, 0], [1, 0, 0, 1, 1], [1, 1, 0, 1, 1], [0, 0, 1, 0, 1]],
        ]
    ).bool(),
)
def mask_per_sentence(
    student: Student, w: Tensor, b: Tensor, query: Tensor, memory: Tensor, padding: Tensor, mask: Tensor
) -> object:
    attention = _built(student, w, b)
    return (*attention(query, memory, memory, padding), *attention(query, memory, memory, mask))


@probe(
    "MultiHeadAttention",
    "a mask of three dimensions stays one per sentence where B = H",
    labels=BOTH,
    w=_matrices,
    b=_biases,
    query=lambda n: n.normal(HEADS, 4, D_MODEL),
    memory=lambda n: n.normal(HEADS, 5, D_MODEL),
    mask=torch.tensor([[[1, 1, 1, 0, 0]], [[1, 1, 1, 1, 1]], [[1, 0, 0, 0, 0]]]).bool(),
)
def as_many_sentences_as_heads(
    student: Student, w: Tensor, b: Tensor, query: Tensor, memory: Tensor, mask: Tensor
) -> object:
    return _built(student, w, b)(query, memory, memory, mask)


@probe(
    "MultiHeadAttention",
    "masks of four dimensions are used as they are: (B, H, T_q, T_k) and (1, H, 1, T_k)",
    labels=("output", "weights", "output (per head)", "weights (per head)"),
    w=_matrices,
    b=_biases,
    query=lambda n: n.normal(2, 4, D_MODEL),
    memory=lambda n: n.normal(2, 5, D_MODEL),
    mask=lambda n: n.booleans(2, HEADS, 4, 5) | torch.tensor([False, False, True, False, False]),
    per_head=torch.tensor([[1, 1, 0, 0, 1], [0, 1, 1, 0, 0], [1, 0, 1, 1, 0]]).bool()[None, :, None],
)
def mask_per_head(
    student: Student, w: Tensor, b: Tensor, query: Tensor, memory: Tensor, mask: Tensor, per_head: Tensor
) -> object:
    attention = _built(student, w, b)
    return (*attention(query, memory, memory, mask), *attention(query, memory, memory, per_head))


@probe(
    "MultiHeadAttention",
    "a query that may attend to nothing gets weights 0, and out_proj's bias as output: no NaN",
    labels=BOTH,
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
    mask=torch.tensor([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]]).bool(),
)
def nothing_to_attend(student: Student, w: Tensor, b: Tensor, x: Tensor, mask: Tensor) -> object:
    return _built(student, w, b)(x, x, x, mask)


@probe(
    "MultiHeadAttention",
    "masked keys stay hidden even when every other score is very negative",
    labels=BOTH,
    w=lambda n: (
        _matrices(n) + torch.stack([20 * torch.eye(D_MODEL), -20 * torch.eye(D_MODEL), *2 * [torch.eye(D_MODEL)]])
    ),
    b=_biases,
    x=lambda n: 2 + n.normal(2, 5, D_MODEL) / 200,
    mask=torch.tensor([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 1, 1], [1, 1, 1, 1, 0]]).bool(),
    rtol=2e-2,
    atol=2e-2,
)
def negative_scores(student: Student, w: Tensor, b: Tensor, x: Tensor, mask: Tensor) -> object:
    return _built(student, w, b)(x, x, x, mask)


@probe(
    "MultiHeadAttention",
    "the constructor keeps n_heads, and with bias=False no layer has a bias",
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def without_bias(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    with_bias, bare = _built(student, w, b), student.MultiHeadAttention(D_MODEL, HEADS, 0.0, False)
    biases = {name: 0 * value for name, value in bare.parameters().items() if name.endswith("bias")}
    output, weights = bare.load(_state(w, None) | biases).eval()(x, x, x)  # no probe depends on initial weights
    return {
        "output with bias=False": output,
        "weights with bias=False": weights,
        "biases with bias=False": ", ".join(biases) or "none",
        "n_heads": with_bias.attribute("n_heads"),
    }


@probe(
    "MultiHeadAttention",
    "a d_model that n_heads doesn't divide is refused in the constructor with a ValueError",
    labels=("d_model=18, n_heads=4", "d_model=5, n_heads=10"),
)
def uneven_heads(student: Student) -> object:
    def outcome(d_model: int, n_heads: int) -> str:
        built: list[HeldObject] = []
        error = error_of(lambda: built.append(student.MultiHeadAttention(d_model, n_heads)))
        x = torch.ones(2, 3, d_model)
        return error if error != "no error" else f"no error; when it is called, {error_of(lambda: built[0](x, x, x))}"

    return outcome(18, 4), outcome(5, 10)


@probe(
    "MultiHeadAttention",
    "q_proj, k_proj, v_proj and out_proj have weights of d_model × d_model, and biases of d_model",
)
def names_and_shapes(student: Student) -> object:
    found = student.MultiHeadAttention(D_MODEL, HEADS).parameters()
    return {"parameters": ", ".join(f"{name} {tuple(value.shape)}" for name, value in sorted(found.items()))}


@probe(
    "MultiHeadAttention",
    "one sentence, one word, one head",
    labels=BOTH,
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(1, 1, D_MODEL),
)
def single(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return student.MultiHeadAttention(D_MODEL, 1).load(_state(w, b)).eval()(x, x, x)


@probe(
    "MultiHeadAttention",
    "dropout is off in eval mode",
    labels=BOTH,
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def dropout_at_rest(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    student.seed(1)
    return _built(student, w, b, dropout=0.5)(x, x, x)


@probe("MultiHeadAttention", "dropout in train mode drops attention weights, and makes the others larger")
def dropout_at_work(student: Student) -> object:
    student.seed(2)
    eye = torch.eye(D_MODEL)
    state = _state(torch.stack([eye, eye, eye, eye]), torch.zeros(4, D_MODEL)) | {
        "out_proj.bias": torch.full((D_MODEL,), 10.0)
    }
    attention = student.MultiHeadAttention(D_MODEL, HEADS, dropout=0.25).load(state).train()
    one_key = torch.ones(16, 1, D_MODEL)  # each head's only weight is 1: it stays, as 1 / 0.75, or goes
    output, _weights = attention(torch.ones(16, 20, D_MODEL), one_key, one_key)
    heads = output.detach().unflatten(-1, (HEADS, -1)) - 10  # every head brings the same number d_k times
    kept, dropped = (heads > 0.5).double().mean().item(), (heads.abs() < 1e-4).double().mean().item()
    keys = torch.linspace(-1, 1, 5 * D_MODEL).reshape(1, 5, D_MODEL)
    twice = [attention(keys, keys, keys)[0].detach() for _ in range(2)]
    still = student.MultiHeadAttention(D_MODEL, HEADS).load(state).train()
    return {
        "two calls differ": not torch.allclose(*twice),
        "the bias of out_proj is never dropped": bool((heads > -5).all()),
        "a weight is dropped for all features of its head": bool((heads == heads[..., :1]).all()),
        "more weights stay than go": kept > 0.5,
        "about a quarter of the weights is dropped": abs(dropped - 0.25) < 0.1 and abs(kept - 0.75) < 0.1,
        "what is kept is divided by 1 − p": not kept or abs(heads.max().item() - 4 / 3) < 1e-3,
        "with p = 0 nothing is dropped": bool(
            torch.allclose(still(one_key, one_key, one_key)[0], one_key + 10, atol=1e-4)
        ),
    }


@probe(
    "MultiHeadAttention",
    "keeps float64",
    labels=BOTH,
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 5, D_MODEL, dtype=torch.float64),
    mask=torch.ones(5, 5).tril().bool(),
)
def double_precision(student: Student, w: Tensor, b: Tensor, x: Tensor, mask: Tensor) -> object:
    state = {name: value.double() for name, value in _state(w, b).items()}
    attention = student.MultiHeadAttention(D_MODEL, HEADS).to("float64").load(state).eval()
    return attention(x, x, x, mask)


@probe(
    "MultiHeadAttention",
    "gradients reach query, key and value, and every layer",
    w=_matrices,
    b=_biases,
    query=lambda n: n.normal(2, 4, D_MODEL),
    key=lambda n: n.normal(2, 5, D_MODEL),
    value=lambda n: n.normal(2, 5, D_MODEL),
    mask=torch.tensor([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0], [1, 1, 1, 1, 1]]).bool(),
)
def gradient_flow(
    student: Student, w: Tensor, b: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
) -> object:
    attention = _built(student, w, b)
    query, key, value = (tensor.clone().requires_grad_() for tensor in (query, key, value))
    seen = gradients(attention(query, key, value, mask), query, key, value)
    arrived = attention.gradients()
    layers = {f"gradient of {layer}": arrived.get(f"{layer}.weight", "no gradient arrives") for layer in LAYERS}
    return seen | layers


# copy_from_torch


def _theirs(student: Student, w: Tensor, b: Tensor | None) -> HeldObject:
    packed = {"in_proj_weight": w[:3].flatten(0, 1), "out_proj.weight": w[3]}
    if b is not None:
        packed |= {"in_proj_bias": b[:3].flatten(), "out_proj.bias": b[3]}
    return student.host("torch_multihead_attention", D_MODEL, HEADS, bias=b is not None).load(packed)


def _copied(student: Student, w: Tensor, b: Tensor | None) -> tuple[HeldObject, HeldObject]:
    mine = _hosted(student, 0.1 + 0 * w, None if b is None else 0.2 + 0 * b)
    theirs = _theirs(student, w, b)
    student.copy_from_torch(mine, theirs)
    return mine, theirs


@probe("copy_from_torch", "weights and biases of all four layers are PyTorch's", w=_matrices, b=_biases)
def all_parameters(student: Student, w: Tensor, b: Tensor) -> object:
    mine, _theirs = _copied(student, w, b)
    return mine.parameters()


@probe("copy_from_torch", "works where neither has biases", w=_matrices)
def no_biases(student: Student, w: Tensor) -> object:
    mine, _theirs = _copied(student, w, None)
    return mine.parameters()


@probe(
    "copy_from_torch",
    "both give the same output afterwards",
    w=_matrices,
    b=_biases,
    query=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def same_output(student: Student, w: Tensor, b: Tensor, query: Tensor, memory: Tensor) -> object:
    mine, _theirs = _copied(student, w, b)
    return mine(query, memory, memory)[0]


@probe(
    "copy_from_torch", "values are copied, not storage: neither model changes the other later", w=_matrices, b=_biases
)
def own_storage(student: Student, w: Tensor, b: Tensor) -> object:
    mine, theirs = _copied(student, w, b)
    before = mine.parameters()
    theirs.load({name: value + 1 for name, value in theirs.parameters().items()})
    follows = [name for name, value in mine.parameters().items() if not torch.equal(value, before[name])]
    mine.load({name: value - 5 for name, value in mine.parameters().items()})
    expected = {name: value + 1 for name, value in _theirs(student, w, b).parameters().items()}
    return {
        "follows a change of theirs": ", ".join(follows) or "none",
        "theirs stays as it was": _unchanged(theirs, expected),
    }


@probe("copy_from_torch", "the parameters can still be trained, and theirs too", w=_matrices, b=_biases)
def still_learning(student: Student, w: Tensor, b: Tensor) -> object:
    mine, theirs = _copied(student, w, b)
    frozen = [f"mine: {name}" for name, learns in mine.trainable().items() if not learns]
    frozen += [f"theirs: {name}" for name, learns in theirs.trainable().items() if not learns]
    missing = sorted(set(_state(w, b)) - set(mine.parameters()))
    return {"frozen": ", ".join(frozen) or "none", "no parameters any more": ", ".join(missing) or "none"}


@probe("copy_from_torch", "theirs isn't changed", w=_matrices, b=_biases)
def theirs_untouched(student: Student, w: Tensor, b: Tensor) -> object:
    _mine, theirs = _copied(student, w, b)
    return theirs.parameters()


# without_head


def _each_head_removed(student: Student, mha: HeldObject, x: Tensor) -> dict[str, object]:
    return {f"output without head {head}": student.without_head(mha, head)(x, x, x)[0] for head in range(HEADS)}


@probe(
    "without_head",
    "the output is the sum over the other heads, plus the bias of out_proj",
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def others_remain(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return _each_head_removed(student, _hosted(student, w, b), x)


@probe("without_head", "works without biases", w=_matrices, x=lambda n: n.normal(2, 5, D_MODEL))
def others_remain_without_bias(student: Student, w: Tensor, x: Tensor) -> object:
    return _each_head_removed(student, _hosted(student, w, None), x)


@probe("without_head", "the original stays as it was", w=_matrices, b=_biases, x=lambda n: n.normal(2, 5, D_MODEL))
def original_unchanged(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    mha = _hosted(student, w, b)
    silenced = student.without_head(mha, 1)
    seen = {"the original's output": mha(x, x, x)[0], "its weights are untouched": _unchanged(mha, _state(w, b))}
    silenced.train()
    return seen | {"the copy is another object": not mha.training}


@probe(
    "without_head",
    "the copy shares no weights with the original",
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def own_weights(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    mha = _hosted(student, w, b)
    silenced = student.without_head(mha, 2)
    mha.load({name: value + 1 for name, value in _state(w, b).items()})
    return silenced(x, x, x)[0]


@probe(
    "without_head",
    "the copy is a whole attention: cross-attention, masks, weights of the other heads, n_heads",
    w=_matrices,
    b=_biases,
    query=lambda n: n.normal(2, 4, D_MODEL),
    memory=lambda n: n.normal(2, 5, D_MODEL),
    mask=torch.tensor([[[1, 1, 1, 0, 0]], [[0, 1, 1, 1, 1]]]).bool(),
)
def whole_attention(student: Student, w: Tensor, b: Tensor, query: Tensor, memory: Tensor, mask: Tensor) -> object:
    silenced = student.without_head(_hosted(student, w, b), 1)
    output, weights = silenced(query, memory, memory, mask)
    others = weights[:, [0, 2]]
    return {"output": output, "weights of the other heads": others, "n_heads": silenced.attribute("n_heads")}


@probe(
    "without_head",
    "two heads can be taken away, one after the other",
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def twice(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return student.without_head(student.without_head(_hosted(student, w, b), 0), 2)(x, x, x)[0]


# KVCache


def _all_steps(cache: HeldObject, x: Tensor) -> Tensor:
    return torch.cat([cache.method("step", token) for token in x.split(1, dim=1)], dim=1)


@probe(
    "KVCache",
    "the first step: the token can look at nothing but itself",
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 1, D_MODEL),
)
def first_step(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return student.KVCache(_hosted(student, w, b)).method("step", x)


@probe(
    "KVCache",
    "the second step: the token looks at the first one and at itself",
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 2, D_MODEL),
)
def second_step(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    cache = student.KVCache(_hosted(student, w, b))
    cache.method("step", x[:, :1])
    return cache.method("step", x[:, 1:])


@probe(
    "KVCache",
    "step by step equals causal attention over the whole sentence",
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 7, D_MODEL),
)
def all_steps(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return _all_steps(student.KVCache(_hosted(student, w, b)), x)


@probe("KVCache", "works for one sentence, and without biases", w=_matrices, x=lambda n: n.normal(1, 5, D_MODEL))
def one_sentence(student: Student, w: Tensor, x: Tensor) -> object:
    return _all_steps(student.KVCache(_hosted(student, w, None)), x)


@probe(
    "KVCache",
    "two caches don't see each other's memory",
    labels=("first", "second"),
    w=_matrices,
    b=_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
    y=lambda n: n.normal(2, 5, D_MODEL),
)
def two_caches(student: Student, w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> object:
    mha = _hosted(student, w, b)
    first, second = student.KVCache(mha), student.KVCache(mha)
    results = [(first.method("step", x[:, t : t + 1]), second.method("step", y[:, t : t + 1])) for t in range(5)]
    return tuple(torch.cat(side, dim=1) for side in zip(*results, strict=True))


@probe("KVCache", "works where there is a single head", w=_matrices, b=_biases, x=lambda n: n.normal(2, 3, D_MODEL))
def one_head(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    mha = student.host("multi_head_attention", D_MODEL, 1).load(_state(w, b)).eval()
    return _all_steps(student.KVCache(mha), x)


@probe("KVCache", "keeps float64", w=_matrices, b=_biases, x=lambda n: n.normal(2, 5, D_MODEL, dtype=torch.float64))
def cache_double(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    state = {name: value.double() for name, value in _state(w, b).items()}
    mha = student.host("multi_head_attention", D_MODEL, HEADS).to("float64").load(state).eval()
    return _all_steps(student.KVCache(mha), x)


@probe(
    "KVCache", "the attention that it uses stays as it was", w=_matrices, b=_biases, x=lambda n: n.normal(2, 3, D_MODEL)
)
def attention_unchanged(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    mha = _hosted(student, w, b)
    steps = _all_steps(student.KVCache(mha), x)
    return {"steps": steps, "its weights are untouched": _unchanged(mha, _state(w, b)), "output": mha(x, x, x)[0]}
