"""Hidden tests of chapter 04's MultiHeadAttention. References are the formula, and PyTorch's block where it applies."""

import torch
from torch import Tensor, nn

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, gradients, pair, refused, untouched
from autograder.hidden.multi_head_reference import (
    LAYERS,
    PAIR,
    State,
    draw_sizes,
    draw_state,
    packed_state,
    same_gradients,
    true_attention,
    with_weights,
)
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject, Student


def _built(student: Student, state: State, n_heads: int, **options: float) -> HeldObject:
    """Build the learner's module with these weights, in eval mode."""
    weight = state["q_proj.weight"]
    if "q_proj.bias" not in state:
        options["bias"] = False
    module = student.MultiHeadAttention(weight.shape[0], n_heads, **options)
    return with_weights(module, state).eval()


def _compare(
    student: Student, module: HeldObject, state: State, n_heads: int, inputs: tuple[Tensor, Tensor, Tensor],
    mask: Tensor | None = None, **tolerance: float,
) -> None:  # fmt: skip
    arguments = inputs if mask is None else (*inputs, mask)
    output, weights = pair(module(*arguments), PAIR)
    untouched(student)
    expected_output, expected_weights = true_attention(state, n_heads, *inputs, mask)
    close(weights, expected_weights, "the weights", **tolerance)
    close(output, expected_output, "the output", **tolerance)


@hidden("MultiHeadAttention", weight=3)
def output_and_weights_follow_the_formula(student: Student, rng: Randomness) -> None:
    """Output and weights are those of the formula, for self-attention and for any number of heads."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    for heads in (n_heads, 1, d_model // n_heads, d_model):
        state = draw_state(rng, d_model)
        x = rng.normal(batch, t, d_model)
        _compare(student, _built(student, state, heads), state, heads, (x, x, x))
    state, x = draw_state(rng, d_model), rng.normal(1, 1, d_model)
    _compare(student, _built(student, state, n_heads), state, n_heads, (x, x, x))


@hidden("MultiHeadAttention", weight=2)
def query_key_and_value_may_differ(student: Student, rng: Randomness) -> None:
    """In cross-attention query, key and value are different tensors, and T_q and T_k different numbers."""
    for lengths in (None, (1, 5), (6, 1)):
        batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
        t_q, t_k = lengths or (t_q, t_k)
        state = draw_state(rng, d_model)
        inputs = tuple(rng.normal(batch, t, d_model) for t in (t_q, t_k, t_k))
        _compare(student, _built(student, state, n_heads), state, n_heads, inputs)
    inputs = tuple(rng.normal(t, batch, d_model).transpose(0, 1) for t in (t_q, t_k, t_k))
    _compare(student, _built(student, state, n_heads), state, n_heads, inputs)


@hidden("MultiHeadAttention", weight=1)
def equals_pytorchs(student: Student, rng: Randomness) -> None:
    """With the same weights, output and weights equal those of PyTorch's own block, in float32."""
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    for bias in (True, False):
        state = draw_state(rng, d_model, bias, torch.float32)
        theirs = nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True).eval()
        theirs.load_state_dict(packed_state(state))
        query, memory = (rng.normal(batch, t, d_model, dtype=torch.float32) for t in (t_q, t_k))
        mask = rng.mask(t_q, t_k)
        found = pair(_built(student, state, n_heads)(query, memory, memory, mask), PAIR)
        expected = theirs(query, memory, memory, attn_mask=~mask, average_attn_weights=False)
        close(found[0], expected[0], "the output")
        close(found[1], expected[1], "the weights")


@hidden("MultiHeadAttention", weight=2)
def one_mask_for_everything(student: Student, rng: Randomness) -> None:
    """A mask of two dimensions holds for every sentence and every head; True means: may attend."""
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model)
    module = _built(student, state, n_heads)
    inputs = tuple(rng.normal(batch, t, d_model) for t in (t_q, t_k, t_k))
    for mask in (rng.mask(t_q, t_k), rng.mask(1, t_k), torch.ones(t_q, t_k, dtype=torch.bool)):
        _compare(student, module, state, n_heads, inputs, mask)
    x = rng.normal(batch, t_q, d_model)
    _compare(student, module, state, n_heads, (x, x, x), torch.ones(t_q, t_q).tril().bool())


@hidden("MultiHeadAttention", weight=3)
def one_mask_per_sentence(student: Student, rng: Randomness) -> None:
    """A mask of three dimensions is one per sentence and holds for every head, also where B = H or B = 1."""
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model)
    module = _built(student, state, n_heads)
    for size in (batch, n_heads, 1):
        inputs = tuple(rng.normal(size, t, d_model) for t in (t_q, t_k, t_k))
        for shape in ((size, 1, t_k), (size, t_q, t_k), (1, t_q, t_k)):
            _compare(student, module, state, n_heads, inputs, rng.mask(*shape))


