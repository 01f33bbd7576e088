"""What the visible check of chapter 06 looks at in the whole model: what it does, since the names of its parts are free.

Every parameter is overwritten with fixed numbers of the same kind, so that nothing depends on how a model was initialised.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.probes import Observation, error_of, probe
from utils.student import HeldObject, Student

SIZES = {"src_vocab": 17, "tgt_vocab": 13, "d_model": 24, "n_heads": 3, "n_layers": 2, "d_ff": 40, "max_len": 8}
SRC = torch.tensor([[3, 9, 5, 2, 7], [8, 1, 6, 4, 16]])
TGT = torch.tensor([[4, 2, 8, 3, 6, 12], [1, 5, 7, 9, 2, 10]])


def _stirred(module: HeldObject) -> HeldObject:
    """Overwrite all weights: matrices as a fresh layer would have them, vectors moved a little."""
    generator = torch.Generator().manual_seed(6)

    def stir(value: Tensor) -> Tensor:
        noise = torch.randn(value.shape, generator=generator)
        if value.dim() < 2:
            return value + 0.3 * noise if value.dim() else value
        return noise / value.shape[-1] ** 0.5

    return module.load({name: stir(value) for name, value in module.parameters().items()})


def _model(student: Student, **options: float) -> HeldObject:
    return _stirred(student.Transformer(**(SIZES | options))).eval()


def _same(found: Tensor, expected: Tensor) -> bool:
    return bool(torch.allclose(found, expected, rtol=1e-3, atol=1e-4))


def _all_differ(found: Tensor, expected: Tensor) -> bool:
    """Say whether something differs at every position."""
    return bool(((found - expected).abs().amax(-1) > 1e-3).all())


def _pad(ids: Tensor, length: int, pad_id: int = 0) -> Tensor:
    return F.pad(ids, (0, length - ids.shape[1]), value=pad_id)


def _encode(model: HeldObject, src: Tensor) -> Tensor:
    return model.method("encode", src).detach()


def _decode(model: HeldObject, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
    return model.method("decode", tgt, memory, src).detach()


def _noise_like(memory: Tensor) -> Tensor:
    return torch.randn(memory.shape, generator=torch.Generator().manual_seed(7))


@probe("Transformer", "memory is (B, T_src, d_model), logits are (B, T_tgt, tgt_vocab), pad_id is kept")
def shapes(student: Student) -> Observation:
    model, plain = _model(student, pad_id=11), student.Transformer(5, 7).eval()
    memory, logits = model.method("encode", SRC), model(SRC, TGT)
    return {
        "memory": str(tuple(memory.shape)),
        "logits": str(tuple(logits.shape)),
        "logits of decode": str(tuple(model.method("decode", TGT, memory, SRC).shape)),
        "logits for one word each": str(tuple(model(SRC[:1, :1], TGT[:1, :1]).shape)),
        "pad_id, given": model.attribute("pad_id"),
        "pad_id, by default": plain.attribute("pad_id"),
        "memory, by default": str(tuple(plain.method("encode", torch.ones(1, 3).long()).shape)),
        "a logit can be positive": bool((logits > 0).any()),
        "logits of a word don't add up to 1": not _same(logits.sum(-1), torch.ones(2, 6)),
    }


@probe("Transformer", "no look into the future: a position sees itself and what came before")
def no_future(student: Student) -> Observation:
    model = _model(student)
    before = model(SRC, TGT).detach()
    other = torch.cat([TGT[:, :3], TGT[:, 3:] % 12 + 1], dim=1)
    after = model(SRC, other).detach()
    first = torch.cat([TGT[:, :1] % 12 + 1, TGT[:, 1:]], dim=1)
    last = torch.cat([TGT[:, :5], TGT[:, 5:] % 12 + 1], dim=1)
    single = _model(student, n_layers=1)
    one_layer, changed = single(SRC, TGT).detach(), single(SRC, last).detach()
    return {
        "in one layer, a word doesn't reach the place just before it": _same(changed[:, 4], one_layer[:, 4]),
        "in one layer, a word doesn't reach places long before it": _same(changed[:, :4], one_layer[:, :4]),
        "logits before a changed word stay as they were": _same(after[:, :3], before[:, :3]),
        "logits at a changed word change": _all_differ(model(SRC, last).detach()[:, 5], before[:, 5]),
        "logits after a changed word change": _all_differ(model(SRC, first).detach()[:, 1:], before[:, 1:]),
        "the beginning alone has the same logits": _same(model(SRC, TGT[:, :4]).detach(), before[:, :4]),
    }


@probe("Transformer", "padding in the source changes nothing, in encoder and decoder")
def source_padding(student: Student) -> Observation:
    model, facts = _model(student), {}
    src = torch.cat([SRC[:1], _pad(SRC[1:, :3], 5)])
    padded = _pad(src, 7)
    memory = _encode(model, padded)
    noise = _noise_like(memory) * (padded == 0).unsqueeze(-1)
    logits = model(padded, TGT).detach()
    for row, length in ((0, 5), (1, 3)):
        alone = src[row : row + 1, :length]
        facts[f"memory of sentence {row}: padded as alone"] = _same(memory[row, :length], _encode(model, alone)[0])
        expected = _decode(model, TGT[row : row + 1], memory[row : row + 1, :length], alone)
        found = _decode(model, TGT, memory, padded)[row]
        facts[f"logits of sentence {row}, for its memory: padded as alone"] = _same(found, expected[0])
    facts["memory at padding isn't used"] = _same(_decode(model, TGT, memory + noise, padded), logits)
    facts["memory at words is used"] = _all_differ(_decode(model, TGT, _noise_like(memory), padded), logits)
    return facts


@probe("Transformer", "padding in the target changes nothing at its words")
def target_padding(student: Student) -> Observation:
    model, facts = _model(student), {}
    tgt = torch.cat([TGT[:1], _pad(TGT[1:, :3], 6)])
    logits = model(SRC, _pad(tgt, 8)).detach()
    for row, length in ((0, 6), (1, 3)):
        alone = model(SRC[row : row + 1], tgt[row : row + 1, :length]).detach()[0]
        facts[f"logits of sentence {row}: padded as alone"] = _same(logits[row, :length], alone)
    facts["no NaN"] = bool(logits.isfinite().all())
    return facts


@probe("Transformer", "with source and target of one length, each padding is still its own")
def equal_lengths(student: Student) -> Observation:
    model = _model(student)
    src, tgt = _pad(SRC[:, :4], 6), TGT.clone()
    memory = _encode(model, src)
    expected = _decode(model, tgt, memory[:, :4], src[:, :4])
    short = _pad(tgt[:, :2], 6)
    return {
        "padding of the source is hidden": _same(_decode(model, tgt, memory, src), expected),
        "padding of the target hides no memory": _same(
            _decode(model, short, memory, src)[:, :2], _decode(model, short[:, :2], memory, src)
        ),
    }


@probe("Transformer", "pad_id is what hides, whatever it is, and 0 is then a word")
def another_pad_id(student: Student) -> Observation:
    model = _model(student, pad_id=6, n_layers=1)
    src, tgt = torch.tensor([[3, 0, 9, 6]]), torch.tensor([[0, 3, 2]])
    memory = _encode(model, src)
    before = model(src, tgt).detach()
    seen = []
    for position in range(4):
        other = memory.clone()
        other[:, position] = _noise_like(memory)[:, position]
        seen.append("1" if _all_differ(_decode(model, tgt, other, src), before) else "0")
    embeddings = {name: value for name, value in model.parameters().items() if value.shape == (13, 24)}
    for value in embeddings.values():
        value[0] = value[1]
    after = model.load(embeddings)(src, tgt).detach()
    return {
        "memory that counts (source: word, word 0, word, padding)": "".join(seen),
        "memory is the same without padding": _same(memory[:, :3], _encode(model, src[:, :3])),
        "word 0 of the target is seen by later words": not embeddings
        or _all_differ(after[:, 1:, 1:], before[:, 1:, 1:]),
    }


@probe("Transformer", "decode after encode is forward; decode works with the memory that it is given")
def in_two_steps(student: Student) -> Observation:
    model, src = _model(student), _pad(SRC, 7)
    memory, logits = _encode(model, src), model(src, TGT).detach()
    return {
        "decode(tgt, encode(src), src) is forward(src, tgt)": _same(_decode(model, TGT, memory, src), logits),
        "other memory, other logits": _all_differ(_decode(model, TGT, _noise_like(memory), src), logits),
        "other source, other logits": _all_differ(model(_pad(SRC.flip(0), 7), TGT).detach(), logits),
    }


@probe("Transformer", "every word of the source reaches every position of memory, and each of those every target word")
def reach(student: Student) -> Observation:
    model, facts = _model(student, n_layers=1), {}
    memory = _encode(model, SRC)
    logits = _decode(model, TGT, memory, SRC)
    for name, position in (("first", 0), ("last", 4)):
        src = SRC.clone()
        src[:, position] = src[:, position] % 16 + 1
        others = [p for p in range(5) if p != position]
        changed = _encode(model, src)
        facts[f"the {name} word of the source reaches its own memory"] = _all_differ(
            changed[:, position], memory[:, position]
        )
        facts[f"the {name} word of the source reaches all other memory"] = _all_differ(
            changed[:, others], memory[:, others]
        )
        other = memory.clone()
        other[:, position] = _noise_like(memory)[:, position]
        facts[f"the {name} memory reaches every target word"] = _all_differ(_decode(model, TGT, other, SRC), logits)
    return facts


@probe("Transformer", "the order of words matters, in source and target")
def order(student: Student) -> Observation:
    model = _model(student, n_layers=1)
    permutation = torch.tensor([2, 0, 1, 4, 3])
    swapped = TGT[:, [1, 2, 0, 3, 4, 5]]
    same = model(SRC, torch.full((2, 6), 3)).detach()
    memory, logits = _encode(model, SRC), model(SRC, TGT).detach()
    return {
        "memory knows the order of the source": _all_differ(
            _encode(model, SRC[:, permutation]), memory[:, permutation]
        ),
        "logits know the order of the source": _all_differ(model(SRC[:, permutation], TGT).detach(), logits),
        "logits know the order of the target": _all_differ(model(SRC, swapped).detach()[:, 3:], logits[:, 3:]),
        "the same word in another place has other logits": _all_differ(same[:, 1:], same[:, :-1]),
    }


def _count(model: HeldObject) -> int:
    return sum(value.numel() for value in model.parameters().values())


def _layers_in(added: int) -> str:
    """Say in words how many layers a number of parameters makes, with biases or without."""
    encoder, decoder = 4 * 24**2 + 2 * 24 * 40, 8 * 24**2 + 2 * 24 * 40
    known = {"nothing": 0, "one encoder layer": encoder, "one decoder layer": decoder, "both": encoder + decoder}
    for words, least in known.items():
        if least <= added <= 1.08 * least:
            return words
    return "more than both" if added > known["both"] else "something less"


def _shapes(model: HeldObject) -> dict[str, torch.Size]:
    return {name: value.shape for name, value in model.parameters().items()}


@probe("Transformer", "every layer has its own weights: a further one adds one encoder and one decoder layer")
def own_weights(student: Student) -> Observation:
    counts = [_count(student.Transformer(**(SIZES | {"n_layers": n}))) for n in (1, 2, 4)]
    wider = _count(student.Transformer(**(SIZES | {"d_ff": 50}))) - counts[1]
    one, two = _model(student, n_layers=1), _model(student, n_layers=2)
    shared = _shapes(one) == _shapes(two)
    if shared:
        two.load(one.parameters())
    return {
        "a second layer changes the result": _all_differ(two(SRC, TGT).detach(), one(SRC, TGT).detach()),
        "a second layer adds": _layers_in(counts[1] - counts[0]),
        "two more layers add twice as much": counts[2] - counts[1] == 2 * (counts[1] - counts[0]),
        "d_ff counts in every layer": 4 * 2 * 10 * 24 <= wider <= 4 * 2 * 10 * 24 + 80,
    }


@probe("Transformer", "n_heads counts, in encoder and decoder")
def heads(student: Student) -> Observation:
    few, many = _model(student, n_heads=2), _model(student, n_heads=6)
    weights = few.parameters()
    comparable = _shapes(few) == _shapes(many)
    if comparable:
        many.load(weights)
    memory = _encode(few, SRC)
    return {
        "another n_heads, another memory": not comparable or _all_differ(_encode(many, SRC), memory),
        "another n_heads, other logits for the same memory": not comparable
        or _all_differ(_decode(many, TGT, memory, SRC), _decode(few, TGT, memory, SRC)),
    }


@probe("Transformer", "dropout acts in train mode only, in encoder and decoder, with the p that is given")
def dropout(student: Student) -> Observation:
    model, without = _model(student, dropout=0.5), _model(student, dropout=0.0)
    student.seed(5)
    memory = _encode(model, SRC)
    logits, still = _decode(model, TGT, memory, SRC), without(SRC, TGT).detach()
    again = _decode(model, TGT, memory, SRC)
    model.train()
    return {
        "eval mode gives the same twice": _same(again, logits),
        "train mode drops in the encoder": _all_differ(_encode(model, SRC), _encode(model, SRC)),
        "train mode drops in the decoder": _all_differ(
            _decode(model, TGT, memory, SRC), _decode(model, TGT, memory, SRC)
        ),
        "the mode is left as it is": model.training,
        "with dropout 0, train mode is eval mode": _same(without.train()(SRC, TGT).detach(), still),
    }


@probe("Transformer", "T = max_len works, one more is refused with a ValueError, in source and target")
def lengths(student: Student) -> Observation:
    model = _model(student)
    fits, long = torch.ones(2, 8).long(), torch.ones(2, 9).long()
    memory = _encode(model, SRC)

    def outcome(call: Callable[[], Tensor]) -> str:
        given: list[Tensor] = []
        error = error_of(lambda: given.append(call()))
        return error if error != "no error" else f"no error, but {tuple(given[0].shape)}"

    return {
        "source of max_len": error_of(lambda: model.method("encode", fits)),
        "target of max_len": error_of(lambda: model(SRC, fits)),
        "encode, too long": outcome(lambda: model.method("encode", long)),
        "forward, source too long": outcome(lambda: model(long, TGT)),
        "forward, target too long": outcome(lambda: model(SRC, long)),
        "decode, too long": outcome(lambda: model.method("decode", long, memory, SRC)),
    }


@probe("Transformer", "a source of padding alone gives no NaN, and nothing of its memory is used")
def only_padding(student: Student) -> Observation:
    model = _model(student)
    src = torch.cat([SRC[:1], torch.zeros(1, 5).long()])
    memory = _encode(model, src)
    logits, noise = model(src, TGT).detach(), _noise_like(memory)
    noise[0] = 0
    return {
        "no NaN in memory": bool(memory.isfinite().all()),
        "no NaN in logits": bool(logits.isfinite().all()),
        "nothing of its memory is used": _same(_decode(model, TGT, memory + noise, src), logits),
        "the other sentence is as alone": _same(logits[:1], model(SRC[:1], TGT[:1]).detach()),
    }


def _looks_at_itself(student: Student) -> bool:
    """With one word, queries and keys of the decoder's self-attention get no gradient, but values and output do."""
    model = _model(student, n_layers=1, dropout=0.0, max_len=7)
    logits = model(SRC, TGT[:, :1])
    logits.backward(torch.linspace(-1, 1, logits.numel()).reshape(logits.shape))
    others = {17, 13, 7, 40}  # embeddings and networks may have units that are off
    matrices = [g for g in model.gradients().values() if g.dim() > 1 and not others & set(g.shape)]
    return sum(int((gradient == 0).sum()) for gradient in matrices) < 2.5 * 24**2


@probe("Transformer", "gradients reach every parameter, from the logits back through memory into the encoder")
def every_gradient(student: Student) -> Observation:
    model = _model(student, dropout=0.0).train()
    logits = model(SRC, TGT)
    if not logits.requires_grad:
        return {"gradients": "none"}
    logits.backward(torch.linspace(-1, 1, logits.numel()).reshape(logits.shape))
    parameters, arrived = model.parameters(), model.gradients()
    share = len(arrived) / len(parameters)
    if share < 1:
        return {
            "gradients": "nearly everywhere" if share > 0.75 else "in half of the model or so",
            "memory can be differentiated": bool(model.method("encode", SRC).requires_grad),
        }
    return {
        "gradients": "everywhere",
        "memory can be differentiated": bool(model.method("encode", SRC).requires_grad),
        "a target of one word looks at that word": _looks_at_itself(student),
        "none is NaN": all(bool(gradient.isfinite().all()) for gradient in arrived.values()),
    }
