"""Hidden tests of chapter 06, its parts: layer norm, feed-forward, encoder and decoder layer.

References are PyTorch's own layers with the same weights; plain loops and the formula where a row has nothing to attend to.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, gradients, untouched
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject, Student

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
State = dict[str, Tensor]


# weights


def _linear(rng: Randomness, name: str, d_in: int, d_out: int, dtype: torch.dtype) -> State:
    weight = rng.normal(d_out, d_in, dtype=dtype, std=d_in**-0.5)
    return {f"{name}.weight": weight, f"{name}.bias": rng.normal(d_out, dtype=dtype, std=0.5)}


def _norm(rng: Randomness, name: str, d_model: int, dtype: torch.dtype) -> State:
    weight = 1 + rng.normal(d_model, dtype=dtype, std=0.3)
    return {f"{name}.weight": weight, f"{name}.bias": rng.normal(d_model, dtype=dtype, std=0.5)}


def _layer_state(
    rng: Randomness, d_model: int, d_ff: int, attentions: tuple[str, ...], dtype: torch.dtype = torch.float64
) -> State:
    """Draw weights of a whole layer: attentions, feed-forward network, and one norm more than attentions."""
    state: State = {}
    for attention in attentions:
        for layer in PROJECTIONS:
            state |= _linear(rng, f"{attention}.{layer}", d_model, d_model, dtype)
    state |= _linear(rng, "feed_forward.linear_1", d_model, d_ff, dtype)
    state |= _linear(rng, "feed_forward.linear_2", d_ff, d_model, dtype)
    for number in range(1, len(attentions) + 2):
        state |= _norm(rng, f"norm_{number}", d_model, dtype)
    return state


def _encoder_state(rng: Randomness, d_model: int, d_ff: int, dtype: torch.dtype = torch.float64) -> State:
    return _layer_state(rng, d_model, d_ff, ("attention",), dtype)


def _decoder_state(rng: Randomness, d_model: int, d_ff: int, dtype: torch.dtype = torch.float64) -> State:
    return _layer_state(rng, d_model, d_ff, ("self_attention", "cross_attention"), dtype)


def _loaded(module: HeldObject, state: State) -> HeldObject:
    """Put weights into a module of the learner's, and into eval mode."""
    if next(iter(state.values())).dtype == torch.float64:
        module.to("float64")
    return module.load(state).eval()


def _sizes(rng: Randomness) -> tuple[int, int, int, int, int, int]:
    """Draw B, H, T, T_memory, d_model and d_ff."""
    batch, n_heads = ((2, 3), (3, 2), (2, 5))[rng.integer(0, 2)]
    t, t_memory = rng.sizes(2, 10, 13)
    d_model = n_heads * (6 if n_heads != 2 else 7)
    return batch, n_heads, t, t_memory, d_model, 2 * d_model + 5


# references


def _attention(state: State, name: str, n_heads: int, query: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
    """Attend head by head; zeros before out_proj where nothing may be attended to."""
    q, k, v = (
        F.linear(x, state[f"{name}.{layer}.weight"], state[f"{name}.{layer}.bias"])
        for layer, x in zip(PROJECTIONS, (query, memory, memory), strict=False)
    )
    width, heads = q.shape[-1] // n_heads, []
    for head in range(n_heads):
        part = slice(head * width, (head + 1) * width)
        scores = torch.einsum("bid,bjd->bij", q[..., part], k[..., part]) / math.sqrt(width)
        if mask is None:
            weights = F.softmax(scores, -1)
        else:
            is_open = mask.any(-1, keepdim=True)
            closed = (~mask & is_open).expand(scores.shape)
            weights = F.softmax(scores.masked_fill(closed, -math.inf), -1) * is_open
        heads.append(weights @ v[..., part])
    return F.linear(torch.cat(heads, -1), state[f"{name}.out_proj.weight"], state[f"{name}.out_proj.bias"])


def _normed(state: State, number: int, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], state[f"norm_{number}.weight"], state[f"norm_{number}.bias"])


