"""What the visible checks of chapter 02 look at.

Sizes are pairwise different and none is the square of another, so that no mistake hides behind a symmetry; scores aren't
saturated, so that a wrong scale shows.
"""

import torch
from torch import Tensor

from utils.probes import gradients, probe
from utils.student import Student

inf = float("inf")


def _learning(*tensors: Tensor) -> list[Tensor]:
    return [tensor.clone().requires_grad_() for tensor in tensors]


# attention_scores


@probe(
    "attention_scores",
    "entry (i, j) is the dot product of query i and key j",
    axes=("query", "key"),
    q=lambda n: n.normal(2, 3, 6),
    k=lambda n: n.normal(2, 5, 6),
)
def dot_products(student: Student, q: Tensor, k: Tensor) -> object:
    return student.attention_scores(q, k)


@probe(
    "attention_scores",
    "works without a batch, and for one query and one key",
    labels=("two dimensions", "one query"),
    q=lambda n: n.normal(3, 7),
    k=lambda n: n.normal(4, 7),
)
def few_dimensions(student: Student, q: Tensor, k: Tensor) -> object:
    return student.attention_scores(q, k), student.attention_scores(q[None, :1], k[None, :1])


@probe(
    "attention_scores",
    "works with batch and heads in front: (B, H, T, d_k)",
    q=lambda n: n.normal(2, 3, 4, 5),
    k=lambda n: n.normal(2, 3, 6, 5),
)
def leading_dimensions(student: Student, q: Tensor, k: Tensor) -> object:
    return student.attention_scores(q, k)


@probe(
    "attention_scores",
    "works on tensors that aren't contiguous, as heads will be",
    q=lambda n: n.normal(2, 4, 3, 5),
    k=lambda n: n.normal(2, 6, 3, 5),
)
def transposed_heads(student: Student, q: Tensor, k: Tensor) -> object:
    return student.attention_scores(q.transpose(1, 2), k.transpose(1, 2))


@probe(
    "attention_scores",
    "keeps float64",
    q=lambda n: n.normal(2, 3, 6, dtype=torch.float64),
    k=lambda n: n.normal(2, 5, 6, dtype=torch.float64),
)
def double_precision(student: Student, q: Tensor, k: Tensor) -> object:
    return student.attention_scores(q, k)


@probe(
    "attention_scores",
    "gradients flow back to queries and keys",
    q=lambda n: n.normal(2, 3, 6),
    k=lambda n: n.normal(2, 5, 6),
)
def gradient_flow(student: Student, q: Tensor, k: Tensor) -> object:
    q, k = _learning(q, k)
    return gradients(student.attention_scores(q, k), q, k)


# softmax


@probe("softmax", "e to the x, divided by the sum along the last dimension", x=lambda n: n.normal(2, 3, 5))
def formula(student: Student, x: Tensor) -> object:
    return student.softmax(x)


@probe(
    "softmax",
    "the argument dim says along which dimension",
    labels=("dim=0", "dim=1", "dim=-2"),
    x=lambda n: n.normal(2, 3, 5),
)
def along_dim(student: Student, x: Tensor) -> object:
    return student.softmax(x, dim=0), student.softmax(x, 1), student.softmax(x, dim=-2)


@probe("softmax", "a single vector works too", x=lambda n: n.normal(4))
def one_vector(student: Student, x: Tensor) -> object:
    return student.softmax(x)


@probe(
    "softmax",
    "scores of ±10,000 overflow nothing",
    rtol=1e-3,
    atol=1e-3,
    x=torch.tensor([[1e4, 1e4 + 1, 1e4 - 2], [-1e4, -1e4 - 1, -1e4 + 0.5], [1e4, 0.0, -1e4]]),
)
def large_scores(student: Student, x: Tensor) -> object:
    return student.softmax(x)


@probe(
    "softmax", "an entry of −∞ gets probability 0", x=torch.tensor([[0.5, -inf, 1.5, -0.3], [-inf, -inf, -1.0, 2.0]])
)
def minus_infinity(student: Student, x: Tensor) -> object:
    return student.softmax(x)


@probe(
    "softmax",
    "a row of nothing but −∞ gives zeros, not NaN",
    x=torch.tensor([[-inf, -inf, -inf], [0.1, 0.7, -0.4]]),
)
def nothing_left(student: Student, x: Tensor) -> object:
    return student.softmax(x)


