"""Hidden tests of chapter 06's whole model, judged by what it does: the names of its parts and its first weights are free.

Every parameter is overwritten with random numbers, so that no test depends on how a model was initialised.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, finite, refused, untouched
from autograder.hidden.randomness import Randomness
from utils.execution import LearnerError
from utils.student import HeldObject, Student

SRC_VOCAB, TGT_VOCAB, D_MODEL, N_HEADS, D_FF, MAX_LEN = 17, 13, 24, 3, 40, 19
SAME = {"rtol": 1e-3, "atol": 1e-4}  # float32, through several layers
CHANGE = 1e-3  # logits are of the order of 1; what is called a change is more than this


def _stirred(module: HeldObject, rng: Randomness) -> HeldObject:
    """Overwrite all weights: matrices as a fresh layer would have them, vectors moved a little."""

    def stir(value: Tensor) -> Tensor:
        noise = rng.normal(*value.shape, dtype=torch.float32)
        if value.dim() < 2:
            return value + 0.3 * noise if value.dim() else value
        return noise / value.shape[-1] ** 0.5

    return module.load({name: stir(value) for name, value in module.parameters().items()})


def _built(student: Student, rng: Randomness, n_layers: int = 2, **options: float) -> HeldObject:
    sizes = {"d_model": D_MODEL, "n_heads": N_HEADS, "n_layers": n_layers, "d_ff": D_FF, "max_len": MAX_LEN}
    return _stirred(student.Transformer(SRC_VOCAB, TGT_VOCAB, **(sizes | options)), rng).eval()


def _source(rng: Randomness, *shape: int) -> Tensor:
    """Draw source ids without the padding that most models here use, 0."""
    return rng.integers(1, SRC_VOCAB - 1, *shape)


def _target(rng: Randomness, *shape: int) -> Tensor:
    return rng.integers(1, TGT_VOCAB - 1, *shape)


def _others(ids: Tensor, vocab: int) -> Tensor:
    """Exchange every id for another one that isn't 0."""
    return ids % (vocab - 1) + 1


def _padded(ids: Tensor, length: int, pad_id: int) -> Tensor:
    return F.pad(ids, (0, length - ids.shape[1]), value=pad_id)


def _logits(model: HeldObject, src: Tensor, tgt: Tensor) -> Tensor:
    found = a_tensor(model(src, tgt), "the logits")
    untouched(model._student)
    expect(found.shape == (*tgt.shape, TGT_VOCAB), "wrong shape: the logits")
    return found.detach()


def _memory(model: HeldObject, src: Tensor) -> Tensor:
    found = a_tensor(model.method("encode", src), "the memory")
    expect(found.shape == (*src.shape, D_MODEL), "wrong shape: the memory")
    return found.detach()


