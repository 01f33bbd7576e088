"""Hidden tests of chapter 06's LayerNorm. The reference is PyTorch's own layer norm with the same weights."""

import torch
import torch.nn.functional as F

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, gradients, untouched
from autograder.hidden.randomness import Randomness
from autograder.hidden.transformer_layer_reference import State, draw_norm, loaded, same_gradients
from utils.student import Student


def _as_norm(state: State) -> State:
    return {name.removeprefix("norm."): value for name, value in state.items()}


@hidden("LayerNorm", weight=3)
def equals_pytorchs_layer_norm(student: Student, rng: Randomness) -> None:
    """With any weight and bias, the result is that of PyTorch's layer norm over the last dimension."""
    batch, t, d_model = rng.sizes(3)
    for shape in ((batch, t, d_model), (1, 1, d_model)):
        state = _as_norm(draw_norm(rng, "norm", d_model, torch.float64))
        x = 3 * rng.normal(*shape) + rng.normal(*shape[:-1], 1)
        found = loaded(student.LayerNorm(d_model), state)(x)
        untouched(student)
        close(found, F.layer_norm(x, (d_model,), state["weight"], state["bias"]))


@hidden("LayerNorm", weight=2)
def eps_is_added_inside_the_root(student: Student, rng: Randomness) -> None:
    """Eps is added to the variance, inside the root: its default is 1e-5, and other values are kept."""
    batch, t, d_model = rng.sizes(3)
    state = _as_norm(draw_norm(rng, "norm", d_model, torch.float64))
    for eps in (None, 1e-2, 0.5, 1e-12):
        module = loaded(student.LayerNorm(d_model) if eps is None else student.LayerNorm(d_model, eps), state)
        for std in (1.0, 3e-3):
            x = rng.normal(batch, t, d_model, std=std)
            close(module(x), F.layer_norm(x, (d_model,), state["weight"], state["bias"], eps or 1e-5))


@hidden("LayerNorm", weight=2)
def any_dimensions_in_front(student: Student, rng: Randomness) -> None:
    """Works for one vector, for matrices, for four dimensions, and for what isn't contiguous in memory."""
    a, b, c, d_model = rng.sizes(4)
    state = _as_norm(draw_norm(rng, "norm", d_model, torch.float64))
    module = loaded(student.LayerNorm(d_model), state)
    inputs = [rng.normal(*shape) for shape in ((d_model,), (a, d_model), (1, d_model), (a, b, c, d_model))]
    inputs += [rng.normal(a, d_model, b).transpose(1, 2), rng.normal(d_model, d_model)]
    for x in inputs:
        close(module(x), F.layer_norm(x, (d_model,), state["weight"], state["bias"]))


@hidden("LayerNorm")
def equal_features_give_the_bias(student: Student, rng: Randomness) -> None:
    """A token whose features are all equal gives the bias, not NaN, and the others aren't touched by it."""
    batch, t, d_model = rng.sizes(3)
    state = _as_norm(draw_norm(rng, "norm", d_model, torch.float64))
    x = rng.normal(batch, t, d_model)
    x[0, 1], x[1, 0] = 0.5, 0.0
    x.requires_grad_()
    found = loaded(student.LayerNorm(d_model), state)(x)
    expected = F.layer_norm(x, (d_model,), state["weight"], state["bias"])
    close(found, expected)
    cotangent = rng.normal(batch, t, d_model)
    (arrived,) = gradients(found, cotangent, [x])
    close(arrived, torch.autograd.grad(expected, x, cotangent)[0], "the gradient", rtol=1e-6, atol=1e-7)


@hidden("LayerNorm", weight=2)
def norm_gradients_are_exact(student: Student, rng: Randomness) -> None:
    """The gradient with respect to x, weight and bias is that of the formula: mean and variance depend on x too."""
    batch, t, d_model = rng.sizes(3)
    state = _as_norm(draw_norm(rng, "norm", d_model, torch.float64))
    module = loaded(student.LayerNorm(d_model), state)
    module.train()
    x = rng.normal(batch, t, d_model).requires_grad_()
    known = {name: value.clone().requires_grad_() for name, value in state.items()}
    expected = F.layer_norm(x, (d_model,), known["weight"], known["bias"])
    same_gradients(module, module(x), expected, [x], known, rng)


@hidden("LayerNorm")
def norm_keeps_float32_and_trains_its_parameters(student: Student, rng: Randomness) -> None:
    """In float32 the result is float32; weight and bias are the parameters, and a fresh norm doesn't erase its input."""
    batch, t, d_model = rng.sizes(3)
    module = student.LayerNorm(d_model)
    x = rng.normal(batch, t, d_model, dtype=torch.float32)
    spread = a_tensor(module(x)).detach().std(dim=-1)
    expect(bool((spread > 1e-3).all()), "a fresh norm gives the same numbers whatever x is")
    expect(module.trainable() == {"weight": True, "bias": True}, "weight and bias aren't the parameters that learn")
    state = _as_norm(draw_norm(rng, "norm", d_model, torch.float32))
    close(module.load(state)(x), F.layer_norm(x, (d_model,), state["weight"], state["bias"]))