@hidden("MultiHeadAttention", weight=2)
def one_mask_per_head(student: Student, rng: Randomness) -> None:
    """A mask of four dimensions is used as it is, with sizes of 1 wherever it broadcasts."""
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model)
    module = _built(student, state, n_heads)
    inputs = tuple(rng.normal(batch, t, d_model) for t in (t_q, t_k, t_k))
    shapes = ((batch, n_heads, t_q, t_k), (1, n_heads, 1, t_k), (batch, 1, 1, t_k), (batch, 1, t_q, t_k))
    for shape in shapes:
        _compare(student, module, state, n_heads, inputs, rng.mask(*shape))


@hidden("MultiHeadAttention", weight=2)
def nothing_to_attend_to_gives_zero_weights(student: Student, rng: Randomness) -> None:
    """A query that may attend to nothing gets weights 0 and out_proj's bias as output; nothing is NaN, gradients neither."""
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    for bias in (True, False):
        state = draw_state(rng, d_model, bias)
        module = _built(student, state, n_heads)
        inputs = tuple(rng.normal(batch, t, d_model) for t in (t_q, t_k, t_k))
        padding, rows, per_head = rng.mask(batch, 1, t_k), rng.mask(t_q, t_k), rng.mask(batch, n_heads, t_q, t_k)
        padding[rng.integer(0, batch - 1)] = False
        rows[rng.integer(0, t_q - 1)] = False
        per_head[:, rng.integer(0, n_heads - 1), rng.integer(0, t_q - 1)] = False
        for mask in (padding, rows, per_head):
            _compare(student, module, state, n_heads, inputs, mask)
        learning = [tensor.clone().requires_grad_() for tensor in inputs]
        found = pair(module(*learning, padding), PAIR)[0]
        same_gradients(found, true_attention(state, n_heads, *learning, padding)[0], learning, rng)


@hidden("MultiHeadAttention")
def extreme_scores_are_no_trouble(student: Student, rng: Randomness) -> None:
    """Very large and very negative scores overflow nothing, and no masked key shines through."""
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model, bias=False)
    for sign in (1, -1):
        extreme = dict(state)
        extreme["q_proj.weight"] = 30 * torch.eye(d_model, dtype=torch.float64)
        extreme["k_proj.weight"] = sign * 30 * torch.eye(d_model, dtype=torch.float64)
        query, memory = (3 + rng.normal(batch, t, d_model, std=1e-3) for t in (t_q, t_k))
        module = _built(student, extreme, n_heads)
        _compare(student, module, extreme, n_heads, (query, memory, memory), rng.mask(t_q, t_k), rtol=1e-5, atol=1e-7)


@hidden("MultiHeadAttention", weight=2)
def parameters_are_the_contracts(student: Student, rng: Randomness) -> None:
    """The four layers have their names and shapes, with biases or without; n_heads is kept; constructor arguments may be positional."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    x = rng.normal(batch, t, d_model, dtype=torch.float32)
    for bias in (True, False):
        module = student.MultiHeadAttention(d_model, n_heads, 0.0, bias).eval()
        found = module.parameters()
        for layer in LAYERS:
            weight = found.get(f"{layer}.weight")
            expect(
                weight is not None and weight.shape == (d_model, d_model), f"{layer} has no weight of the right shape"
            )
            expect((f"{layer}.bias" in found) == bias, f"{layer} doesn't follow the argument bias")
        expect(all(module.trainable()[f"{layer}.weight"] for layer in LAYERS), "some weights can't be trained")
        expect(module.attribute("n_heads") == n_heads, "n_heads isn't the number of heads")
        state = draw_state(rng, d_model, bias, torch.float32)
        _compare(student, module.load(state), state, n_heads, (x, x, x))


@hidden("MultiHeadAttention", weight=2)
def uneven_numbers_of_heads_are_refused(student: Student, rng: Randomness) -> None:
    """The constructor raises ValueError where n_heads doesn't divide d_model, and builds where it does."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    for wrong in (d_model + 1, d_model + n_heads - 1):
        refused(lambda wrong=wrong: student.MultiHeadAttention(wrong, n_heads))
    refused(lambda: student.MultiHeadAttention(d_model, 2 * d_model))
    state, x = draw_state(rng, d_model), rng.normal(batch, t, d_model)
    _compare(student, _built(student, state, n_heads), state, n_heads, (x, x, x))


def _echo(student: Student, n_heads: int, width: int, dropout: float) -> HeldObject:
    """Build a module whose heads hand on their values: every layer is the identity."""
    identity = torch.eye(n_heads * width)
    module = student.MultiHeadAttention(n_heads * width, n_heads, dropout=dropout, bias=False)
    return module.load({f"{layer}.weight": identity for layer in LAYERS})


