"""Hidden tests of chapter 03. References are the formula of section 3.2.1 and PyTorch's own attention."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import close, expect, gradients, pair, untouched
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject, Student

NAMES = ("query", "key", "value")
BOTH = "(output, weights)"


def _matrices(rng: Randomness, d_model: int, d_k: int, d_v: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Draw the weights of query, key and value, of a size at which softmax doesn't saturate."""
    return [rng.normal(width, d_model, dtype=dtype, std=1 / math.sqrt(d_model)) for width in (d_k, d_k, d_v)]


def _load(module: HeldObject, matrices: list[Tensor]) -> HeldObject:
    if matrices[0].dtype == torch.float64:
        module.to("float64")
    names = [f"{name}.weight" for name in NAMES]
    return module.load(dict(zip(names, matrices, strict=True))).eval()


def _built(student: Student, kind: str, matrices: list[Tensor]) -> HeldObject:
    query, _key, value = matrices
    return _load(getattr(student, kind)(query.shape[1], query.shape[0], value.shape[0]), matrices)


def _attention(x: Tensor, matrices: list[Tensor], mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The formula, with zeros where nothing may be attended to."""
    q, k, v = (x @ matrix.T for matrix in matrices)
    scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1) / math.sqrt(q.shape[-1])
    if mask is None:
        weights = F.softmax(scores, -1)
    else:
        is_open = mask.any(-1, keepdim=True)
        weights = F.softmax(scores.masked_fill(~mask & is_open, -math.inf), -1) * is_open
    return weights @ v, weights


def _triangle(length: int) -> Tensor:
    position = torch.arange(length)
    return position <= position.unsqueeze(-1)


def _causal(x: Tensor, matrices: list[Tensor], padding: Tensor | None = None) -> tuple[Tensor, Tensor]:
    mask = _triangle(x.shape[1])
    return _attention(x, matrices, mask if padding is None else mask & padding)


def _same(student: Student, module: HeldObject, arguments: tuple, expected: tuple[Tensor, Tensor]) -> None:
    output, weights = pair(module(*arguments), BOTH)
    untouched(student)
    close(weights, expected[1], "the weights")
    close(output, expected[0], "the output")


def _parameters_are_as_promised(student: Student, kind: str, rng: Randomness) -> None:
    d_model, d_k, d_v = rng.sizes(3)
    build = getattr(student, kind)
    cases = [(build(d_model), d_model, d_model), (build(d_model, d_k, d_v), d_k, d_v)]
    cases += [(build(d_model, d_k=d_k), d_k, d_model), (build(d_model, d_v=d_v), d_model, d_v)]
    cases += [(build(d_model=d_model, d_k=d_k, d_v=d_v), d_k, d_v)]
    for module, wide, out in cases:
        shapes = {name: tuple(value.shape) for name, value in module.parameters().items()}
        wanted = {"query.weight": (wide, d_model), "key.weight": (wide, d_model), "value.weight": (out, d_model)}
        expect(set(shapes) >= set(wanted), "a parameter is missing: query.weight, key.weight, value.weight")
        expect(set(shapes) == set(wanted), "there are more parameters than the weights of query, key and value")
        expect(shapes == wanted, "wrong shape: the weights of a layer")
        expect(all(module.trainable().values()), "a parameter doesn't ask for gradients")


def _computes(student: Student, kind: str, rng: Randomness) -> None:
    """See to it that nothing but a working module gets points for its parameters."""
    reference = _attention if kind == "SelfAttention" else _causal
    batch, length, d_model, d_k, d_v = rng.sizes(5)
    for widths in ((d_k, d_v), (d_k, None), (None, d_v), (None, None)):
        matrices = _matrices(rng, d_model, *(d_model if width is None else width for width in widths))
        x = rng.normal(batch, length, d_model)
        module = _load(getattr(student, kind)(d_model, *widths), matrices)
        _same(student, module, (x,), reference(x, matrices))


def _gradients_agree(module: HeldObject, arguments: tuple, expected: tuple, leaves: tuple, rng: Randomness) -> None:
    """Compare gradients of output and of weights, at x and at the three matrices."""
    x, matrices = leaves
    for part in (0, 1):
        module.zero_grad()
        found = pair(module(*arguments), BOTH)[part]
        close(found, expected[part], "the output" if part == 0 else "the weights")
        cotangent = rng.normal(*expected[part].shape, dtype=expected[part].dtype)
        arrived = gradients(found, cotangent, [x])
        wanted = torch.autograd.grad(expected[part], [x, *matrices], cotangent, allow_unused=True, retain_graph=True)
        close(arrived[0], wanted[0], "the gradient at x")
        inside = module.gradients()
        for name, gradient in zip(NAMES, wanted[1:], strict=True):
            if gradient is not None:
                expect(f"{name}.weight" in inside, f"no gradient arrives at the layer {name}")
                close(inside[f"{name}.weight"], gradient, f"the gradient at the layer {name}")


def _leaves(rng: Randomness) -> tuple[Tensor, list[Tensor]]:
    batch, length, d_model, d_k, d_v = rng.sizes(5)
    x = rng.normal(batch, length, d_model).requires_grad_()
    return x, [matrix.requires_grad_() for matrix in _matrices(rng, d_model, d_k, d_v)]


# SelfAttention


@hidden("SelfAttention", weight=2)
def three_layers_and_nothing_else(student: Student, rng: Randomness) -> None:
    """The parameters are query.weight, key.weight and value.weight, without bias, of the promised widths; each of d_k and d_v on its own is d_model where it is left out."""
    _parameters_are_as_promised(student, "SelfAttention", rng)
    _computes(student, "SelfAttention", rng)


@hidden("SelfAttention", weight=3)
def the_formula_holds(student: Student, rng: Randomness) -> None:
    """Output and weights are those of softmax(q kᵀ / √d_k) v, with q, k and v from one and the same sequence."""
    for _ in range(2):
        batch, length, d_model, d_k, d_v = rng.sizes(5)
        matrices = _matrices(rng, d_model, d_k, d_v)
        module = _built(student, "SelfAttention", matrices)
        x = rng.normal(batch, length, d_model)
        output, weights = pair(module(x), BOTH)
        untouched(student)
        q, k, v = (x @ matrix.T for matrix in matrices)
        close(output, F.scaled_dot_product_attention(q, k, v), "the output")
        close(weights, _attention(x, matrices)[1], "the weights")
        again = pair(module(x), BOTH)
        close(again[0], output, "the output of a second pass over the same input")


@hidden("SelfAttention", weight=2)
def sizes_of_every_kind(student: Student, rng: Randomness) -> None:
    """Works for a batch of one, for one token, for tensors that aren't contiguous, and where sizes coincide."""
    batch, length, d_model, d_k, d_v = rng.sizes(5)
    matrices = _matrices(rng, d_model, d_k, d_v)
    module = _built(student, "SelfAttention", matrices)
    turned = rng.normal(length, batch, d_model).transpose(0, 1)
    inputs = [rng.normal(*size, d_model) for size in ((1, length), (batch, 1), (1, 1), (length, length), (1, 33))]
    for x in (*inputs, turned):
        _same(student, module, (x,), _attention(x, matrices))
    equal = _matrices(rng, d_k, d_k, d_k)
    x = rng.normal(d_k, d_k, d_k)
    _same(student, _built(student, "SelfAttention", equal), (x,), _attention(x, equal))


@hidden("SelfAttention", weight=3)
def masks_hide_keys(student: Student, rng: Randomness) -> None:
    """Keys that the mask marks False get weight 0 and the others share the rest, for masks of (T, T), (B, T, T) and (B, 1, T)."""
    batch, length, d_model, d_k, d_v = rng.sizes(5)
    matrices = _matrices(rng, d_model, d_k, d_v)
    module = _built(student, "SelfAttention", matrices)
    x = rng.normal(batch, length, d_model)
    for shape in ((length, length), (batch, length, length), (batch, 1, length), (1, length)):
        mask = rng.mask(*shape)
        _same(student, module, (x, mask), _attention(x, matrices, mask))
    x, padding = rng.normal(length, length, d_model), rng.mask(length, 1, length)
    _same(student, module, (x, padding), _attention(x, matrices, padding))
    everything = torch.ones(length, length, dtype=torch.bool)
    _same(student, module, (x, everything), _attention(x, matrices))
    found = pair(module(x, mask=padding), BOTH)
    close(found[0], _attention(x, matrices, padding)[0], "the output where the mask is given by name")


@hidden("SelfAttention", weight=2)
def nothing_to_attend_to(student: Student, rng: Randomness) -> None:
    """A position that may attend to nothing gets weights 0 and output 0, never NaN."""
    batch, length, d_model, d_k, d_v = rng.sizes(5)
    matrices = _matrices(rng, d_model, d_k, d_v)
    module = _built(student, "SelfAttention", matrices)
    x = rng.normal(batch, length, d_model)
    rows = rng.mask(length, length)
    rows[rng.integer(0, length - 1)] = False
    padding = rng.mask(batch, 1, length)
    padding[rng.integer(0, batch - 1)] = False
    for mask in (rows, padding, torch.zeros(length, length, dtype=torch.bool)):
        _same(student, module, (x, mask), _attention(x, matrices, mask))


@hidden("SelfAttention")
def both_dtypes(student: Student, rng: Randomness) -> None:
    """Output and weights have the dtype of x and of the layers, with its full precision, masked or not."""
    batch, length, d_model, d_k, d_v = rng.sizes(5)
    for dtype in (torch.float32, torch.float64):
        matrices = _matrices(rng, d_model, d_k, d_v, dtype)
        module = _built(student, "SelfAttention", matrices)
        x, mask = rng.normal(batch, length, d_model, dtype=dtype), rng.mask(length, length)
        _same(student, module, (x,), _attention(x, matrices))
        _same(student, module, (x, mask), _attention(x, matrices, mask))


@hidden("SelfAttention", weight=2)
def gradients_reach_everything(student: Student, rng: Randomness) -> None:
    """Gradients flow back to x and to all three layers, from output and weights, and are never NaN, not even for an empty row."""
    for masked in (False, True):
        x, matrices = _leaves(rng)
        module = _built(student, "SelfAttention", [matrix.detach() for matrix in matrices])
        mask = rng.mask(x.shape[1], x.shape[1]) if masked else None
        if masked:
            mask[rng.integer(0, x.shape[1] - 1)] = False
        arguments = (x, mask) if masked else (x,)
        _gradients_agree(module, arguments, _attention(x, matrices, mask), (x, matrices), rng)


# causal_mask


@hidden("causal_mask", weight=3)
def lower_triangle_with_the_diagonal(student: Student, rng: Randomness) -> None:
    """Row i is True from column 0 to column i, itself included, and False after it, for every T."""
    for length in (*rng.sizes(3, 2, 17), 64, 130):
        close(student.causal_mask(length), _triangle(length), "the mask")


@hidden("causal_mask")
def one_token(student: Student, rng: Randomness) -> None:
    """A single token sees itself; two see each other in one direction."""
    close(student.causal_mask(1), torch.ones(1, 1, dtype=torch.bool), "the mask of one token")
    close(student.causal_mask(2), _triangle(2), "the mask of two tokens")
    close(student.causal_mask(T=3), _triangle(3), "the mask where T is given by name")


@hidden("causal_mask", weight=2)
def on_the_device_that_is_asked_for(student: Student, rng: Randomness) -> None:
    """The mask is made on the device that is asked for, and on PyTorch's default one where none is."""
    length = rng.integer(3, 9)
    for arguments in ((), (None,), ("cpu",), (torch.device("cpu"),)):
        close(student.causal_mask(length, *arguments), _triangle(length), "the mask")
    for found in (student.causal_mask(length, device="meta"), student.causal_mask(length, torch.device("meta"))):
        expect(isinstance(found, Tensor), "not a tensor: the mask on another device")
        expect(found.device.type == "meta", "the mask is not on the device that was asked for")
        expect(found.shape == (length, length), "wrong shape: the mask on another device")
        expect(found.dtype == torch.bool, "wrong dtype: the mask on another device")


# CausalSelfAttention


@hidden("CausalSelfAttention", weight=2)
def the_same_layers(student: Student, rng: Randomness) -> None:
    """The parameters are those of SelfAttention: query.weight, key.weight and value.weight, without bias, and each of d_k and d_v on its own is d_model where it is left out."""
    _parameters_are_as_promised(student, "CausalSelfAttention", rng)
    _computes(student, "CausalSelfAttention", rng)


@hidden("CausalSelfAttention", weight=3)
def attends_to_itself_and_to_what_came_before(student: Student, rng: Randomness) -> None:
    """Output and weights are those of attention under the causal mask, as PyTorch computes it."""
    for _ in range(2):
        batch, length, d_model, d_k, d_v = rng.sizes(5)
        matrices = _matrices(rng, d_model, d_k, d_v)
        module = _built(student, "CausalSelfAttention", matrices)
        x = rng.normal(batch, length, d_model)
        output, weights = pair(module(x), BOTH)
        untouched(student)
        q, k, v = (x @ matrix.T for matrix in matrices)
        close(output, F.scaled_dot_product_attention(q, k, v, is_causal=True), "the output")
        close(weights, _causal(x, matrices)[1], "the weights")


@hidden("CausalSelfAttention", weight=3)
def nothing_leaks_from_the_future(student: Student, rng: Randomness) -> None:
    """What comes later changes nothing before it, in eval mode and in train mode, with padding and without."""
    batch, length, d_model, d_k, d_v = rng.sizes(5, 4)
    matrices = _matrices(rng, d_model, d_k, d_v)
    module = _built(student, "CausalSelfAttention", matrices)
    x = rng.normal(batch, length, d_model)
    padding = torch.ones(batch, 1, length, dtype=torch.bool)
    padding[rng.integer(0, batch - 1), 0, rng.integer(1, length - 2)] = False
    _same(student, module, (x,), _causal(x, matrices))
    _same(student, module, (x, padding), _causal(x, matrices, padding))
    cut = rng.integer(1, length - 1)
    later = torch.cat([x[:, :cut], rng.normal(batch, length - cut, d_model)], dim=1)
    for switch in (module.eval, module.train):
        switch()
        for more in ((), (padding,)):
            results = []
            for sentence in (x, later):
                student.seed(cut)  # whoever drops out weights in train mode drops the same ones twice
                results.append(pair(module(sentence, *more), BOTH)[0][:, :cut])
            close(results[1], results[0], "the output at positions before the change")


@hidden("CausalSelfAttention", weight=3)
def both_masks_hold(student: Student, rng: Randomness) -> None:
    """With padding, a key is visible only where both masks allow it, and each sequence has its own padding."""
    batch, length, d_model, d_k, d_v = rng.sizes(5)
    matrices = _matrices(rng, d_model, d_k, d_v)
    module = _built(student, "CausalSelfAttention", matrices)
    x = rng.normal(batch, length, d_model)
    lengths = rng.integers(1, length, batch)
    at_the_end = torch.arange(length) < lengths[:, None, None]
    with_holes = rng.mask(batch, 1, length)
    with_holes[..., 0] = True
    nothing = torch.ones(batch, 1, length, dtype=torch.bool)
    for padding in (at_the_end, with_holes, nothing):
        _same(student, module, (x, padding), _causal(x, matrices, padding))
    found = pair(module(x, padding=with_holes), BOTH)
    close(found[0], _causal(x, matrices, with_holes)[0], "the output where padding is given by name")
    x, padding = rng.normal(length, length, d_model), rng.mask(length, 1, length)
    padding[..., 0] = True
    _same(student, module, (x, padding), _causal(x, matrices, padding))


@hidden("CausalSelfAttention", weight=2)
def padding_in_front(student: Student, rng: Randomness) -> None:
    """Where the first positions are padding, those that have nothing to attend to get zeros, never NaN."""
    batch, length, d_model, d_k, d_v = rng.sizes(5)
    matrices = _matrices(rng, d_model, d_k, d_v)
    module = _built(student, "CausalSelfAttention", matrices)
    x = rng.normal(batch, length, d_model)
    hidden_first = rng.integers(0, length - 1, batch)
    hidden_first[rng.integer(0, batch - 1)] = 1
    padding = torch.arange(length) >= hidden_first[:, None, None]
    _same(student, module, (x, padding), _causal(x, matrices, padding))
    padding = padding.clone()
    padding[rng.integer(0, batch - 1)] = False
    _same(student, module, (x, padding), _causal(x, matrices, padding))
    one = rng.normal(batch, 1, d_model)
    closed = torch.zeros(batch, 1, 1, dtype=torch.bool)
    _same(student, module, (one, closed), _causal(one, matrices, closed))


@hidden("CausalSelfAttention", weight=2)
def any_length_and_batch(student: Student, rng: Randomness) -> None:
    """One module takes sequences of any length, one token and hundreds, and batches of any size, one after another."""
    length, d_model, d_k, d_v = rng.sizes(4)
    matrices = _matrices(rng, d_model, d_k, d_v)
    module = _built(student, "CausalSelfAttention", matrices)
    for size in ((2, length), (1, 1), (3, 1), (1, length + 2), (length, length), (2, 40)):
        x = rng.normal(*size, d_model)
        _same(student, module, (x,), _causal(x, matrices))
    small = _matrices(rng, 3, 2, 2, torch.float32)
    x = rng.normal(1, 520, 3, dtype=torch.float32)
    _same(student, _built(student, "CausalSelfAttention", small), (x,), _causal(x, small))
    turned = rng.normal(length, 2, d_model).transpose(0, 1)
    _same(student, module, (turned,), _causal(turned, matrices))


@hidden("CausalSelfAttention")
def causal_in_both_dtypes(student: Student, rng: Randomness) -> None:
    """Output and weights have the dtype of x and of the layers, with its full precision, padded or not."""
    batch, length, d_model, d_k, d_v = rng.sizes(5)
    for dtype in (torch.float32, torch.float64):
        matrices = _matrices(rng, d_model, d_k, d_v, dtype)
        module = _built(student, "CausalSelfAttention", matrices)
        x, padding = rng.normal(batch, length, d_model, dtype=dtype), rng.mask(batch, 1, length)
        _same(student, module, (x,), _causal(x, matrices))
        _same(student, module, (x, padding), _causal(x, matrices, padding))


@hidden("CausalSelfAttention", weight=2)
def causal_gradients(student: Student, rng: Randomness) -> None:
    """Gradients flow back to x and to all three layers, through both masks, and are never NaN."""
    for padded in (False, True):
        x, matrices = _leaves(rng)
        module = _built(student, "CausalSelfAttention", [matrix.detach() for matrix in matrices])
        padding = None
        if padded:
            padding = rng.mask(x.shape[0], 1, x.shape[1])
            padding[rng.integer(0, x.shape[0] - 1), 0, :2] = False
        arguments = (x, padding) if padded else (x,)
        _gradients_agree(module, arguments, _causal(x, matrices, padding), (x, matrices), rng)


# permutation_gap


def _order(rng: Randomness, length: int) -> Tensor:
    """Draw a permutation that isn't its own inverse."""
    while True:
        perm = rng.order(length)
        if not torch.equal(perm, perm.argsort()):
            return perm


def _number(found: object, expected: float, what: str, within: float) -> None:
    expect(isinstance(found, float), f"not a float: {what}")
    expect(abs(found - expected) <= within, f"wrong number: {what}")


def _true_gap(offsets: Tensor, perm: Tensor) -> float:
    """Give the gap of a module that adds `offsets`: x[perm[i]] + o[i] against x[perm[i]] + o[perm[i]]."""
    return (offsets - offsets[perm]).abs().max().item()


@hidden("permutation_gap", weight=3)
def the_largest_difference(student: Student, rng: Randomness) -> None:
    """For a module that adds something at every position, the gap is exactly the largest difference, of either sign, for any permutation."""
    for as_pair in (False, True):
        for batch in (rng.integer(2, 4), 1):
            length, d = rng.sizes(2, 5)
            offsets, x = rng.normal(length, d), rng.normal(batch, length, d)
            module = student.host("position_aware", offsets, as_pair=as_pair)
            perm = _order(rng, length)
            for order in (perm, perm.argsort(), torch.arange(length), torch.arange(length).flip(0)):
                found = student.permutation_gap(module, x, order)
                untouched(student)
                _number(found, _true_gap(offsets, order), "the gap of a module that knows positions", 1e-9)


@hidden("permutation_gap", weight=2)
def every_sequence_counts(student: Student, rng: Randomness) -> None:
    """The largest difference counts wherever it is: in any sequence of the batch, at any position, in any feature."""
    batch, length, d = rng.sizes(3, 4, 9)
    scale, perm = rng.normal(length).abs() + 0.5, _order(rng, length)
    module = student.host("squared_memory", scale)
    for where in (0, rng.integer(1, batch - 2), batch - 1):
        x = rng.normal(batch, length, d)
        x[where] *= 4
        mixed, straight = ((z * scale.unsqueeze(-1)).cumsum(1) ** 2 for z in (x[:, perm], x))
        expected = (mixed - straight[:, perm]).abs().max().item()
        found = student.permutation_gap(module, x, perm)
        untouched(student)
        _number(found, expected, "the gap of a module with a memory", 1e-9 * expected)


@hidden("permutation_gap", weight=2)
def nothing_for_modules_without_order(student: Student, rng: Randomness) -> None:
    """The gap is 0, up to rounding, for modules that treat all positions alike, and not for others."""
    length, d_model, d_k, d_v = rng.sizes(4, 4)
    x, perm = rng.normal(3, length, d_model), _order(rng, length)
    for as_pair in (False, True):
        module = student.host("pointwise", rng.normal(d_model, d_v), as_pair=as_pair)
        _number(student.permutation_gap(module, x, perm), 0.0, "the gap of a module without order", 1e-9)
    attention = _load(student.host("self_attention", d_model, d_k, d_v), _matrices(rng, d_model, d_k, d_v))
    _number(student.permutation_gap(attention, x, perm), 0.0, "the gap of self-attention", 1e-9)
    offsets = rng.normal(length, d_model)
    aware = student.host("position_aware", offsets)
    _number(student.permutation_gap(aware, x, perm), _true_gap(offsets, perm), "the gap of a module with order", 1e-9)


@hidden("permutation_gap")
def one_entry_is_enough(student: Student, rng: Randomness) -> None:
    """A difference at a single position, in a single feature, is found, in float32 as in float64."""
    length, d = rng.sizes(2, 5)
    for dtype, within in ((torch.float32, 1e-5), (torch.float64, 1e-10)):
        offsets = torch.zeros(length, d, dtype=dtype)
        offsets[rng.integer(0, length - 1), rng.integer(0, d - 1)] = rng.normal(1, dtype=dtype).item() + 3
        module, perm = student.host("position_aware", offsets), torch.arange(length).roll(2)
        found = student.permutation_gap(module, rng.normal(2, length, d, dtype=dtype), perm)
        _number(found, _true_gap(offsets, perm), "the gap", within)


@hidden("permutation_gap")
def the_module_is_left_as_it_was(student: Student, rng: Randomness) -> None:
    """Mode, weights and gradients of the module are the same afterwards, and x isn't changed."""
    length, d_model, d_k, d_v = rng.sizes(4, 4)
    x, perm = rng.normal(2, length, d_model, dtype=torch.float32), _order(rng, length)
    matrices = _matrices(rng, d_model, d_k, d_v, torch.float32)
    module = _load(student.host("self_attention", d_model, d_k, d_v), matrices)
    for switch, training in ((module.train, True), (module.eval, False)):
        switch()
        for given in (x, x.clone().requires_grad_()):
            found = student.permutation_gap(module, given, perm)
            untouched(student)
            _number(found, 0.0, "the gap of self-attention", 1e-4)
        expect(module.training is training, "the module's mode is another one afterwards")
        expect(all(module.trainable().values()), "the module's parameters don't ask for gradients any more")
        expect(not module.gradients(), "gradients are left on the module")
        kept = module.parameters()
        for name, matrix in zip(NAMES, matrices, strict=True):
            close(kept[f"{name}.weight"], matrix, "the module's weights")
    x, offsets = x.double(), rng.normal(length, d_model)
    aware = student.host("position_aware", offsets).train()
    _number(student.permutation_gap(aware, x, perm), _true_gap(offsets, perm), "the gap of a module with order", 1e-9)
    expect(aware.training, "the module's mode is another one afterwards")
