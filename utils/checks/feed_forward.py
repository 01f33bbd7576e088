"""What the visible check of chapter 06 looks at in FeedForward.

Sizes are pairwise different and none is the square of another; weights are inputs.
"""

import torch
from torch import Tensor

from utils.checks.sublayer_dropout import near
from utils.probes import gradients, probe
from utils.student import HeldObject, Student

NETWORK = {
    "w1": lambda n: n.normal(11, 7) / 3,
    "b1": lambda n: n.normal(11) / 2,
    "w2": lambda n: n.normal(7, 11) / 3,
    "b2": lambda n: n.normal(7),
}


def _network(student: Student, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> HeldObject:
    state = {"linear_1.weight": w1, "linear_1.bias": b1, "linear_2.weight": w2, "linear_2.bias": b2}
    return student.FeedForward(w1.shape[1], w1.shape[0]).load(state).eval()


@probe(
    "FeedForward",
    "the result is linear_2 of the ReLU of linear_1",
    axes=("token", "feature"),
    x=lambda n: n.normal(2, 5, 7),
    **NETWORK,
)
def follows_the_formula(student: Student, x: Tensor, **weights: Tensor) -> object:
    return _network(student, **weights)(x)


@probe(
    "FeedForward",
    "a hidden unit below 0 adds nothing, one above 0 counts in full",
    labels=("linear_2 is the identity", "linear_2 turns signs round"),
    x=torch.tensor([[-2.0, 3.0]]),
)
def rectifies(student: Student, x: Tensor) -> object:
    eye, none = torch.eye(2), torch.zeros(2)
    return _network(student, eye, none, eye, none)(x), _network(student, eye, none, -eye, none)(x)


@probe(
    "FeedForward",
    "every position is treated alike, and by itself",
    labels=("one position", "four dimensions"),
    x=lambda n: n.normal(2, 3, 5, 7),
    **NETWORK,
)
def position_by_position(student: Student, x: Tensor, **weights: Tensor) -> object:
    network = _network(student, **weights)
    return network(x[0, :1, :1]), network(x)


@probe(
    "FeedForward",
    "in train mode hidden units are dropped with probability p, in eval mode none",
    x=torch.ones(2, 30, 120),
)
def drops_hidden_units(student: Student, x: Tensor) -> object:
    width, p = 120, 0.4
    state = {
        "linear_1.weight": torch.full((width, width), 1 / width),  # every hidden unit is the mean of x: 1
        "linear_1.bias": torch.zeros(width),
        "linear_2.weight": torch.eye(width),
        "linear_2.bias": torch.full((width,), 5.0),
    }
    network = student.FeedForward(width, width, p).load(state)
    still = network.eval()(x)
    student.seed(3)
    output = network.train()(x).detach()
    dropped = (output < output.amax() - 1e-3).float().mean().item()
    return {
        "eval mode drops nothing": bool(torch.allclose(still, torch.full_like(still, 6.0))),
        "train mode drops something": dropped > 0.02,
        "train mode drops the share p": near(dropped, p, 0.06),
        "train mode drops the share 1 − p": near(dropped, 1 - p, 0.06),
        "linear_2's bias is never dropped": near(output.amin().item(), 5, 1e-3),
        "what stays is divided by 1 − p": near(output.amax().item(), 5 + 1 / (1 - p), 1e-3),
    }


@probe("FeedForward", "linear_1 and linear_2 are its parameters, with the sizes asked for")
def network_parameters(student: Student) -> object:
    parameters = student.FeedForward(7, 11).parameters()
    shapes = {name: tuple(value.shape) for name, value in parameters.items()}
    return {"parameters": ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items()))}


@probe("FeedForward", "gradients flow back", x=lambda n: n.normal(2, 5, 7), **NETWORK)
def network_gradient(student: Student, x: Tensor, **weights: Tensor) -> object:
    x = x.clone().requires_grad_()
    return gradients(_network(student, **weights)(x), x)
