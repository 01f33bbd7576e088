"""Hidden tests of chapter 04. References are plain loops over heads and the paper's formula; PyTorch's block where it applies."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, gradients, pair, refused, untouched
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject, Student

LAYERS = ("q_proj", "k_proj", "v_proj", "out_proj")
PAIR = "(output, weights)"
State = dict[str, Tensor]


# references


def _split(x: Tensor, n_heads: int) -> Tensor:
    width = x.shape[-1] // n_heads
    return torch.stack([x[:, :, head * width : (head + 1) * width] for head in range(n_heads)], dim=1)


def _merge(x: Tensor) -> Tensor:
    return torch.cat([x[:, head] for head in range(x.shape[1])], dim=-1)


def _state(rng: Randomness, d_model: int, bias: bool = True, dtype: torch.dtype = torch.float64) -> State:
    """Draw weights under which no score saturates."""
    state = {f"{layer}.weight": rng.normal(d_model, d_model, dtype=dtype, std=d_model**-0.5) for layer in LAYERS}
    return state | ({f"{layer}.bias": rng.normal(d_model, dtype=dtype) for layer in LAYERS} if bias else {})


def _project(state: State, layer: str, x: Tensor) -> Tensor:
    return F.linear(x, state[f"{layer}.weight"], state.get(f"{layer}.bias"))


def _attention(
    state: State, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None,
    removed: tuple[int, ...] = (),
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Multi-head attention head by head; zeros where nothing may be attended to; without the contribution of some heads."""
    q, k, v = (_project(state, layer, x) for layer, x in zip(LAYERS, (query, key, value), strict=False))
    width = q.shape[-1] // n_heads
    heads, all_weights = [], []
    for head in range(n_heads):
        part = slice(head * width, (head + 1) * width)
        scores = torch.einsum("bid,bjd->bij", q[..., part], k[..., part]) / math.sqrt(width)
        weights = _weights(scores, mask, head)
        heads.append((weights @ v[..., part]) * (head not in removed))
        all_weights.append(weights)
    return _project(state, "out_proj", torch.cat(heads, dim=-1)), torch.stack(all_weights, dim=1)


def _weights(scores: Tensor, mask: Tensor | None, head: int) -> Tensor:
    if mask is None:
        return F.softmax(scores, -1)
    if mask.dim() == 4:
        mask = mask[:, head if mask.shape[1] > 1 else 0]
    is_open = mask.any(-1, keepdim=True)
    closed = (~mask & is_open).expand(scores.shape)
    return F.softmax(scores.masked_fill(closed, -math.inf), -1) * is_open


def _built(student: Student, state: State, n_heads: int, **options: float) -> HeldObject:
    """Build the learner's module with these weights, in eval mode."""
    weight = state["q_proj.weight"]
    if "q_proj.bias" not in state:
        options["bias"] = False
    module = student.MultiHeadAttention(weight.shape[0], n_heads, **options)
    return _with_weights(module, state).eval()


def _hosted(student: Student, state: State, n_heads: int) -> HeldObject:
    """Build the course's own module with these weights, in eval mode."""
    bias = "q_proj.bias" in state
    module = student.host("multi_head_attention", state["q_proj.weight"].shape[0], n_heads, bias=bias)
    return _with_weights(module, state).eval()


def _with_weights(module: HeldObject, state: State) -> HeldObject:
    if state["q_proj.weight"].dtype == torch.float64:
        module.to("float64")
    return module.load(state)


def _sizes(rng: Randomness) -> tuple[int, int, int, int, int]:
    """Draw B, H, T_q, T_k and d_model, with d_k different from all of them."""
    batch, n_heads = ((2, 3), (3, 2), (2, 5))[rng.integer(0, 2)]
    width = 6 if n_heads != 2 else 7
    t_q, t_k = rng.sizes(2, 10, 13)
    return batch, n_heads, t_q, t_k, n_heads * width


def _compare(
    student: Student, module: HeldObject, state: State, n_heads: int, inputs: tuple[Tensor, Tensor, Tensor],
    mask: Tensor | None = None, **tolerance: float,
) -> None:  # fmt: skip
    arguments = inputs if mask is None else (*inputs, mask)
    output, weights = pair(module(*arguments), PAIR)
    untouched(student)
    expected_output, expected_weights = _attention(state, n_heads, *inputs, mask)
    close(weights, expected_weights, "the weights", **tolerance)
    close(output, expected_output, "the output", **tolerance)


