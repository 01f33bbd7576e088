"""What the visible check of chapter 06 looks at in LayerNorm.

Sizes are pairwise different and none is the square of another; weights are inputs.
"""

import torch
from torch import Tensor

from utils.probes import gradients, probe
from utils.student import Student


@probe(
    "LayerNorm",
    "with weight 1 and bias 0, the features of every token have mean 0 and variance 1",
    axes=("token", "feature"),
    x=lambda n: 2 + 3 * n.normal(2, 5, 7),
)
def normalises_each_token(student: Student, x: Tensor) -> object:
    return student.LayerNorm(7).load({"weight": torch.ones(7), "bias": torch.zeros(7)})(x)


@probe(
    "LayerNorm",
    "every feature is then multiplied by its weight, and its bias is added",
    axes=("token", "feature"),
    x=lambda n: 2 + 3 * n.normal(2, 5, 7),
    weight=lambda n: 1 + n.normal(7) / 3,
    bias=lambda n: n.normal(7),
)
def scales_and_shifts(student: Student, x: Tensor, weight: Tensor, bias: Tensor) -> object:
    return student.LayerNorm(7).load({"weight": weight, "bias": bias})(x)


@probe(
    "LayerNorm",
    "eps is added to the variance, inside the root; the argument counts",
    labels=("eps = 0.5", "the default, 1e-5"),
    x=lambda n: n.normal(2, 3, 7),
)
def eps_inside(student: Student, x: Tensor) -> object:
    plain = {"weight": torch.ones(7), "bias": torch.zeros(7)}
    return student.LayerNorm(7, 0.5).load(plain)(x), student.LayerNorm(7).load(plain)(x / 300)


@probe(
    "LayerNorm",
    "a token whose features are all equal gives the bias: no NaN",
    x=lambda n: torch.stack([torch.full((7,), 0.5), torch.zeros(7), n.normal(7)])[None],
    bias=lambda n: n.normal(7),
)
def equal_features(student: Student, x: Tensor, bias: Tensor) -> object:
    return student.LayerNorm(7).load({"weight": torch.ones(7), "bias": bias})(x)


@probe(
    "LayerNorm",
    "works for any dimensions in front: (d_model,), (B, d_model), (B, H, T, d_model)",
    labels=("one vector", "(B, d_model)", "(B, H, T, d_model)"),
    x=lambda n: n.normal(2, 3, 5, 7),
    bias=lambda n: n.normal(7),
)
def dimensions_in_front(student: Student, x: Tensor, bias: Tensor) -> object:
    norm = student.LayerNorm(7).load({"weight": torch.ones(7), "bias": bias})
    return norm(x[0, 0, 0]), norm(x[0, 0]), norm(x)


@probe(
    "LayerNorm",
    "weight and bias are the parameters, and a new norm doesn't erase what it is given",
    x=lambda n: n.normal(2, 3, 7),
)
def norm_parameters(student: Student, x: Tensor) -> object:
    norm = student.LayerNorm(7)
    return {
        "parameters": ", ".join(f"{name} {tuple(value.shape)}" for name, value in sorted(norm.parameters().items())),
        "tokens differ after a new norm": bool((norm(x).std(dim=-1) > 1e-3).all()),
    }


@probe(
    "LayerNorm",
    "gradients flow back, through mean and variance too",
    x=lambda n: n.normal(2, 5, 7),
    weight=lambda n: 1 + n.normal(7) / 3,
)
def norm_gradient(student: Student, x: Tensor, weight: Tensor) -> object:
    x = x.clone().requires_grad_()
    return gradients(student.LayerNorm(7).load({"weight": weight, "bias": torch.zeros(7)})(x), x)


@probe("LayerNorm", "keeps float64", x=lambda n: n.normal(2, 5, 7, dtype=torch.float64))
def norm_double(student: Student, x: Tensor) -> object:
    return student.LayerNorm(7).to("float64").load({"weight": torch.ones(7), "bias": torch.zeros(7)})(x)