def _network(state: State, x: Tensor, prefix: str = "feed_forward.") -> Tensor:
    hidden_units = F.linear(x, state[f"{prefix}linear_1.weight"], state[f"{prefix}linear_1.bias"])
    return F.linear(F.relu(hidden_units), state[f"{prefix}linear_2.weight"], state[f"{prefix}linear_2.bias"])


def _encoded(state: State, n_heads: int, x: Tensor, mask: Tensor | None = None) -> Tensor:
    x = _normed(state, 1, x + _attention(state, "attention", n_heads, x, x, mask))
    return _normed(state, 2, x + _network(state, x))


def _decoded(
    state: State, n_heads: int, x: Tensor, memory: Tensor, own: Tensor | None = None, cross: Tensor | None = None
) -> Tensor:
    x = _normed(state, 1, x + _attention(state, "self_attention", n_heads, x, x, own))
    x = _normed(state, 2, x + _attention(state, "cross_attention", n_heads, x, memory, cross))
    return _normed(state, 3, x + _network(state, x))


def _packed(state: State, attentions: dict[str, str]) -> State:
    """Give a layer's weights under PyTorch's names."""
    theirs = {}
    for mine, name in attentions.items():
        for kind in ("weight", "bias"):
            theirs[f"{name}.in_proj_{kind}"] = torch.cat([state[f"{mine}.{p}.{kind}"] for p in PROJECTIONS[:3]])
            theirs[f"{name}.out_proj.{kind}"] = state[f"{mine}.out_proj.{kind}"]
    for name, value in state.items():
        if name.startswith(("feed_forward.", "norm_")):
            theirs[name.removeprefix("feed_forward.").replace("_", "")] = value
    return theirs


def _torch_mask(mask: Tensor | None, n_heads: int, t_q: int) -> Tensor | None:
    """Turn a mask of ours into one of PyTorch's: True = closed, one per sentence and head."""
    if mask is None or mask.dim() == 2:
        return None if mask is None else ~mask
    return ~mask.expand(-1, t_q, -1).repeat_interleave(n_heads, dim=0)


# dropout, seen through norms


def _dropout_of(output: Tensor, marked: Tensor) -> tuple[float, float]:
    """Find the dropped share and the size of what stays, where a sublayer gives 1 everywhere.

    Features of x are 0, or 2 where `marked`, which has variance 1, so that earlier norms leave the distance between the
    two kinds as it is. The last norm shifts and stretches; so sizes are measured by this distance.
    """
    low, high = output[..., ~marked], output[..., marked]
    bottom = low.amin(-1, keepdim=True)
    unit = (high.amin(-1, keepdim=True) - bottom) / 2
    kept = (low - bottom) / unit
    stays = kept > 0.3
    return 1 - stays.double().mean().item(), (kept[stays].median().item() if stays.any() else 0.0)


def _constant_layer(state: State, sublayer: str) -> State:
    """Give weights under which one sublayer gives 1 everywhere, the others 0, and norms only normalise."""
    quiet = {name: torch.zeros_like(value) for name, value in state.items()}
    quiet |= {name: torch.ones_like(v) for name, v in state.items() if name.startswith("norm") and "weight" in name}
    bias = "feed_forward.linear_2.bias" if sublayer == "feed_forward" else f"{sublayer}.out_proj.bias"
    return quiet | {bias: torch.ones_like(state[bias])}