def _decoded(model: HeldObject, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
    found = a_tensor(model.method("decode", tgt, memory, src), "the logits")
    expect(found.shape == (*tgt.shape, TGT_VOCAB), "wrong shape: the logits")
    return found


def _changed(found: Tensor, other: Tensor, otherwise: str) -> None:
    """Expect that at each position (the last dimension aside) something has changed."""
    expect(bool(((found - other).abs().amax(-1) > CHANGE).all()), otherwise)


@hidden("Transformer", weight=2)
def shapes_defaults_and_pad_id(student: Student, rng: Randomness) -> None:
    """Logits are (B, T_tgt, tgt_vocab), memory is (B, T_src, d_model), whatever the lengths; pad_id is an attribute."""
    model = _built(student, rng)
    for batch, t_src, t_tgt in ((2, 5, 7), (3, 7, 4), (1, 1, 1), (1, 6, 1), (1, 1, 6)):
        src, tgt = _source(rng, batch, t_src), _target(rng, batch, t_tgt)
        finite(_memory(model, src), "the memory")
        before = _logits(model, src, tgt)
        finite(before, "the logits")
        ones = torch.ones(batch, t_tgt)
        for sums in (before.sum(-1), before.exp().sum(-1)):
            expect(not torch.allclose(sums, ones, atol=1e-4), "probabilities or their logarithms are given, not logits")
        _changed(before, _logits(model, src, _others(tgt, TGT_VOCAB)), "the logits don't depend on the target")
    expect(model.attribute("pad_id") == 0, "pad_id isn't 0 by default")
    expect(_built(student, rng, pad_id=4).attribute("pad_id") == 4, "pad_id isn't the argument")
    plain = student.Transformer(5, 7).eval()
    expect(
        tuple(plain.method("encode", torch.ones(1, 128).long()).shape) == (1, 128, 128), "d_model isn't 128 by default"
    )
    refused(lambda: plain.method("encode", torch.ones(1, 129).long()))


@hidden("Transformer", weight=3)
def nothing_leaks_from_the_future(student: Student, rng: Randomness) -> None:
    """Logits at a position depend on the target up to there, itself included, and on nothing after it."""
    for n_layers, batch in ((1, 3), (3, 2)):
        model = _built(student, rng, n_layers)
        src, tgt = _source(rng, batch, 5), _target(rng, batch, 8)
        before = _logits(model, src, tgt)
        for position in (1, 4, 7):
            other = torch.cat([tgt[:, :position], _others(tgt[:, position:], TGT_VOCAB)], dim=1)
            after = _logits(model, src, other)
            close(after[:, :position], before[:, :position], "logits before the words that changed", **SAME)
            _changed(after[:, position:], before[:, position:], "logits don't depend on their own word")
            alone = _logits(model, src, tgt[:, :position])
            close(alone, before[:, :position], "logits of the beginning alone", **SAME)
        first = torch.cat([_others(tgt[:, :1], TGT_VOCAB), tgt[:, 1:]], dim=1)
        _changed(_logits(model, src, first), before, "logits don't depend on earlier words")


@hidden("Transformer", weight=3)
def source_padding_changes_nothing(student: Student, rng: Randomness) -> None:
    """A source sentence gives the same memory and logits alone and padded, among sentences of other lengths."""
    for pad_id, lengths in ((0, (4, 7, 2)), (SRC_VOCAB - 5, (7, 3, 5))):
        model = _built(student, rng, pad_id=pad_id)
        rows = [_source(rng, 1, length) for length in lengths]
        rows = [row.where(row != pad_id, 1) for row in rows]
        src, tgt = torch.cat([_padded(row, 7, pad_id) for row in rows]), _target(rng, 3, 5)
        tgt = tgt.where(tgt != pad_id, 1)
        memory, logits = _memory(model, src), _logits(model, src, tgt)
        finite(memory, "the memory")
        for number, row in enumerate(rows):
            alone = _memory(model, row)
            close(memory[number : number + 1, : row.shape[1]], alone, "the memory of a padded sentence", **SAME)
            one = tgt[number : number + 1]
            close(logits[number : number + 1], _logits(model, row, one), "logits for a padded source", **SAME)
        noise = rng.normal(*memory.shape, dtype=torch.float32) * (src == pad_id).unsqueeze(-1)
        close(
            _decoded(model, tgt, memory + noise, src).detach(), logits, "logits, given other memory at padding", **SAME
        )
        _changed(_decoded(model, tgt, _memory(model, _others(src, SRC_VOCAB)), src), logits, "memory isn't used")


@hidden("Transformer", weight=2)
def target_padding_changes_nothing(student: Student, rng: Randomness) -> None:
    """A target sentence gives the same logits at its words alone and padded; at padding there is no NaN."""
    for pad_id, lengths in ((0, (4, 6, 1)), (5, (2, 6, 3))):
        model = _built(student, rng, pad_id=pad_id)
        rows = [_target(rng, 1, length) for length in lengths]
        rows = [row.where(row != pad_id, 1) for row in rows]
        tgt, src = torch.cat([_padded(row, 6, pad_id) for row in rows]), _source(rng, 3, 4)
        src = src.where(src != pad_id, 1)
        logits = _logits(model, src, tgt)
        finite(logits, "the logits")
        for number, row in enumerate(rows):
            alone = _logits(model, src[number : number + 1], row)
            close(logits[number : number + 1, : row.shape[1]], alone, "logits of a padded target", **SAME)


@hidden("Transformer", weight=2)
def only_pad_id_is_padding(student: Student, rng: Randomness) -> None:
    """With another pad_id, id 0 is a word like any other, in source and target, and pad_id is hidden."""
    pad_id = 6
    model = _built(student, rng, n_layers=1, pad_id=pad_id)
    src = torch.tensor([[3, 0, 9, 2, pad_id, pad_id], [0, 4, 0, 8, 5, pad_id]])
    tgt = torch.tensor([[0, 3, 2], [4, 0, 1]])
    memory = _memory(model, src).requires_grad_()
    logits = _decoded(model, tgt, memory, src)
    expect(logits.requires_grad, "no gradient flows back to the memory")
    cotangent = rng.normal(*logits.shape, dtype=torch.float32)
    reached = torch.autograd.grad(logits, memory, cotangent)[0].abs().amax(-1)
    expect(bool((reached[src != pad_id] > 1e-6).all()), "a word of the source is treated as padding")
    expect(bool((reached[src == pad_id] < 1e-9).all()), "pad_id isn't hidden")
    before = _logits(model, src, tgt)
    _changed(before, _logits(model, src, tgt[[1, 0]]), "the logits don't depend on the target")
    embeddings = {name: value for name, value in model.parameters().items() if value.shape == (TGT_VOCAB, D_MODEL)}
    for value in embeddings.values():
        value[0] = rng.normal(D_MODEL, dtype=torch.float32)  # word 0 gets another meaning; later words have to notice
    after = _logits(model.load(embeddings), src, tgt)
    later = (after - before)[0, 1:, 1:].abs().amax(-1)
    expect(not embeddings or bool((later > CHANGE).all()), "a word of the target is treated as padding")


@hidden("Transformer", weight=2)
def decode_after_encode_is_forward(student: Student, rng: Randomness) -> None:
    """decode(tgt, encode(src), src) gives what forward(src, tgt) gives, and decode works with the memory it is given."""
    model = _built(student, rng)
    src, tgt = _padded(_source(rng, 2, 5), 7, 0), _target(rng, 2, 6)
    memory, logits = _memory(model, src), _logits(model, src, tgt)
    close(_decoded(model, tgt, memory, src).detach(), logits, "decode after encode", **SAME)
    other = rng.normal(*memory.shape, dtype=torch.float32)
    _changed(_decoded(model, tgt, other, src), logits, "decode doesn't work with the memory that it is given")
    for length in (1, 3):
        found = _decoded(model, tgt[:, :length], memory, src).detach()
        close(found, logits[:, :length], "decode of the beginning alone", **SAME)


@hidden("Transformer", weight=2)
def every_source_word_reaches_every_target_word(student: Student, rng: Randomness) -> None:
    """In the encoder every word reaches every position; in the decoder every position of memory does, in every layer."""
    model = _built(student, rng, n_layers=1)
    src, tgt = _source(rng, 2, 6), _target(rng, 2, 5)
    before = _memory(model, src)
    for position in range(src.shape[1]):
        other = src.clone()
        other[:, position] = _others(src[:, position], SRC_VOCAB)
        _changed(_memory(model, other), before, "a word of the source doesn't reach every position of the memory")
    memory = before.clone().requires_grad_()
    logits = _decoded(model, tgt, memory, src)
    expect(logits.requires_grad, "no gradient flows back to the memory")
    for position in range(tgt.shape[1]):
        cotangent = torch.zeros_like(logits)
        cotangent[:, position] = rng.normal(2, TGT_VOCAB, dtype=torch.float32)
        reached = torch.autograd.grad(logits, memory, cotangent, retain_graph=True)[0].abs().amax(-1)
        expect(bool((reached > 1e-6).all()), "a position of the memory doesn't reach every position of the target")


@hidden("Transformer", weight=2)
def the_order_of_words_matters(student: Student, rng: Randomness) -> None:
    """The same words in another order, or the same word in another place, give something else: source and target."""
    model = _built(student, rng, n_layers=1)
    src, tgt = torch.tensor([[3, 9, 5, 2, 7]]), torch.tensor([[4, 2, 8, 3, 6]])
    order = torch.tensor([2, 0, 1, 4, 3])
    _changed(_memory(model, src[:, order]), _memory(model, src)[:, order], "the memory doesn't know the source's order")
    _changed(_logits(model, src[:, order], tgt), _logits(model, src, tgt), "logits don't know the source's order")
    swapped = tgt[:, [1, 2, 0, 3, 4]]
    last = slice(3, None)
    _changed(
        _logits(model, src, swapped)[:, last], _logits(model, src, tgt)[:, last], "logits don't know the target's order"
    )
    same = torch.full((1, 5), 3)
    logits = _logits(model, src, same)
    _changed(logits[:, 1:], logits[:, :-1], "the same word has the same logits in every place")


def _parameters(model: HeldObject) -> int:
    return sum(value.numel() for value in model.parameters().values())


@hidden("Transformer", weight=2)
def every_layer_has_its_own_weights(student: Student, rng: Randomness) -> None:
    """Each further layer adds the parameters of one encoder layer and one decoder layer, and d_ff counts in each."""
    counts = [_parameters(_built(student, rng, n_layers)) for n_layers in (1, 2, 3)]
    attention, network, norms = 4 * (D_MODEL**2 + D_MODEL), 2 * D_MODEL * D_FF + D_FF + D_MODEL, 5 * 2 * D_MODEL
    most = 3 * attention + 2 * network + norms
    least = 12 * D_MODEL**2 + 4 * D_MODEL * D_FF  # no biases, no scales of norms
    for fewer, more in pairwise(counts):
        expect(more - fewer >= least, "a further layer adds too few parameters")
        expect(more - fewer <= 1.1 * most, "a further layer adds too many parameters")
    wider = _parameters(_built(student, rng, 2, d_ff=D_FF + 10)) - counts[1]
    expect(80 * D_MODEL <= wider <= 80 * D_MODEL + 100, "the network's width isn't d_ff in every layer")
    model = _built(student, rng, 3)
    src, tgt = _source(rng, 1, 4), _target(rng, 1, 4)
    _changed(
        _logits(model, src, tgt), _logits(model, _others(src, SRC_VOCAB), tgt), "logits don't depend on the source"
    )


@hidden("Transformer")
def the_number_of_heads_counts(student: Student, rng: Randomness) -> None:
    """With the same weights, another number of heads gives another memory, and other logits for the same memory."""
    few, many = _built(student, rng, n_heads=2), _built(student, rng, n_heads=6)
    src, tgt = _source(rng, 2, 6), _target(rng, 2, 5)
    weights = few.parameters()
    try:
        many.load(weights)
    except LearnerError:  # one layer per head: then the weights themselves depend on the number
        expect(many.parameters().keys() != weights.keys(), "n_heads makes no difference")
    memory = _memory(few, src)
    _changed(_memory(many, src), memory, "the encoder has another number of heads than n_heads")
    found, other = (_decoded(model, tgt, memory, src) for model in (few, many))
    _changed(found, other, "the decoder has another number of heads than n_heads")


@hidden("Transformer", weight=2)
def dropout_in_train_mode_only(student: Student, rng: Randomness) -> None:
    """Dropout acts in train mode, with the probability that is given, in encoder and decoder; with 0 both modes agree."""
    src, tgt = _source(rng, 2, 6), _target(rng, 2, 5)
    model = _built(student, rng, dropout=0.5)
    student.seed(rng.integer(0, 10**6))
    memory, logits = _memory(model, src), _logits(model, src, tgt)
    close(_logits(model, src, tgt), logits, "logits in eval mode, twice", **SAME)
    model.train()
    _changed(_memory(model, src), _memory(model, src), "the encoder drops nothing in train mode")
    found = _decoded(model, tgt, memory, src)
    _changed(found, _decoded(model, tgt, memory, src), "the decoder drops nothing in train mode")
    expect(model.training, "a call changes the mode")
    close(_logits(model.eval(), src, tgt), logits, "logits in eval mode, after training", **SAME)
    model = _built(student, rng, dropout=0.0)
    before = _logits(model, src, tgt)
    close(_logits(model.train(), src, tgt), before, "logits in train mode with dropout 0", **SAME)
    usual = student.Transformer(SRC_VOCAB, TGT_VOCAB, D_MODEL, N_HEADS).train()
    _stirred(usual, rng)
    _changed(_memory(usual, src), _memory(usual, src), "by default nothing is dropped")


@hidden("Transformer")
def gradients_reach_every_parameter(student: Student, rng: Randomness) -> None:
    """From the logits, gradients reach every parameter of encoder and decoder, padding or not, and none is NaN."""
    model = _built(student, rng, n_layers=3, dropout=0.0).train()
    src, tgt = _padded(_source(rng, 3, 5), 7, 0), _padded(_target(rng, 3, 4), 6, 0)
    src[1], tgt[2, 2:] = 0, 0  # one source of nothing but padding
    logits = a_tensor(model(src, tgt))
    expect(logits.shape == (3, 6, TGT_VOCAB), "wrong shape: the logits")
    expect(logits.requires_grad, "no gradient flows back through the logits")
    model.zero_grad()
    logits.backward(rng.normal(*logits.shape, dtype=torch.float32))
    left, parameters = model.gradients(), model.parameters()
    expect(set(left) == set(parameters), "the gradient doesn't reach every parameter")
    for gradient in left.values():
        finite(gradient, "a gradient")
        expect(gradient.dim() < 2 or bool(gradient.abs().max() > 0), "the gradient of a matrix is 0 everywhere")


@hidden("Transformer")
def a_first_word_looks_at_itself(student: Student, rng: Randomness) -> None:
    """A target of one word looks at that word: the decoder's self-attention is at work, and its weights get gradients."""
    model = _built(student, rng, n_layers=1, dropout=0.0)
    logits = a_tensor(model(_source(rng, 2, 5), _target(rng, 2, 1)), "the logits")
    expect(logits.shape == (2, 1, TGT_VOCAB), "wrong shape: the logits")
    expect(logits.requires_grad, "no gradient flows back through the logits")
    model.zero_grad()
    logits.backward(rng.normal(*logits.shape, dtype=torch.float32))
    others = {SRC_VOCAB, TGT_VOCAB, MAX_LEN, D_FF}  # embeddings and networks may have units that are off
    matrices = [g for g in model.gradients().values() if g.dim() > 1 and not others & set(g.shape)]
    idle = sum(int((gradient == 0).sum()) for gradient in matrices)
    # One key gets all the weight, whatever query and key are: these two matrices are idle, values and output aren't.
    expect(idle < 2.5 * D_MODEL**2, "the decoder's self-attention has nothing to look at")


@hidden("Transformer", weight=2)
def lengths_up_to_max_len(student: Student, rng: Randomness) -> None:
    """T = max_len works in source and target; one more raises ValueError in encode, decode and forward."""
    for max_len in (MAX_LEN, 3):
        model = _built(student, rng, max_len=max_len)
        src, tgt = _source(rng, 2, max_len), _target(rng, 2, max_len)
        logits = _logits(model, src, tgt)
        close(logits[:, :2], _logits(model, src, tgt[:, :2]), "logits of the beginning alone", **SAME)
        _changed(logits, _logits(model, _others(src, SRC_VOCAB), tgt), "logits don't depend on the source")
        long_src, long_tgt = _source(rng, 2, max_len + 1), _target(rng, 2, max_len + 1)
        memory = _memory(model, src)
        refused(lambda model=model, ids=long_src: model.method("encode", ids))
        refused(lambda model=model, ids=long_src, tgt=tgt: model(ids, tgt))
        refused(lambda model=model, ids=long_tgt, src=src: model(src, ids))
        refused(lambda model=model, ids=long_tgt, m=memory, src=src: model.method("decode", ids, m, src))


@hidden("Transformer")
def a_source_of_padding_alone(student: Student, rng: Randomness) -> None:
    """A source that is padding alone gives no NaN, nothing of its memory is used, and other sentences aren't touched."""
    model = _built(student, rng)
    src, tgt = _source(rng, 3, 5), _target(rng, 3, 4)
    src[1] = 0
    memory, logits = _memory(model, src), _logits(model, src, tgt)
    finite(memory, "the memory")
    finite(logits, "the logits")
    noise = torch.zeros_like(memory)
    noise[1] = rng.normal(*memory.shape[1:], dtype=torch.float32)
    close(_decoded(model, tgt, memory + noise, src).detach(), logits, "logits, given other memory at padding", **SAME)
    close(logits[2:], _logits(model, src[2:], tgt[2:]), "logits of another sentence", **SAME)


@hidden("Transformer", weight=3, seconds=40)
def learns_to_turn_a_sequence_round(student: Student, rng: Randomness) -> None:
    """Trained for a moment, it turns short sequences round that it has never seen."""
    vocab, length, bos = 8, 3, 7
    model = student.Transformer(vocab, vocab, 32, 4, 1, 64, 0.0, 8)
    _stirred(model, Randomness("the same start for all")).train()
    draws = Randomness("the same sequences for all")
    weights = {name: value.requires_grad_() for name, value in model.parameters().items()}
    optimizer = torch.optim.Adam(weights.values(), lr=6e-3)

    def batch(size: int) -> tuple[Tensor, Tensor, Tensor]:
        src = draws.integers(1, 6, size, length)
        wanted = src.flip(1)
        return src, torch.cat([torch.full((size, 1), bos), wanted[:, :-1]], dim=1), wanted

    for _step in range(90):
        src, tgt, wanted = batch(32)
        logits = a_tensor(model(src, tgt), "the logits")
        expect(logits.shape == (32, length, vocab), "wrong shape: the logits")
        expect(logits.requires_grad, "no gradient flows back through the logits")
        model.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), wanted.flatten()).backward()
        left = model.gradients()
        for name, weight in weights.items():
            weight.grad = left.get(name)
        optimizer.step()
        model.load({name: weight.detach() for name, weight in weights.items()})
    src, tgt, wanted = batch(200)
    found = model.eval()(src, tgt).argmax(-1)
    expect((found == wanted).double().mean().item() > 0.8, "it hasn't learned the task")