@hidden("MultiHeadAttention", weight=2)
def dropout_acts_in_train_mode_only(student: Student, rng: Randomness) -> None:
    """In eval mode dropout does nothing, in train mode two calls differ, and with p = 0 train mode equals eval mode."""
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model)
    inputs = tuple(rng.normal(batch, t, d_model) for t in (t_q, t_k, t_k))
    student.seed(rng.integer(0, 10**6))
    module = _built(student, state, n_heads, dropout=0.5)
    for _ in range(2):
        _compare(student, module, state, n_heads, inputs)
    module.train()
    first, second = (a_tensor(pair(module(*inputs), PAIR)[0], "the output") for _ in range(2))
    expect(first.shape == second.shape == (batch, t_q, d_model), "wrong shape: the output in train mode")
    expect(not torch.allclose(first, second), "dropout does nothing in train mode")
    _compare(student, module.eval(), state, n_heads, inputs)
    _compare(student, _built(student, state, n_heads, dropout=0.0).train(), state, n_heads, inputs)


@hidden("MultiHeadAttention", weight=2)
def dropout_drops_weights(student: Student, rng: Randomness) -> None:
    """Dropout drops attention weights at the given rate and divides those that stay by 1 − p."""
    n_heads, width, t_q = 3, 5, 40
    value = 1 + rng.normal(8, 1, n_heads * width, dtype=torch.float32).abs()
    query = rng.normal(8, t_q, n_heads * width, dtype=torch.float32)
    student.seed(rng.integer(0, 10**6))
    for rate in (0.2, 0.5):
        module = _echo(student, n_heads, width, rate)
        close(pair(module.eval()(query, value, value), PAIR)[0], value.expand(8, t_q, -1), "the output in eval mode")
        found = a_tensor(pair(module.train()(query, value, value), PAIR)[0], "the output").detach()
        expect(found.shape == (8, t_q, n_heads * width), "wrong shape: the output in train mode")
        ratio = (found / value).unflatten(-1, (n_heads, width))  # with one key, each head keeps its value or drops it
        kept = ratio[..., 0] > 0.5
        expect(
            bool(torch.allclose(ratio, ratio[..., :1].expand_as(ratio), atol=1e-4)),
            "something else is dropped than weights",
        )
        share = 1 - kept.double().mean().item()
        expect(abs(share - rate) < 0.12, "another share of the weights is dropped than the argument says")
        expected = torch.where(kept, 1 / (1 - rate), 0.0)
        expect(bool(torch.allclose(ratio[..., 0], expected, atol=1e-3)), "weights that stay aren't divided by 1 − p")


@hidden("MultiHeadAttention")
def attention_keeps_dtypes(student: Student, rng: Randomness) -> None:
    """Output and weights have the dtype of inputs and parameters, with its full precision, masked or not."""
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    for dtype in (torch.float32, torch.float64):
        state = draw_state(rng, d_model, dtype=dtype)
        module = _built(student, state, n_heads)
        inputs = tuple(rng.normal(batch, t, d_model, dtype=dtype) for t in (t_q, t_k, t_k))
        for mask in (None, rng.mask(t_q, t_k), rng.mask(batch, 1, t_k)):
            _compare(student, module, state, n_heads, inputs, mask)


@hidden("MultiHeadAttention", weight=2)
def gradients_reach_inputs_and_layers(student: Student, rng: Randomness) -> None:
    """Gradients flow back from output and weights to query, key and value, and from the output to every layer."""
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model)
    module = _built(student, state, n_heads)
    mask = rng.mask(batch, t_q, t_k)
    for part in (0, 1):
        inputs = [rng.normal(batch, t, d_model).requires_grad_() for t in (t_q, t_k, t_k)]
        known = {name: value.clone().requires_grad_() for name, value in state.items()}
        module.zero_grad()
        found = pair(module(*inputs, mask), PAIR)[part]
        expected = true_attention(known, n_heads, *inputs, mask)[part]
        close(found, expected)
        cotangent = rng.normal(*expected.shape)
        used = inputs[: 3 - part]
        arrived = gradients(found, cotangent, used)
        wanted = torch.autograd.grad(expected, [*used, *known.values()], cotangent, allow_unused=True)
        for gradient, correct in zip(arrived, wanted, strict=False):
            close(gradient, correct, "the gradient")
        if part == 0:
            left = module.gradients()
            for name, correct in zip(known, wanted[len(used) :], strict=True):
                expect(name in left, "the gradient doesn't reach every layer")
                close(left[name], correct, "the gradient of a layer")
