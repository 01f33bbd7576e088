"""Hidden tests of chapter 06's FeedForward. The reference is the formula."""

import torch

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, untouched
from autograder.hidden.randomness import Randomness
from autograder.hidden.transformer_layer_reference import State, draw_linear, loaded, same_gradients, true_network
from utils.student import Student


def _network_state(rng: Randomness, d_model: int, d_ff: int, dtype: torch.dtype = torch.float64) -> State:
    return draw_linear(rng, "linear_1", d_model, d_ff, dtype) | draw_linear(rng, "linear_2", d_ff, d_model, dtype)


@hidden("FeedForward", weight=3)
def network_follows_the_formula(student: Student, rng: Randomness) -> None:
    """The result is linear_2 of the ReLU of linear_1, for any d_ff, narrower than d_model too, for any dimensions in front."""
    batch, t, d_model, d_ff = rng.sizes(4)
    for hidden_width, shape in ((d_ff, (batch, t)), (4 * d_model, (batch, t)), (1, (1, 1)), (d_ff, (batch, 2, t))):
        state = _network_state(rng, d_model, hidden_width)
        x = rng.normal(*shape, d_model)
        found = loaded(student.FeedForward(d_model, hidden_width), state)(x)
        untouched(student)
        close(found, true_network(state, x, ""))


@hidden("FeedForward", weight=2)
def every_position_by_itself(student: Student, rng: Randomness) -> None:
    """Each position gets what it would get alone, in eval mode and, without dropout, in train mode."""
    batch, t, d_model, d_ff = rng.sizes(4)
    state = _network_state(rng, d_model, d_ff)
    module = loaded(student.FeedForward(d_model, d_ff), state)
    x = rng.normal(t, batch, d_model).transpose(0, 1)
    position = rng.integer(0, t - 1)
    for mode in (module.eval, module.train):
        mode()
        close(module(x), true_network(state, x, ""))
        close(module(x[:, position : position + 1]), true_network(state, x[:, position : position + 1], ""))


@hidden("FeedForward", weight=2)
def hidden_units_are_dropped_in_train_mode(student: Student, rng: Randomness) -> None:
    """In train mode hidden units are dropped with the given probability and scaled; in eval mode none are."""
    width = 120
    state = {
        "linear_1.weight": torch.zeros(width, width),
        "linear_1.bias": torch.ones(width),
        "linear_2.weight": torch.eye(width),
        "linear_2.bias": torch.full((width,), 5.0),
    }
    x = rng.normal(2, 40, width, dtype=torch.float32)
    for p in (0.25, 0.5):
        module = student.FeedForward(width, width, p).load(state).train()
        student.seed(rng.integer(0, 10**6))
        output = a_tensor(module(x)).detach()
        kept = output > 5.5
        expect(abs(1 - kept.double().mean().item() - p) < 0.05, "the share of dropped units isn't the argument's")
        close(output, 5 + kept / (1 - p), "the result in train mode", atol=1e-3)
        close(module.eval()(x), torch.full_like(x, 6.0), "the result in eval mode")


@hidden("FeedForward")
def network_gradients_and_dtypes(student: Student, rng: Randomness) -> None:
    """Gradients reach x and all four parameters, and float32 stays float32."""
    batch, t, d_model, d_ff = rng.sizes(4)
    state = _network_state(rng, d_model, d_ff)
    module = loaded(student.FeedForward(d_model, d_ff), state)
    x = rng.normal(batch, t, d_model).requires_grad_()
    known = {name: value.clone().requires_grad_() for name, value in state.items()}
    same_gradients(module, module(x), true_network(known, x, ""), [x], known, rng)
    expect(set(module.parameters()) == set(state), "there are other parameters than the two layers'")
    state = _network_state(rng, d_model, d_ff, torch.float32)
    x = rng.normal(batch, t, d_model, dtype=torch.float32)
    close(student.FeedForward(d_model, d_ff).load(state).eval()(x), true_network(state, x, ""))