@probe("softmax", "keeps float64", x=lambda n: 100 + n.normal(3, 5, dtype=torch.float64))
def softmax_double(student: Student, x: Tensor) -> object:
    return student.softmax(x)


@probe("softmax", "gradients are those of softmax", x=lambda n: n.normal(3, 5))
def softmax_gradient(student: Student, x: Tensor) -> object:
    (x,) = _learning(x)
    return gradients(student.softmax(x), x)


# softmax_jacobian


@probe(
    "softmax_jacobian",
    "entry (i, j) is ∂pᵢ/∂xⱼ",
    axes=("probability", "score"),
    p=torch.tensor([0.5, 0.3, 0.15, 0.05]),
)
def slope(student: Student, p: Tensor) -> object:
    return student.softmax_jacobian(p)


@probe(
    "softmax_jacobian",
    "one matrix for every distribution in a batch",
    labels=("(2, n)", "(2, 3, n)"),
    p=lambda n: n.normal(2, 5).softmax(-1),
    more=lambda n: n.normal(2, 3, 4).softmax(-1),
)
def batches(student: Student, p: Tensor, more: Tensor) -> object:
    return student.softmax_jacobian(p), student.softmax_jacobian(more)


@probe(
    "softmax_jacobian",
    "where one probability is 1, nothing moves",
    p=torch.tensor([[0.0, 1.0, 0.0], [0.25, 0.0, 0.75]]),
)
def saturated(student: Student, p: Tensor) -> object:
    return student.softmax_jacobian(p)


@probe("softmax_jacobian", "keeps float64", p=lambda n: n.normal(3, 5, dtype=torch.float64).softmax(-1))
def jacobian_double(student: Student, p: Tensor) -> object:
    return student.softmax_jacobian(p)


@probe("softmax_jacobian", "can itself be differentiated", p=lambda n: n.normal(5).softmax(-1))
def jacobian_gradient(student: Student, p: Tensor) -> object:
    (p,) = _learning(p)
    seen = gradients(student.softmax_jacobian(p), p)
    # Probabilities add up to 1: a gradient means something only along that plane.
    return {name: g - g.mean() if isinstance(g, Tensor) else g for name, g in seen.items()}


# padding_mask


@probe(
    "padding_mask",
    "True for real tokens, False for padding",
    axes=("", "position"),
    lengths=torch.tensor([3, 5, 1]),
    max_len=5,
)
def real_tokens(student: Student, lengths: Tensor, max_len: int) -> object:
    return student.padding_mask(lengths, max_len)


@probe("padding_mask", "max_len may be larger than every length", lengths=torch.tensor([2, 4]), max_len=7)
def wider(student: Student, lengths: Tensor, max_len: int) -> object:
    return student.padding_mask(lengths, max_len)


@probe("padding_mask", "a sequence of length 0 is all padding", lengths=torch.tensor([0, 2, 6, 4]), max_len=6)
def empty_sequence(student: Student, lengths: Tensor, max_len: int) -> object:
    return student.padding_mask(lengths, max_len)


@probe("padding_mask", "works for a batch of one", lengths=torch.tensor([2]), max_len=3)
def one_sequence(student: Student, lengths: Tensor, max_len: int) -> object:
    return student.padding_mask(lengths, max_len)


# scaled_dot_product_attention

BOTH = ("output", "weights")


@probe(
    "scaled_dot_product_attention",
    "weights and output follow the formula",
    labels=BOTH,
    axes=("query", "key"),
    q=lambda n: n.normal(2, 3, 8),
    k=lambda n: n.normal(2, 5, 8),
    v=lambda n: n.normal(2, 5, 6),
)
def attention_formula(student: Student, q: Tensor, k: Tensor, v: Tensor) -> object:
    return student.scaled_dot_product_attention(q, k, v)


@probe(
    "scaled_dot_product_attention",
    "works without a batch, with heads, and for sizes of 1",
    labels=("output (T, d)", "weights (T, d)", "output (B, H, T, d)", "weights (B, H, T, d)", "output (1, 1, d)", "weights (1, 1, d)"),
    q=lambda n: n.normal(2, 3, 4, 7),
    k=lambda n: n.normal(2, 3, 6, 7),
    v=lambda n: n.normal(2, 3, 6, 5),
)  # fmt: skip
def attention_shapes(student: Student, q: Tensor, k: Tensor, v: Tensor) -> object:
    attend = student.scaled_dot_product_attention
    results = []
    for chosen in ((q[0, 0], k[0, 0], v[0, 0]), (q, k, v), (q[:1, 0, :1], k[:1, 0, :1], v[:1, 0, :1])):
        results += attend(*chosen)
    return tuple(results)


