"""What the visible checks of SequenceClassifier and fine_tune look at.

A classifier gets an encoder whose states depend on all that it is given. Fine-tuning gets a model that keeps a diary, and is judged
by it: which parameters moved, by how much in each step, what was asked of the model.
"""

import torch
from torch import Tensor

from utils import training_traces as traces
from utils.hosts_fine_tuning import TracedClassifier
from utils.probes import Numbers, error_of, probe
from utils.student import HeldObject, Student

D_MODEL, CLASSES, VOCAB = 7, 3, 11
IDS = torch.tensor([[4, 9, 1, 7, 2], [4, 3, 3, 0, 10]])
PADDING = torch.tensor([[[1, 1, 1, 1, 1]], [[1, 1, 1, 0, 0]]]).bool()
WITHIN = torch.tensor([[[1, 0, 1, 1, 0]], [[1, 1, 1, 0, 0]]]).bool()
DRAWN = {
    "table": lambda n: n.normal(VOCAB, D_MODEL),
    "weight": lambda n: n.normal(CLASSES, D_MODEL),
    "bias": lambda n: n.normal(CLASSES),
}


def _classifier(student: Student, table: Tensor, weight: Tensor, bias: Tensor, **options: object) -> HeldObject:
    encoder = student.host("table_encoder", table)
    model = student.SequenceClassifier(encoder, weight.shape[0], **options)
    return model.load({"classifier.weight": weight, "classifier.bias": bias}).eval()


# SequenceClassifier


@probe("SequenceClassifier", "classifies by the state of the first position, unless told otherwise", **DRAWN)
def first_position(student: Student, table: Tensor, weight: Tensor, bias: Tensor) -> object:
    return _classifier(student, table, weight, bias)(IDS)


@probe("SequenceClassifier", 'with "mean" it classifies by the mean over all positions', **DRAWN)
def mean_of_all(student: Student, table: Tensor, weight: Tensor, bias: Tensor) -> object:
    return _classifier(student, table, weight, bias, pooling="mean")(IDS)


@probe("SequenceClassifier", "the mean is over real tokens only", **DRAWN)
def mean_of_real(student: Student, table: Tensor, weight: Tensor, bias: Tensor) -> object:
    model = _classifier(student, table, weight, bias, pooling="mean")
    return {"padding at the end": model(IDS, PADDING), "padding anywhere": model(IDS, WITHIN)}


@probe("SequenceClassifier", 'the encoder is told about padding, with "cls" too', **DRAWN)
def padding_is_handed_on(student: Student, table: Tensor, weight: Tensor, bias: Tensor) -> object:
    return _classifier(student, table, weight, bias, pooling="cls")(IDS, PADDING)


@probe("SequenceClassifier", "what stands at padding positions changes nothing", **DRAWN)
def padding_changes_nothing(student: Student, table: Tensor, weight: Tensor, bias: Tensor) -> object:
    model = _classifier(student, table, weight, bias, pooling="mean")
    other = IDS.clone()
    other[1, 3:] = torch.tensor([8, 6])
    longer = torch.cat([IDS, torch.full((2, 3), 5)], dim=1)
    wider = torch.cat([PADDING, torch.zeros(2, 1, 3, dtype=torch.bool)], dim=-1)
    scores = [model(ids, mask) for ids, mask in ((IDS, PADDING), (other, PADDING), (longer, wider))]
    return {
        "other tokens there": bool(torch.allclose(scores[0], scores[1], atol=1e-5)),
        "more of them": bool(torch.allclose(scores[0], scores[2], atol=1e-5)),
    }


@probe("SequenceClassifier", "one text of one token", **DRAWN)
def one_token(student: Student, table: Tensor, weight: Tensor, bias: Tensor) -> object:
    poolings = ("cls", "mean")
    return {name: _classifier(student, table, weight, bias, pooling=name)(IDS[:1, :1]) for name in poolings}


@probe("SequenceClassifier", "any other pooling is refused with a ValueError, at once", table=DRAWN["table"])
def other_pooling(student: Student, table: Tensor) -> object:
    encoder = student.host("table_encoder", table)
    built = {}

    def build(pooling: str) -> str:
        error = error_of(lambda: built.update(model=student.SequenceClassifier(encoder, CLASSES, pooling=pooling)))
        if error != "no error":
            return error
        return f"no error; when it is called, {error_of(lambda: built['model'](IDS))}"

    return {pooling: build(pooling) for pooling in ("max", "last")}


@probe(
    "SequenceClassifier", "its parameters are the encoder's, and weight and bias of classifier", table=DRAWN["table"]
)
def names_of_parameters(student: Student, table: Tensor) -> object:
    found = student.SequenceClassifier(student.host("table_encoder", table), CLASSES).parameters()
    return {"parameters": ", ".join(f"{name} {tuple(value.shape)}" for name, value in sorted(found.items()))}


@probe("SequenceClassifier", "dropout is off in eval mode", **DRAWN)
def dropout_at_rest(student: Student, table: Tensor, weight: Tensor, bias: Tensor) -> object:
    student.seed(1)
    return _classifier(student, table, weight, bias, dropout=0.5)(IDS)