def _expect_dropout(student: Student, rng: Randomness, kind: str, attentions: tuple[str, ...]) -> None:
    d_model, n_heads = 120, 3
    marked = torch.arange(d_model) % 2 == 0
    x = (2.0 * marked).expand(2, 40, d_model).clone()
    others = [] if kind == "EncoderLayer" else [rng.normal(2, 7, d_model, dtype=torch.float32)]
    for p in (0.25, 0.5):
        for sublayer in (*attentions, "feed_forward"):
            state = _constant_layer(_layer_state(rng, d_model, 11, attentions, torch.float32), sublayer)
            module = getattr(student, kind)(d_model, n_heads, 11, p).load(state).train()
            student.seed(rng.integer(0, 10**6))
            output = a_tensor(module(x, *others))
            expect(output.shape == x.shape, "wrong shape: the result in train mode")
            share, size = _dropout_of(output, marked)
            expect(share > 0, "in train mode nothing is dropped from a sublayer's output")
            expect(abs(share - p) < 0.05, "the share that is dropped isn't what the argument says")
            expect(abs(size - 1 / (1 - p)) < 0.02, "what stays of a sublayer's output isn't divided by 1 − p")
            still = a_tensor(module.eval()(x, *others))
            close(still, a_tensor(module(x, *others)), "the result in eval mode")
            known = _encoded if kind == "EncoderLayer" else _decoded
            close(still, known(state, n_heads, x, *others), "the result in eval mode", rtol=1e-3, atol=1e-4)


# LayerNorm


@hidden("LayerNorm", weight=3)
def equals_pytorchs_layer_norm(student: Student, rng: Randomness) -> None:
    """With any weight and bias, the result is that of PyTorch's layer norm over the last dimension."""
    batch, t, d_model = rng.sizes(3)
    for shape in ((batch, t, d_model), (1, 1, d_model)):
        state = _as_norm(_norm(rng, "norm", d_model, torch.float64))
        x = 3 * rng.normal(*shape) + rng.normal(*shape[:-1], 1)
        found = _loaded(student.LayerNorm(d_model), state)(x)
        untouched(student)
        close(found, F.layer_norm(x, (d_model,), state["weight"], state["bias"]))


def _as_norm(state: State) -> State:
    return {name.removeprefix("norm."): value for name, value in state.items()}


@hidden("LayerNorm", weight=2)
def eps_is_added_inside_the_root(student: Student, rng: Randomness) -> None:
    """Eps is added to the variance, inside the root: its default is 1e-5, and other values are kept."""
    batch, t, d_model = rng.sizes(3)
    state = _as_norm(_norm(rng, "norm", d_model, torch.float64))
    for eps in (None, 1e-2, 0.5, 1e-12):
        module = _loaded(student.LayerNorm(d_model) if eps is None else student.LayerNorm(d_model, eps), state)
        for std in (1.0, 3e-3):
            x = rng.normal(batch, t, d_model, std=std)
            close(module(x), F.layer_norm(x, (d_model,), state["weight"], state["bias"], eps or 1e-5))


@hidden("LayerNorm", weight=2)
def any_dimensions_in_front(student: Student, rng: Randomness) -> None:
    """Works for one vector, for matrices, for four dimensions, and for what isn't contiguous in memory."""
    a, b, c, d_model = rng.sizes(4)
    state = _as_norm(_norm(rng, "norm", d_model, torch.float64))
    module = _loaded(student.LayerNorm(d_model), state)
    inputs = [rng.normal(*shape) for shape in ((d_model,), (a, d_model), (1, d_model), (a, b, c, d_model))]
    inputs += [rng.normal(a, d_model, b).transpose(1, 2), rng.normal(d_model, d_model)]
    for x in inputs:
        close(module(x), F.layer_norm(x, (d_model,), state["weight"], state["bias"]))


@hidden("LayerNorm")
def equal_features_give_the_bias(student: Student, rng: Randomness) -> None:
    """A token whose features are all equal gives the bias, not NaN, and the others aren't touched by it."""
    batch, t, d_model = rng.sizes(3)
    state = _as_norm(_norm(rng, "norm", d_model, torch.float64))
    x = rng.normal(batch, t, d_model)
    x[0, 1], x[1, 0] = 0.5, 0.0
    x.requires_grad_()
    found = _loaded(student.LayerNorm(d_model), state)(x)
    expected = F.layer_norm(x, (d_model,), state["weight"], state["bias"])
    close(found, expected)
    cotangent = rng.normal(batch, t, d_model)
    (arrived,) = gradients(found, cotangent, [x])
    close(arrived, torch.autograd.grad(expected, x, cotangent)[0], "the gradient", rtol=1e-6, atol=1e-7)