def _same_state(found: State, expected: State, what: str) -> None:
    for name, value in expected.items():
        expect(name in found, f"{what} has lost a parameter")
        close(found[name], value, f"the parameters of {what}", rtol=0, atol=0)


# split_heads


@hidden("split_heads", weight=3)
def each_head_gets_its_block_of_features(student: Student, rng: Randomness) -> None:
    """Head h holds, for every word in order, the h-th block of neighbouring features."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    for heads in (n_heads, 1, d_model):
        x = rng.normal(batch, t, d_model)
        close(student.split_heads(x, heads), _split(x, heads), "the heads")
        untouched(student)
    for size, length in ((1, t), (batch, 1), (1, 1)):
        x = rng.normal(size, length, d_model)
        close(student.split_heads(x, n_heads), _split(x, n_heads), "the heads of one sentence or one word")


@hidden("split_heads", weight=2)
def splits_what_is_not_contiguous(student: Student, rng: Randomness) -> None:
    """Works on tensors that aren't contiguous in memory."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    for x in (
        rng.normal(t, batch, d_model).transpose(0, 1),
        rng.normal(batch, d_model, t).transpose(1, 2),
        rng.normal(batch, t, 2 * d_model)[..., ::2],
    ):
        close(student.split_heads(x, n_heads), _split(x, n_heads), "the heads")


@hidden("split_heads", weight=2)
def uneven_widths_are_refused(student: Student, rng: Randomness) -> None:
    """A width that the number of heads doesn't divide raises ValueError, and every width that it divides is split."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    for rest in (1, n_heads - 1):
        x = rng.normal(batch, t, d_model + rest)
        refused(lambda x=x: student.split_heads(x, n_heads))
    few = rng.normal(batch, t, n_heads)
    refused(lambda: student.split_heads(few, 2 * n_heads))
    close(student.split_heads(few, n_heads), _split(few, n_heads), "heads of width 1")


@hidden("split_heads")
def split_keeps_dtypes_and_gradients(student: Student, rng: Randomness) -> None:
    """The heads have the dtype of x, and gradients flow back."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = rng.normal(batch, t, d_model, dtype=dtype)
        close(student.split_heads(x, n_heads), _split(x, n_heads), "the heads")
    x = rng.normal(batch, t, d_model).requires_grad_()
    _same_gradients(student.split_heads(x, n_heads), _split(x, n_heads), [x], rng)


# merge_heads


@hidden("merge_heads", weight=3)
def heads_lie_side_by_side(student: Student, rng: Randomness) -> None:
    """Each word gets the features of all heads side by side, all of head 0 first."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    for heads, width in ((n_heads, d_model // n_heads), (1, d_model), (d_model, 1)):
        x = rng.normal(batch, heads, t, width)
        close(student.merge_heads(x), _merge(x), "the merged heads")
        untouched(student)
    for size, length in ((1, t), (batch, 1), (1, 1)):
        x = rng.normal(size, n_heads, length, 4)
        close(student.merge_heads(x), _merge(x), "the merged heads of one sentence or one word")


@hidden("merge_heads", weight=2)
def merges_what_is_not_contiguous(student: Student, rng: Randomness) -> None:
    """Works on tensors in any layout of memory, as they come from a split or from a product."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    width = d_model // n_heads
    for x in (
        rng.normal(batch, t, n_heads, width).transpose(1, 2),
        rng.normal(batch, n_heads, width, t).transpose(2, 3),
        rng.normal(n_heads, batch, t, width).transpose(0, 1),
        rng.normal(batch, n_heads, t, 2 * width)[..., ::2],
    ):
        close(student.merge_heads(x), _merge(x), "the merged heads")