def _dropped(student: Student, **options: float) -> Tensor:
    """Let ones through dropout and an identity with a bias of 10: (B, d_model)."""
    width = 20
    model = _classifier(student, torch.ones(1, width), torch.eye(width), torch.full((width,), 10.0), **options).train()
    return model(torch.zeros(200, 1, dtype=torch.long)).detach() - 10


@probe("SequenceClassifier", "in train mode dropout thins out the state before the classifier")
def dropout_at_work(student: Student) -> object:
    student.seed(2)
    facts = {}
    for name, options, p in (
        ("p = 0.5", {"dropout": 0.5}, 0.5),
        ("p as it is", {}, 0.1),
        ("p = 0", {"dropout": 0.0}, 0.0),
    ):
        seen = _dropped(student, **options)
        kept = seen > 0.5
        facts[f"{name}: about the right share is dropped"] = abs(1 - p - kept.double().mean().item()) < 0.04
        facts[f"{name}: what is kept is divided by 1 − p"] = bool(
            torch.allclose(seen[kept], torch.full_like(seen[kept], 1.5 / (1 - p)), rtol=1e-3)
        )
        facts[f"{name}: the bias is never dropped"] = bool((seen > -1).all())
        facts[f"{name}: features go one by one"] = p == 0 or not bool((kept.all(1) | (~kept).all(1)).all())
    return facts


@probe("SequenceClassifier", "keeps float64", **DRAWN)
def double_precision(student: Student, table: Tensor, weight: Tensor, bias: Tensor) -> object:
    encoder = student.host("table_encoder", table.double()).to("float64")
    found = {}
    for name in ("cls", "mean"):
        model = student.SequenceClassifier(encoder, CLASSES, pooling=name).to("float64")
        model.load({"classifier.weight": weight.double(), "classifier.bias": bias.double()}).eval()
        found[name] = model(IDS, PADDING)
    return found


@probe("SequenceClassifier", "gradients reach the classifier, and through it the encoder", **DRAWN)
def gradient_flow(student: Student, table: Tensor, weight: Tensor, bias: Tensor) -> object:
    model = _classifier(student, table, weight, bias, pooling="mean")
    scores = model(IDS, PADDING)
    if not scores.requires_grad:
        return {"gradient": "no gradient arrives"}
    scores.backward(torch.linspace(-1, 1, scores.numel()).reshape(scores.shape))
    arrived = model.gradients()
    names = ("classifier.weight", "classifier.bias", "encoder.table")
    return {f"gradient of {name}": arrived.get(name, "no gradient arrives") for name in names}


# fine_tune


def _scores(n: Numbers) -> Tensor:
    return n.normal(6, 3, dtype=torch.float64)


RATES = {"encoder_lr": 2e-3, "head_lr": 7e-3}
BATCHES = [traces.batch([row, (row + 3) % 6], [1 + row % 2, 2], [2 + row % 3, 5]) for row in range(5)]
EVEN = torch.full((6,), 2.0)


def _run(
    student: Student,
    scores: Tensor,
    pull: Tensor,
    batches: list,
    epochs: int,
    decay: float | None = None,
    **host: object,
) -> tuple[object, HeldObject]:
    """Fine-tune a model that keeps a diary, from eval mode; gives what came back, and the model."""
    model = student.host("traced_classifier", scores, pull, **host).eval()
    more = {} if decay is None else {"weight_decay": decay}
    return student.fine_tune(model, batches, epochs, **RATES, **more), model


@probe("fine_tune", "all batches, once an epoch, in their order, each once", scores=_scores)
def batches_in_order(student: Student, scores: Tensor) -> object:
    _losses, model = _run(student, scores, EVEN, BATCHES[:3], 2)
    return {"first sample of each batch": " ".join(map(str, model.method("diary")["rows"]))}


@probe("fine_tune", "gives the cross-entropy of every step, as a list of floats", scores=_scores)
def losses_as_floats(student: Student, scores: Tensor) -> object:
    losses, _model = _run(student, scores, EVEN, BATCHES[:3], 2)
    if not isinstance(losses, (list, tuple)):
        return {"what is returned": f"a {getattr(losses, 'type_name', type(losses).__name__)}"}
    kinds = sorted({type(loss).__name__ for loss in losses})
    numbers = [
        float(loss.detach()) if isinstance(loss, Tensor) else float(loss)
        for loss in losses
        if isinstance(loss, (int, float, Tensor))
    ]
    return {"made of": " and ".join(kinds), "losses": torch.tensor(numbers, dtype=torch.float64)}


@probe("fine_tune", "the model is in train mode at every step", scores=_scores)
def train_mode(student: Student, scores: Tensor) -> object:
    _losses, model = _run(student, scores, EVEN, BATCHES[:2], 2)
    return {"mode": " ".join(model.method("diary")["modes"])}


def _rate_in_words(trace: traces.Trace, name: str) -> str:
    highest = traces.first_entry_steps(trace, name).max().item()
    for known, rate in {**RATES, "0": 0.0}.items():
        if abs(highest - rate) <= 0.12 * rate + 1e-9:
            return known
    return "another"