@hidden("LayerNorm", weight=2)
def norm_gradients_are_exact(student: Student, rng: Randomness) -> None:
    """The gradient with respect to x, weight and bias is that of the formula: mean and variance depend on x too."""
    batch, t, d_model = rng.sizes(3)
    state = _as_norm(_norm(rng, "norm", d_model, torch.float64))
    module = _loaded(student.LayerNorm(d_model), state)
    module.train()
    x = rng.normal(batch, t, d_model).requires_grad_()
    known = {name: value.clone().requires_grad_() for name, value in state.items()}
    expected = F.layer_norm(x, (d_model,), known["weight"], known["bias"])
    _same_gradients(module, module(x), expected, [x], known, rng)


@hidden("LayerNorm")
def norm_keeps_float32_and_trains_its_parameters(student: Student, rng: Randomness) -> None:
    """In float32 the result is float32; weight and bias are the parameters, and a fresh norm doesn't erase its input."""
    batch, t, d_model = rng.sizes(3)
    module = student.LayerNorm(d_model)
    x = rng.normal(batch, t, d_model, dtype=torch.float32)
    spread = a_tensor(module(x)).detach().std(dim=-1)
    expect(bool((spread > 1e-3).all()), "a fresh norm gives the same numbers whatever x is")
    expect(module.trainable() == {"weight": True, "bias": True}, "weight and bias aren't the parameters that learn")
    state = _as_norm(_norm(rng, "norm", d_model, torch.float32))
    close(module.load(state)(x), F.layer_norm(x, (d_model,), state["weight"], state["bias"]))


def _same_gradients(
    module: HeldObject, found: object, expected: Tensor, inputs: list[Tensor], known: State, rng: Randomness
) -> None:
    """Compare gradients with respect to inputs and parameters."""
    close(found, expected)
    cotangent = rng.normal(*expected.shape)
    module.zero_grad()
    arrived = gradients(found, cotangent, inputs)
    wanted = torch.autograd.grad(expected, [*inputs, *known.values()], cotangent)
    for gradient, correct in zip(arrived, wanted, strict=False):
        close(gradient, correct, "the gradient")
    left = module.gradients()
    for name, correct in zip(known, wanted[len(inputs) :], strict=True):
        expect(name in left, "the gradient doesn't reach every parameter")
        close(left[name], correct, "the gradient of a parameter")


# FeedForward


def _network_state(rng: Randomness, d_model: int, d_ff: int, dtype: torch.dtype = torch.float64) -> State:
    return _linear(rng, "linear_1", d_model, d_ff, dtype) | _linear(rng, "linear_2", d_ff, d_model, dtype)


@hidden("FeedForward", weight=3)
def network_follows_the_formula(student: Student, rng: Randomness) -> None:
    """The result is linear_2 of the ReLU of linear_1, for any d_ff, narrower than d_model too, for any dimensions in front."""
    batch, t, d_model, d_ff = rng.sizes(4)
    for hidden_width, shape in ((d_ff, (batch, t)), (4 * d_model, (batch, t)), (1, (1, 1)), (d_ff, (batch, 2, t))):
        state = _network_state(rng, d_model, hidden_width)
        x = rng.normal(*shape, d_model)
        found = _loaded(student.FeedForward(d_model, hidden_width), state)(x)
        untouched(student)
        close(found, _network(state, x, ""))