@hidden("merge_heads")
def merge_undoes_a_split(student: Student, rng: Randomness) -> None:
    """Merging gives back what a split into heads took apart, for any number of heads."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    x = rng.normal(batch, t, d_model)
    for heads in (1, n_heads, d_model // n_heads, d_model):
        close(student.merge_heads(_split(x, heads)), x, "the merged heads")


@hidden("merge_heads")
def merge_keeps_dtypes_and_gradients(student: Student, rng: Randomness) -> None:
    """The result has the dtype of the heads, and gradients flow back."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    shape = (batch, n_heads, t, d_model // n_heads)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = rng.normal(*shape, dtype=dtype)
        close(student.merge_heads(x), _merge(x), "the merged heads")
    x = rng.normal(*shape).requires_grad_()
    _same_gradients(student.merge_heads(x), _merge(x), [x], rng)


# MultiHeadAttention


@hidden("MultiHeadAttention", weight=3)
def output_and_weights_follow_the_formula(student: Student, rng: Randomness) -> None:
    """Output and weights are those of the formula, for self-attention and for any number of heads."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    for heads in (n_heads, 1, d_model // n_heads, d_model):
        state = _state(rng, d_model)
        x = rng.normal(batch, t, d_model)
        _compare(student, _built(student, state, heads), state, heads, (x, x, x))
    state, x = _state(rng, d_model), rng.normal(1, 1, d_model)
    _compare(student, _built(student, state, n_heads), state, n_heads, (x, x, x))


@hidden("MultiHeadAttention", weight=2)
def query_key_and_value_may_differ(student: Student, rng: Randomness) -> None:
    """In cross-attention query, key and value are different tensors, and T_q and T_k different numbers."""
    for lengths in (None, (1, 5), (6, 1)):
        batch, n_heads, t_q, t_k, d_model = _sizes(rng)
        t_q, t_k = lengths or (t_q, t_k)
        state = _state(rng, d_model)
        inputs = tuple(rng.normal(batch, t, d_model) for t in (t_q, t_k, t_k))
        _compare(student, _built(student, state, n_heads), state, n_heads, inputs)
    inputs = tuple(rng.normal(t, batch, d_model).transpose(0, 1) for t in (t_q, t_k, t_k))
    _compare(student, _built(student, state, n_heads), state, n_heads, inputs)


@hidden("MultiHeadAttention", weight=1)
def equals_pytorchs(student: Student, rng: Randomness) -> None:
    """With the same weights, output and weights equal those of PyTorch's own block, in float32."""
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    for bias in (True, False):
        state = _state(rng, d_model, bias, torch.float32)
        theirs = nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True).eval()
        theirs.load_state_dict(_packed(state))
        query, memory = (rng.normal(batch, t, d_model, dtype=torch.float32) for t in (t_q, t_k))
        mask = rng.mask(t_q, t_k)
        found = pair(_built(student, state, n_heads)(query, memory, memory, mask), PAIR)
        expected = theirs(query, memory, memory, attn_mask=~mask, average_attn_weights=False)
        close(found[0], expected[0], "the output")
        close(found[1], expected[1], "the weights")


@hidden("MultiHeadAttention", weight=2)
def one_mask_for_everything(student: Student, rng: Randomness) -> None:
    """A mask of two dimensions holds for every sentence and every head; True means: may attend."""
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    state = _state(rng, d_model)
    module = _built(student, state, n_heads)
    inputs = tuple(rng.normal(batch, t, d_model) for t in (t_q, t_k, t_k))
    for mask in (rng.mask(t_q, t_k), rng.mask(1, t_k), torch.ones(t_q, t_k, dtype=torch.bool)):
        _compare(student, module, state, n_heads, inputs, mask)
    x = rng.normal(batch, t_q, d_model)
    _compare(student, module, state, n_heads, (x, x, x), torch.ones(t_q, t_q).tril().bool())


@hidden("MultiHeadAttention", weight=3)
def one_mask_per_sentence(student: Student, rng: Randomness) -> None:
    """A mask of three dimensions is one per sentence and holds for every head, also where B = H or B = 1."""
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    state = _state(rng, d_model)
    module = _built(student, state, n_heads)
    for size in (batch, n_heads, 1):
        inputs = tuple(rng.normal(size, t, d_model) for t in (t_q, t_k, t_k))
        for shape in ((size, 1, t_k), (size, t_q, t_k), (1, t_q, t_k)):
            _compare(student, module, state, n_heads, inputs, rng.mask(*shape))


