"""What the visible check of chapter 04 looks at in MultiHeadAttention.

Sizes are pairwise different and none is the square of another (except where a mask is tried with B = H); weights are
inputs, scores aren't saturated.
"""

import torch
from torch import Tensor

from utils.checks.multi_head_weights import D_MODEL, HEADS, LAYERS, draw_biases, draw_matrices, state_of
from utils.probes import error_of, gradients, probe
from utils.student import HeldObject, Student

BOTH = ("output", "weights")


def _built(student: Student, w: Tensor, b: Tensor | None, **options: float) -> HeldObject:
    """Build the learner's module with these weights, in eval mode."""
    more = {**options, **({"bias": False} if b is None else {})}
    return student.MultiHeadAttention(D_MODEL, HEADS, **more).load(state_of(w, b)).eval()


@probe(
    "MultiHeadAttention",
    "self-attention: output and weights follow the formula",
    labels=BOTH,
    axes=("query", "key"),
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def self_attention(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return _built(student, w, b)(x, x, x)


@probe(
    "MultiHeadAttention",
    "cross-attention: query, key and value differ, and so do T_q and T_k",
    labels=BOTH,
    axes=("query", "key"),
    w=draw_matrices,
    b=draw_biases,
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
    w=draw_matrices,
    b=draw_biases,
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
    w=draw_matrices,
    b=draw_biases,
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
    w=draw_matrices,
    b=draw_biases,
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
    w=draw_matrices,
    b=draw_biases,
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
    w=draw_matrices,
    b=draw_biases,
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
        draw_matrices(n) + torch.stack([20 * torch.eye(D_MODEL), -20 * torch.eye(D_MODEL), *2 * [torch.eye(D_MODEL)]])
    ),
    b=draw_biases,
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
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def without_bias(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    with_bias, bare = _built(student, w, b), student.MultiHeadAttention(D_MODEL, HEADS, 0.0, False)
    biases = {name: 0 * value for name, value in bare.parameters().items() if name.endswith("bias")}
    output, weights = bare.load(state_of(w, None) | biases).eval()(x, x, x)  # no probe depends on initial weights
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
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(1, 1, D_MODEL),
)
def single(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return student.MultiHeadAttention(D_MODEL, 1).load(state_of(w, b)).eval()(x, x, x)


@probe(
    "MultiHeadAttention",
    "dropout is off in eval mode",
    labels=BOTH,
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def dropout_at_rest(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    student.seed(1)
    return _built(student, w, b, dropout=0.5)(x, x, x)


@probe("MultiHeadAttention", "dropout in train mode drops attention weights, and makes the others larger")
def dropout_at_work(student: Student) -> object:
    student.seed(2)
    eye = torch.eye(D_MODEL)
    state = state_of(torch.stack([eye, eye, eye, eye]), torch.zeros(4, D_MODEL)) | {
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
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 5, D_MODEL, dtype=torch.float64),
    mask=torch.ones(5, 5).tril().bool(),
)
def double_precision(student: Student, w: Tensor, b: Tensor, x: Tensor, mask: Tensor) -> object:
    state = {name: value.double() for name, value in state_of(w, b).items()}
    attention = student.MultiHeadAttention(D_MODEL, HEADS).to("float64").load(state).eval()
    return attention(x, x, x, mask)


@probe(
    "MultiHeadAttention",
    "gradients reach query, key and value, and every layer",
    w=draw_matrices,
    b=draw_biases,
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