@probe(
    "scaled_dot_product_attention",
    "a mask (T_q, T_k) hides keys: True may be attended, False gets weight 0",
    labels=BOTH,
    q=lambda n: n.normal(2, 4, 8),
    k=lambda n: n.normal(2, 5, 8),
    v=lambda n: n.normal(2, 5, 6),
    mask=torch.tensor([[1, 0, 0, 1, 0], [1, 1, 0, 0, 1], [0, 1, 1, 1, 0], [1, 1, 1, 0, 1]]).bool(),
)
def masked(student: Student, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> object:
    return student.scaled_dot_product_attention(q, k, v, mask)


@probe(
    "scaled_dot_product_attention",
    "a padding mask (B, 1, T_k) broadcasts over queries",
    labels=BOTH,
    q=lambda n: n.normal(3, 4, 8),
    k=lambda n: n.normal(3, 5, 8),
    v=lambda n: n.normal(3, 5, 6),
    mask=torch.tensor([[[1, 1, 1, 0, 0]], [[1, 1, 1, 1, 1]], [[1, 0, 0, 0, 0]]]).bool(),
)
def padded(student: Student, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> object:
    return student.scaled_dot_product_attention(q, k, v, mask)


@probe(
    "scaled_dot_product_attention",
    "a query that may attend to nothing gets zeros, not NaN",
    labels=BOTH,
    q=lambda n: n.normal(2, 3, 8),
    k=lambda n: n.normal(2, 5, 8),
    v=lambda n: n.normal(2, 5, 6),
    mask=torch.tensor([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0]]).bool(),
)
def nothing_to_attend(student: Student, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> object:
    return student.scaled_dot_product_attention(q, k, v, mask)


@probe(
    "scaled_dot_product_attention",
    "masked keys stay hidden even when every score is very negative",
    labels=BOTH,
    q=lambda n: 300 + n.normal(1, 3, 4, dtype=torch.float64),
    k=lambda n: -150 + n.normal(1, 5, 4, dtype=torch.float64) / 300,
    v=lambda n: n.normal(1, 5, 6, dtype=torch.float64),
    mask=torch.tensor([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]).bool(),
)
def negative_scores(student: Student, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> object:
    return student.scaled_dot_product_attention(q, k, v, mask)


@probe(
    "scaled_dot_product_attention",
    "a hidden key changes nothing, however large its score is",
    labels=BOTH,
    q=lambda n: 1 + n.normal(2, 3, 8) / 10,
    k=lambda n: n.normal(2, 5, 8) + torch.tensor([0.0, 900.0, 0.0, 0.0, 900.0]).reshape(5, 1),
    v=lambda n: n.normal(2, 5, 6),
    mask=torch.tensor([[1, 0, 1, 1, 0]]).bool(),
)
def loud_but_hidden(student: Student, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> object:
    return student.scaled_dot_product_attention(q, k, v, mask)


@probe(
    "scaled_dot_product_attention",
    "keeps float64",
    labels=BOTH,
    q=lambda n: n.normal(2, 3, 8, dtype=torch.float64),
    k=lambda n: n.normal(2, 5, 8, dtype=torch.float64),
    v=lambda n: n.normal(2, 5, 6, dtype=torch.float64),
)
def attention_double(student: Student, q: Tensor, k: Tensor, v: Tensor) -> object:
    return student.scaled_dot_product_attention(q, k, v)


@probe(
    "scaled_dot_product_attention",
    "gradients flow back to q, k and v, through masks too",
    q=lambda n: n.normal(2, 3, 8),
    k=lambda n: n.normal(2, 5, 8),
    v=lambda n: n.normal(2, 5, 6),
    mask=torch.tensor([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0]]).bool(),
)
def attention_gradient(student: Student, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> object:
    q, k, v = _learning(q, k, v)
    return gradients(student.scaled_dot_product_attention(q, k, v, mask), q, k, v)