@hidden("MultiHeadAttention", weight=2)
def one_mask_per_head(student: Student, rng: Randomness) -> None:
    """A mask of four dimensions is used as it is, with sizes of 1 wherever it broadcasts."""
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    state = _state(rng, d_model)
    module = _built(student, state, n_heads)
    inputs = tuple(rng.normal(batch, t, d_model) for t in (t_q, t_k, t_k))
    shapes = ((batch, n_heads, t_q, t_k), (1, n_heads, 1, t_k), (batch, 1, 1, t_k), (batch, 1, t_q, t_k))
    for shape in shapes:
        _compare(student, module, state, n_heads, inputs, rng.mask(*shape))


@hidden("MultiHeadAttention", weight=2)
def nothing_to_attend_to_gives_zero_weights(student: Student, rng: Randomness) -> None:
    """A query that may attend to nothing gets weights 0 and out_proj's bias as output; nothing is NaN, gradients neither."""
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    for bias in (True, False):
        state = _state(rng, d_model, bias)
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
        _same_gradients(found, _attention(state, n_heads, *learning, padding)[0], learning, rng)


@hidden("MultiHeadAttention")
def extreme_scores_are_no_trouble(student: Student, rng: Randomness) -> None:
    """Very large and very negative scores overflow nothing, and no masked key shines through."""
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    state = _state(rng, d_model, bias=False)
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
    batch, n_heads, t, _, d_model = _sizes(rng)
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
        state = _state(rng, d_model, bias, torch.float32)
        _compare(student, module.load(state), state, n_heads, (x, x, x))


@hidden("MultiHeadAttention", weight=2)
def uneven_numbers_of_heads_are_refused(student: Student, rng: Randomness) -> None:
    """The constructor raises ValueError where n_heads doesn't divide d_model, and builds where it does."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    for wrong in (d_model + 1, d_model + n_heads - 1):
        refused(lambda wrong=wrong: student.MultiHeadAttention(wrong, n_heads))
    refused(lambda: student.MultiHeadAttention(d_model, 2 * d_model))
    state, x = _state(rng, d_model), rng.normal(batch, t, d_model)
    _compare(student, _built(student, state, n_heads), state, n_heads, (x, x, x))


def _echo(student: Student, n_heads: int, width: int, dropout: float) -> HeldObject:
    """Build a module whose heads hand on their values: every layer is the identity."""
    identity = torch.eye(n_heads * width)
    module = student.MultiHeadAttention(n_heads * width, n_heads, dropout=dropout, bias=False)
    return module.load({f"{layer}.weight": identity for layer in LAYERS})


@hidden("MultiHeadAttention", weight=2)
def dropout_acts_in_train_mode_only(student: Student, rng: Randomness) -> None:
    """In eval mode dropout does nothing, in train mode two calls differ, and with p = 0 train mode equals eval mode."""
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    state = _state(rng, d_model)
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
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    for dtype in (torch.float32, torch.float64):
        state = _state(rng, d_model, dtype=dtype)
        module = _built(student, state, n_heads)
        inputs = tuple(rng.normal(batch, t, d_model, dtype=dtype) for t in (t_q, t_k, t_k))
        for mask in (None, rng.mask(t_q, t_k), rng.mask(batch, 1, t_k)):
            _compare(student, module, state, n_heads, inputs, mask)


@hidden("MultiHeadAttention", weight=2)
def gradients_reach_inputs_and_layers(student: Student, rng: Randomness) -> None:
    """Gradients flow back from output and weights to query, key and value, and from the output to every layer."""
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    state = _state(rng, d_model)
    module = _built(student, state, n_heads)
    mask = rng.mask(batch, t_q, t_k)
    for part in (0, 1):
        inputs = [rng.normal(batch, t, d_model).requires_grad_() for t in (t_q, t_k, t_k)]
        known = {name: value.clone().requires_grad_() for name, value in state.items()}
        module.zero_grad()
        found = pair(module(*inputs, mask), PAIR)[part]
        expected = _attention(known, n_heads, *inputs, mask)[part]
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


# copy_from_torch


def _packed(state: State) -> State:
    """Give the weights as PyTorch's block keeps them."""
    packed = {"in_proj_weight": torch.cat([state[f"{layer}.weight"] for layer in LAYERS[:3]])}
    packed["out_proj.weight"] = state["out_proj.weight"]
    if "q_proj.bias" in state:
        packed["in_proj_bias"] = torch.cat([state[f"{layer}.bias"] for layer in LAYERS[:3]])
        packed["out_proj.bias"] = state["out_proj.bias"]
    return packed