@hidden("FeedForward", weight=2)
def every_position_by_itself(student: Student, rng: Randomness) -> None:
    """Each position gets what it would get alone, in eval mode and, without dropout, in train mode."""
    batch, t, d_model, d_ff = rng.sizes(4)
    state = _network_state(rng, d_model, d_ff)
    module = _loaded(student.FeedForward(d_model, d_ff), state)
    x = rng.normal(t, batch, d_model).transpose(0, 1)
    position = rng.integer(0, t - 1)
    for mode in (module.eval, module.train):
        mode()
        close(module(x), _network(state, x, ""))
        close(module(x[:, position : position + 1]), _network(state, x[:, position : position + 1], ""))


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
    module = _loaded(student.FeedForward(d_model, d_ff), state)
    x = rng.normal(batch, t, d_model).requires_grad_()
    known = {name: value.clone().requires_grad_() for name, value in state.items()}
    _same_gradients(module, module(x), _network(known, x, ""), [x], known, rng)
    expect(set(module.parameters()) == set(state), "there are other parameters than the two layers'")
    state = _network_state(rng, d_model, d_ff, torch.float32)
    x = rng.normal(batch, t, d_model, dtype=torch.float32)
    close(student.FeedForward(d_model, d_ff).load(state).eval()(x), _network(state, x, ""))


# EncoderLayer


@hidden("EncoderLayer", weight=3)
def encoder_layer_equals_pytorchs(student: Student, rng: Randomness) -> None:
    """With the same weights the layer equals PyTorch's: post-norm, ReLU; without a mask and with one for all."""
    for single in (False, True):
        batch, n_heads, t, _, d_model, d_ff = _sizes(rng)
        state = _encoder_state(rng, d_model, d_ff)
        theirs = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, 0.0, batch_first=True).double()
        theirs.load_state_dict(_packed(state, {"attention": "self_attn"}))
        module = _loaded(student.EncoderLayer(d_model, n_heads, d_ff), state)
        x = rng.normal(1, 1, d_model) if single else rng.normal(t, batch, d_model).transpose(0, 1)
        for mask in (None,) if single else (None, rng.mask(t, t), torch.ones(t, t).tril().bool()):
            found = module(x) if mask is None else module(x, mask)
            untouched(student)
            close(found, theirs(x, src_mask=_torch_mask(mask, n_heads, t)), rtol=1e-7, atol=1e-8)


@hidden("EncoderLayer", weight=2)
def encoder_masks_per_sentence(student: Student, rng: Randomness) -> None:
    """Masks of three dimensions, (B, 1, T) and (B, T, T), hold for their sentence and every head."""
    batch, n_heads, t, _, d_model, d_ff = _sizes(rng)
    state = _encoder_state(rng, d_model, d_ff)
    theirs = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, 0.0, batch_first=True).double()
    theirs.load_state_dict(_packed(state, {"attention": "self_attn"}))
    module = _loaded(student.EncoderLayer(d_model, n_heads, d_ff), state)
    for size in (batch, n_heads, 1):
        x = rng.normal(size, t, d_model)
        for mask in (rng.mask(size, 1, t), rng.mask(size, t, t)):
            expected = theirs(x, src_mask=_torch_mask(mask, n_heads, t))
            close(module(x, mask), expected, rtol=1e-7, atol=1e-8)


@hidden("EncoderLayer")
def encoder_rows_with_nothing_to_attend_to(student: Student, rng: Randomness) -> None:
    """A position that may attend to nothing goes on without attention: no NaN, in the result or in gradients."""
    batch, n_heads, t, _, d_model, d_ff = _sizes(rng)
    state = _encoder_state(rng, d_model, d_ff)
    module = _loaded(student.EncoderLayer(d_model, n_heads, d_ff), state)
    padding, rows = rng.mask(batch, 1, t), rng.mask(t, t)
    padding[rng.integer(0, batch - 1)] = False
    rows[rng.integer(0, t - 1)] = False
    for mask in (padding, rows):
        x = rng.normal(batch, t, d_model).requires_grad_()
        found, expected = module(x, mask), _encoded(state, n_heads, x, mask)
        close(found, expected)
        cotangent = rng.normal(*expected.shape)
        (arrived,) = gradients(found, cotangent, [x])
        close(arrived, torch.autograd.grad(expected, x, cotangent)[0], "the gradient")