@probe("fine_tune", "the encoder moves at encoder_lr, and everything else at head_lr", scores=_scores)
def two_rates(student: Student, scores: Tensor) -> object:
    _losses, model = _run(student, scores, EVEN, BATCHES[:2], 2, decay=0.0)
    trace = model.method("trace")
    names = [name for name in trace if name not in ("encoder.still.weight", "encoder.scale")]
    return {f"highest rate of {name}": _rate_in_words(trace, name) for name in names}


def _decay_in_words(trace: traces.Trace, name: str, asked: float) -> str:
    found = traces.decay_of(trace, name)
    if abs(found) < 0.05 * asked:
        return "not decayed"
    return "decayed" if abs(found - asked) < 0.1 * asked else "not as AdamW decays"


@probe("fine_tune", "weight decay is for parameters with two dimensions and more, and for no others", scores=_scores)
def decay_by_dimensions(student: Student, scores: Tensor) -> object:
    _losses, model = _run(student, scores, EVEN, BATCHES[:2], 2, decay=0.02, last=-40.0)
    trace = model.method("trace")
    return {name: _decay_in_words(trace, name, 0.02) for name in trace if name != "encoder.still.weight"}


@probe("fine_tune", "weight_decay is 0.01 where nobody says otherwise", scores=_scores)
def decay_by_default(student: Student, scores: Tensor) -> object:
    _losses, model = _run(student, scores, EVEN, BATCHES[:2], 2, last=-40.0)
    trace = model.method("trace")
    return {name: _decay_in_words(trace, name, 0.01) for name in ("encoder.table", "classifier.weight")}


@probe("fine_tune", "frozen parameters stay as they are, and stay frozen", scores=_scores)
def frozen_stays(student: Student, scores: Tensor) -> object:
    _losses, model = _run(student, scores, EVEN, BATCHES[:2], 1, decay=0.1, last=-40.0)
    values = model.method("trace")["encoder.still.weight"]
    facts = {"it moves": not bool((values == values[0]).all())}
    facts["it asks for gradients now"] = model.trainable()["encoder.still.weight"]
    _losses, model = _run(student, scores, EVEN, BATCHES[:2], 2, frozen_encoder=True)
    trace = model.method("trace")
    facts["with the whole encoder frozen, the encoder moves"] = _rate_in_words(trace, "encoder.bias")
    return facts | {"and the head": _rate_in_words(trace, "classifier.weight")}


@probe(
    "fine_tune",
    "both rates rise over the first tenth of the steps, then fall to about 0, in equal steps",
    scores=_scores,
)
def schedule(student: Student, scores: Tensor) -> object:
    _losses, model = _run(student, scores, EVEN, BATCHES * 2, 3, decay=0.0)  # 30 steps
    trace = model.method("trace")
    encoder, head = (traces.first_entry_steps(trace, name) for name in ("encoder.bias", "classifier.bias"))
    same = bool(torch.allclose(encoder / RATES["encoder_lr"], head / RATES["head_lr"], atol=0.02))
    return traces.shape_of_schedule(encoder, RATES["encoder_lr"], 3) | {"the head's rate goes alike": same}


@probe(
    "fine_tune",
    "gradients start anew at each step, and are clipped to a total norm of 1.0 before it",
    scores=_scores,
    pull=torch.tensor([25.0, 0.1, 6.0, 0.05, 0.1, 0.2]),
)
def clipping(student: Student, scores: Tensor, pull: Tensor) -> object:
    batches = [traces.batch([row], [1], [2]) for row in (1, 0, 4, 2, 3, 5, 3)]
    even = [traces.batch([5], [1], [2])] * len(batches)
    trace = _run(student, scores, EVEN, even, 1, decay=0.0)[1].method("trace")
    rates = {name: traces.first_entry_steps(trace, name) for name in trace}
    rates["encoder.scale"] = rates["encoder.bias"]
    trace = _run(student, scores, pull, batches, 1, decay=0.0)[1].method("trace")
    strengths = traces.strengths_of(batches, scores, pull)
    model = TracedClassifier(scores, pull)
    return {"the steps are those of clipping": traces.clipping_that_explains(trace, rates, model, strengths)}


@probe("fine_tune", "a single step, and fewer than ten, work too", scores=_scores)
def few_steps(student: Student, scores: Tensor) -> object:
    facts = {}
    for count in (1, 4):
        losses, model = _run(student, scores, EVEN, BATCHES[:count], 1, decay=0.0)
        rates = traces.first_entry_steps(model.method("trace"), "encoder.bias") / RATES["encoder_lr"]
        facts[f"steps of {count}"] = len(losses)
        facts[f"the rate stays between 0 and encoder_lr, for {count}"] = bool(((rates > -1e-6) & (rates < 1.02)).all())
    return facts


@probe("fine_tune", "batches aren't changed", scores=_scores)
def batches_unchanged(student: Student, scores: Tensor) -> object:
    _run(student, scores, EVEN, BATCHES[:2], 1)
    return {"changed": len(student.changed)}