def _pairs(student: Student, rng: Randomness) -> Iterator[tuple[State, int, HeldObject, HeldObject]]:
    """Give (weights, number of heads, mine, theirs) after the copy, with biases and without."""
    for bias in (True, False):
        _batch, n_heads, _t_q, _t_k, d_model = _sizes(rng)
        state = _state(rng, d_model, bias, torch.float32)
        mine = _hosted(student, _state(rng, d_model, bias, torch.float32), n_heads)
        theirs = student.host("torch_multihead_attention", d_model, n_heads, bias=bias).load(_packed(state))
        student.copy_from_torch(mine, theirs)
        yield state, n_heads, mine, theirs


@hidden("copy_from_torch", weight=3)
def all_weights_are_copied(student: Student, rng: Randomness) -> None:
    """Weights and biases of all four layers become PyTorch's, each in its place, with biases or without."""
    for state, _n_heads, mine, _theirs in _pairs(student, rng):
        _same_state(mine.parameters(), state, "mine")


@hidden("copy_from_torch", weight=2)
def both_give_the_same_output(student: Student, rng: Randomness) -> None:
    """After the copy, both give the same output and weights."""
    for state, n_heads, mine, _theirs in _pairs(student, rng):
        d_model = state["q_proj.weight"].shape[0]
        query, memory = (rng.normal(2, t, d_model, dtype=torch.float32) for t in rng.sizes(2))
        output, weights = pair(mine(query, memory, memory), PAIR)
        expected_output, expected_weights = _attention(state, n_heads, query, memory, memory)
        close(output, expected_output, "the output")
        close(weights, expected_weights, "the weights")


@hidden("copy_from_torch", weight=2)
def values_are_copied_and_not_storage(student: Student, rng: Randomness) -> None:
    """Changing one of the two later doesn't change the other."""
    for state, _n_heads, mine, theirs in _pairs(student, rng):
        theirs.load({name: value + 1 for name, value in _packed(state).items()})
        _same_state(mine.parameters(), state, "mine, after theirs has changed,")
        mine.load({name: value - 1 for name, value in state.items()})
        _same_state(
            theirs.parameters(), {n: v + 1 for n, v in _packed(state).items()}, "theirs, after mine has changed,"
        )


@hidden("copy_from_torch", weight=2)
def everything_can_still_be_trained(student: Student, rng: Randomness) -> None:
    """After the copy all parameters still learn: they ask for gradients, and get them."""
    for state, n_heads, mine, theirs in _pairs(student, rng):
        _same_state(mine.parameters(), state, "mine")
        expect(all(mine.trainable().get(name, False) for name in state), "parameters of mine don't learn any more")
        expect(all(theirs.trainable().values()), "parameters of theirs don't learn any more")
        x = rng.normal(2, 5, state["q_proj.weight"].shape[0], dtype=torch.float32).requires_grad_()
        output = pair(mine(x, x, x), PAIR)[0]
        close(output, _attention(state, n_heads, x, x, x)[0], "the output")
        gradients(output, torch.ones_like(output), [x])
        expect(set(state) <= set(mine.gradients()), "the gradient doesn't reach every layer of mine")


@hidden("copy_from_torch")
def the_source_stays_as_it_was(student: Student, rng: Randomness) -> None:
    """PyTorch's block isn't changed by the copy."""
    for state, _n_heads, mine, theirs in _pairs(student, rng):
        _same_state(theirs.parameters(), _packed(state), "theirs")
        _same_state(mine.parameters(), state, "mine")


@hidden("copy_from_torch")
def copies_in_float64_too(student: Student, rng: Randomness) -> None:
    """In float64 nothing is rounded."""
    _batch, n_heads, _t_q, _t_k, d_model = _sizes(rng)
    state = _state(rng, d_model)
    mine = _hosted(student, _state(rng, d_model), n_heads)
    theirs = student.host("torch_multihead_attention", d_model, n_heads).to("float64").load(_packed(state))
    student.copy_from_torch(mine, theirs)
    _same_state(mine.parameters(), state, "mine")