@hidden("EncoderLayer", weight=2)
def encoder_drops_from_sublayers(student: Student, rng: Randomness) -> None:
    """In train mode, each sublayer's output loses a share p before the residual is added; in eval mode nothing is lost."""
    _expect_dropout(student, rng, "EncoderLayer", ("attention",))


@hidden("EncoderLayer")
def encoder_layer_gradients(student: Student, rng: Randomness) -> None:
    """Gradients reach x and every parameter; with dropout 0 train mode gives the same as eval mode."""
    batch, n_heads, t, _, d_model, d_ff = _sizes(rng)
    state = _encoder_state(rng, d_model, d_ff)
    module = _loaded(student.EncoderLayer(d_model, n_heads, d_ff, 0.0), state).train()
    x = rng.normal(batch, t, d_model).requires_grad_()
    mask = rng.mask(batch, t, t)
    known = {name: value.clone().requires_grad_() for name, value in state.items()}
    _same_gradients(module, module(x, mask), _encoded(known, n_heads, x, mask), [x], known, rng)


@hidden("EncoderLayer")
def encoder_keeps_float32(student: Student, rng: Randomness) -> None:
    """In float32 the result is float32, for one head and for many."""
    batch, n_heads, t, _, d_model, d_ff = _sizes(rng)
    for heads in (1, n_heads, d_model):
        state = _encoder_state(rng, d_model, d_ff, torch.float32)
        module = _loaded(student.EncoderLayer(d_model, heads, d_ff), state)
        x, mask = rng.normal(batch, t, d_model, dtype=torch.float32), rng.mask(batch, 1, t)
        close(module(x, mask), _encoded(state, heads, x, mask))


# DecoderLayer


def _torch_decoder(state: State, n_heads: int, d_model: int, d_ff: int) -> nn.Module:
    theirs = nn.TransformerDecoderLayer(d_model, n_heads, d_ff, 0.0, batch_first=True).double()
    theirs.load_state_dict(_packed(state, {"self_attention": "self_attn", "cross_attention": "multihead_attn"}))
    return theirs


@hidden("DecoderLayer", weight=3)
def decoder_layer_equals_pytorchs(student: Student, rng: Randomness) -> None:
    """With the same weights the layer equals PyTorch's, without masks and with masks for all, for any two lengths."""
    for lengths in (None, (1, 6), (5, 1)):
        batch, n_heads, t, t_memory, d_model, d_ff = _sizes(rng)
        t, t_memory = lengths or (t, t_memory)
        state = _decoder_state(rng, d_model, d_ff)
        theirs = _torch_decoder(state, n_heads, d_model, d_ff)
        module = _loaded(student.DecoderLayer(d_model, n_heads, d_ff), state)
        x, memory = rng.normal(t, batch, d_model).transpose(0, 1), rng.normal(batch, t_memory, d_model)
        found = module(x, memory)
        untouched(student)
        close(found, theirs(x, memory), rtol=1e-7, atol=1e-8)
        own, cross = torch.ones(t, t).tril().bool(), rng.mask(t, t_memory)
        for masks in ((own, None), (None, cross), (own, cross)):
            expected = theirs(x, memory, *(None if mask is None else ~mask for mask in masks))
            close(module(x, memory, *masks), expected, rtol=1e-7, atol=1e-8)