# without_head


def _without(student: Student, rng: Randomness, bias: bool, dtype: torch.dtype = torch.float32) -> tuple:
    batch, n_heads, t_q, t_k, d_model = _sizes(rng)
    state = _state(rng, d_model, bias, dtype)
    query, memory = (rng.normal(batch, t, d_model, dtype=dtype) for t in (t_q, t_k))
    return state, n_heads, _hosted(student, state, n_heads), query, memory


@hidden("without_head", weight=3)
def the_head_adds_nothing(student: Student, rng: Randomness) -> None:
    """The output is that of all other heads plus out_proj's bias, whichever head is taken away, with biases or without."""
    for bias in (True, False):
        state, n_heads, mha, x, memory = _without(student, rng, bias)
        for head in range(n_heads):
            output, _weights = pair(student.without_head(mha, head).eval()(x, memory, memory), PAIR)
            close(output, _attention(state, n_heads, x, memory, memory, removed=(head,))[0], "the output")


@hidden("without_head", weight=2)
def the_original_keeps_its_head(student: Student, rng: Randomness) -> None:
    """The original gives what it gave before, and its parameters are what they were."""
    state, n_heads, mha, x, memory = _without(student, rng, bias=True)
    head = rng.integer(0, n_heads - 1)
    output, _weights = pair(student.without_head(mha, head).eval()(x, memory, memory), PAIR)
    close(output, _attention(state, n_heads, x, memory, memory, removed=(head,))[0], "the output of the copy")
    _same_state(mha.parameters(), state, "the original")
    close(
        pair(mha(x, memory, memory), PAIR)[0], _attention(state, n_heads, x, memory, memory)[0], "the original's output"
    )
    expect(all(mha.trainable().values()), "parameters of the original don't learn any more")


@hidden("without_head", weight=2)
def original_and_copy_share_nothing(student: Student, rng: Randomness) -> None:
    """Changing the original later doesn't change the copy."""
    state, n_heads, mha, x, memory = _without(student, rng, bias=True)
    head = rng.integer(0, n_heads - 1)
    silenced = student.without_head(mha, head).eval()
    mha.load({name: value + 1 for name, value in state.items()})
    output, _weights = pair(silenced(x, memory, memory), PAIR)
    close(output, _attention(state, n_heads, x, memory, memory, removed=(head,))[0], "the output of the copy")


@hidden("without_head", weight=2)
def the_copy_is_a_whole_attention(student: Student, rng: Randomness) -> None:
    """The copy takes masks, gives the other heads' weights in their places, and heads can be taken from it again."""
    state, n_heads, mha, x, memory = _without(student, rng, bias=True)
    first, second = rng.order(n_heads)[:2].tolist()
    silenced = student.without_head(mha, first).eval()
    mask = rng.mask(x.shape[0], x.shape[1], memory.shape[1])
    expected = _attention(state, n_heads, x, memory, memory, mask, removed=(first,))
    output, weights = pair(silenced(x, memory, memory, mask), PAIR)
    close(output, expected[0], "the output")
    others = [head for head in range(n_heads) if head != first]
    expect(a_tensor(weights, "the weights").shape == expected[1].shape, "wrong shape: the weights")
    close(weights[:, others], expected[1][:, others], "the weights of the other heads")
    expect(silenced.attribute("n_heads") == n_heads, "n_heads isn't that of the original")
    output, _weights = pair(student.without_head(silenced, second).eval()(x, memory, memory), PAIR)
    removed = (first, second)
    close(output, _attention(state, n_heads, x, memory, memory, removed=removed)[0], "the output without two heads")


@hidden("without_head")
def the_copy_has_the_originals_dtype(student: Student, rng: Randomness) -> None:
    """A copy of a module in float64 computes in float64."""
    state, n_heads, mha, x, memory = _without(student, rng, bias=True, dtype=torch.float64)
    head = rng.integer(0, n_heads - 1)
    output, _weights = pair(student.without_head(mha, head).eval()(x, memory, memory), PAIR)
    close(output, _attention(state, n_heads, x, memory, memory, removed=(head,))[0], "the output")