@hidden("DecoderLayer", weight=2)
def decoder_masks_per_sentence(student: Student, rng: Randomness) -> None:
    """Each mask holds in its own attention: (B, 1, T) and (B, T_q, T_k) for both, also where both lengths are equal."""
    batch, n_heads, t, t_memory, d_model, d_ff = _sizes(rng)
    state = _decoder_state(rng, d_model, d_ff)
    theirs = _torch_decoder(state, n_heads, d_model, d_ff)
    module = _loaded(student.DecoderLayer(d_model, n_heads, d_ff), state)
    for size, length in ((batch, t_memory), (n_heads, t), (1, t_memory)):
        x, memory = rng.normal(size, t, d_model), rng.normal(size, length, d_model)
        for own, cross in (
            (rng.mask(size, t, t), rng.mask(size, 1, length)),
            (rng.mask(size, 1, t), rng.mask(size, t, length)),
        ):
            expected = theirs(x, memory, _torch_mask(own, n_heads, t), _torch_mask(cross, n_heads, t))
            close(module(x, memory, own, cross), expected, rtol=1e-7, atol=1e-8)
            close(module(x, memory, self_mask=own, cross_mask=cross), expected, rtol=1e-7, atol=1e-8)


@hidden("DecoderLayer")
def decoder_rows_with_nothing_to_attend_to(student: Student, rng: Randomness) -> None:
    """Where all of memory is padding, or a position may see nothing, the rest goes on: no NaN, in gradients neither."""
    batch, n_heads, t, t_memory, d_model, d_ff = _sizes(rng)
    state = _decoder_state(rng, d_model, d_ff)
    module = _loaded(student.DecoderLayer(d_model, n_heads, d_ff), state)
    own, cross = rng.mask(batch, t, t), rng.mask(batch, 1, t_memory)
    own[0, rng.integer(0, t - 1)] = False
    cross[1] = False
    inputs = [rng.normal(batch, length, d_model).requires_grad_() for length in (t, t_memory)]
    found, expected = module(*inputs, own, cross), _decoded(state, n_heads, *inputs, own, cross)
    close(found, expected)
    cotangent = rng.normal(*expected.shape)
    arrived = gradients(found, cotangent, inputs)
    for gradient, correct in zip(arrived, torch.autograd.grad(expected, inputs, cotangent), strict=True):
        close(gradient, correct, "the gradient")


@hidden("DecoderLayer", weight=2)
def decoder_drops_from_sublayers(student: Student, rng: Randomness) -> None:
    """In train mode, each of the three sublayers' outputs loses a share p before the residual is added."""
    _expect_dropout(student, rng, "DecoderLayer", ("self_attention", "cross_attention"))


@hidden("DecoderLayer")
def decoder_layer_gradients(student: Student, rng: Randomness) -> None:
    """Gradients reach x, memory and every parameter; with dropout 0 train mode gives the same as eval mode."""
    batch, n_heads, t, t_memory, d_model, d_ff = _sizes(rng)
    state = _decoder_state(rng, d_model, d_ff)
    module = _loaded(student.DecoderLayer(d_model, n_heads, d_ff, 0.0), state).train()
    inputs = [rng.normal(batch, length, d_model).requires_grad_() for length in (t, t_memory)]
    masks = rng.mask(batch, t, t), rng.mask(batch, 1, t_memory)
    known = {name: value.clone().requires_grad_() for name, value in state.items()}
    _same_gradients(module, module(*inputs, *masks), _decoded(known, n_heads, *inputs, *masks), inputs, known, rng)


@hidden("DecoderLayer")
def decoder_keeps_float32(student: Student, rng: Randomness) -> None:
    """In float32 the result is float32, for one head and for many."""
    batch, n_heads, t, t_memory, d_model, d_ff = _sizes(rng)
    for heads in (1, n_heads, d_model):
        state = _decoder_state(rng, d_model, d_ff, torch.float32)
        module = _loaded(student.DecoderLayer(d_model, heads, d_ff), state)
        x, memory = (rng.normal(batch, length, d_model, dtype=torch.float32) for length in (t, t_memory))
        masks = torch.ones(t, t).tril().bool(), rng.mask(batch, 1, t_memory)
        close(module(x, memory, *masks), _decoded(state, heads, x, memory, *masks))