# KVCache


def _causal(state: State, n_heads: int, x: Tensor) -> Tensor:
    length = x.shape[1]
    return _attention(state, n_heads, x, x, x, torch.ones(length, length).tril().bool())[0]


def _step(student: Student, cache: HeldObject, token: Tensor) -> Tensor:
    output = a_tensor(cache.method("step", token), "the output of a step")
    untouched(student)
    expect(output.shape == token.shape, "wrong shape: the output of a step")
    return output


def _steps(student: Student, cache: HeldObject, x: Tensor) -> Tensor:
    return torch.cat([_step(student, cache, token) for token in x.split(1, dim=1)], dim=1)


@hidden("KVCache", weight=3)
def steps_equal_the_whole_sentence(student: Student, rng: Randomness) -> None:
    """Step by step, the outputs are those of causal attention over the whole sentence, for several sentences at once."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    state = _state(rng, d_model)
    mha = _hosted(student, state, n_heads)
    for size, length in ((batch, t), (1, 3), (n_heads, 5)):
        x = rng.normal(size, length, d_model)
        close(_steps(student, student.KVCache(mha), x), _causal(state, n_heads, x), "the steps' outputs")


@hidden("KVCache", weight=2)
def every_number_of_heads_works(student: Student, rng: Randomness) -> None:
    """Works for any number of heads, with biases or without."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    for heads, bias in ((1, True), (d_model, False), (n_heads, False)):
        state = _state(rng, d_model, bias)
        x = rng.normal(batch, t, d_model)
        cache = student.KVCache(_hosted(student, state, heads))
        close(_steps(student, cache, x), _causal(state, heads, x), "the steps' outputs")


@hidden("KVCache", weight=2)
def caches_share_no_memory(student: Student, rng: Randomness) -> None:
    """Several caches of one module run side by side without seeing each other, also with different batches."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    state = _state(rng, d_model)
    mha = _hosted(student, state, n_heads)
    texts = [rng.normal(batch, t, d_model), rng.normal(batch, t, d_model), rng.normal(batch + 1, t, d_model)]
    caches = [student.KVCache(mha) for _ in texts]
    outputs: list[list[Tensor]] = [[] for _ in texts]
    for position in range(t):
        for cache, text, steps in zip(caches, texts, outputs, strict=True):
            steps.append(_step(student, cache, text[:, position : position + 1]))
    for text, steps in zip(texts, outputs, strict=True):
        close(torch.cat(steps, dim=1), _causal(state, n_heads, text), "the steps' outputs")


@hidden("KVCache")
def cache_keeps_float32(student: Student, rng: Randomness) -> None:
    """The outputs have the dtype of the tokens, in float32 as in float64."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    for dtype in (torch.float32, torch.float64):
        state = _state(rng, d_model, dtype=dtype)
        x = rng.normal(batch, t, d_model, dtype=dtype)
        cache = student.KVCache(_hosted(student, state, n_heads))
        close(_steps(student, cache, x), _causal(state, n_heads, x), "the steps' outputs")


@hidden("KVCache")
def the_module_stays_as_it_was(student: Student, rng: Randomness) -> None:
    """The cache leaves the module that it uses as it was."""
    batch, n_heads, t, _, d_model = _sizes(rng)
    state = _state(rng, d_model)
    mha = _hosted(student, state, n_heads)
    x = rng.normal(batch, t, d_model)
    close(_steps(student, student.KVCache(mha), x), _causal(state, n_heads, x), "the steps' outputs")
    _same_state(mha.parameters(), state, "the module")
    close(pair(mha(x, x, x), PAIR)[0], _attention(state, n_heads, x, x, x)[0], "the module's output")


# shared


def _same_gradients(found: object, expected: Tensor, inputs: list[Tensor], rng: Randomness) -> None:
    close(found, expected)
    cotangent = rng.normal(*expected.shape)
    arrived = gradients(found, cotangent, inputs)
    wanted = torch.autograd.grad(expected, inputs, cotangent, allow_unused=True)
    for gradient, correct in zip(arrived, wanted, strict=True):
        close(gradient, correct, "the gradient")
