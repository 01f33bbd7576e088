"""Hidden tests of SequenceClassifier and fine_tune. Training is judged by what it did to a model that keeps a diary."""

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, refused, untouched
from autograder.hidden.randomness import Randomness
from utils import training_traces as traces
from utils.hosts_fine_tuning import TracedClassifier
from utils.student import HeldObject, Student

POOLINGS = ("cls", "mean")


# SequenceClassifier


def _states(table: Tensor, ids: Tensor, padding: Tensor | None, mix: float = 0.5) -> Tensor:
    """Give the states of the host's encoder, position by position: (B, T, d_model)."""
    rows = []
    for sample, tokens in enumerate(ids):
        real = [place for place in range(len(tokens)) if padding is None or padding[sample, 0, place]]
        states = torch.stack([table[token] + 0.1 * place for place, token in enumerate(tokens)])
        rows.append(states + mix * states[real].mean(0))
    return torch.stack(rows)


def _expected(
    pooling: str, table: Tensor, head: dict[str, Tensor], ids: Tensor, padding: Tensor | None = None
) -> Tensor:
    """Give the scores (B, n_classes)."""
    states = _states(table, ids, padding)
    if pooling == "cls":
        pooled = states[:, 0]
    else:
        everything = torch.ones_like(ids, dtype=torch.bool)[:, None]
        real = everything if padding is None else padding
        pooled = torch.stack([sample[mask[0]].mean(0) for sample, mask in zip(states, real, strict=True)])
    return pooled @ head["classifier.weight"].mT + head["classifier.bias"]


def _drawn(rng: Randomness, dtype: torch.dtype = torch.float64) -> tuple[Tensor, dict[str, Tensor], Tensor, Tensor]:
    """Draw a table, a head, ids and a padding mask in which each row has both real tokens and others."""
    batch, t, d_model, classes = rng.sizes(4, 2, 12)
    table = rng.normal(13, d_model, dtype=dtype)
    head = {
        "classifier.weight": rng.normal(classes, d_model, dtype=dtype),
        "classifier.bias": rng.normal(classes, dtype=dtype),
    }
    return table, head, rng.integers(0, 12, batch, t), rng.mask(batch, 1, t)


def _classifier(student: Student, table: Tensor, head: dict[str, Tensor], **options: object) -> HeldObject:
    name = str(table.dtype).removeprefix("torch.")
    encoder = student.host("table_encoder", table).to(name)
    model = student.SequenceClassifier(encoder, len(head["classifier.bias"]), **options)
    return model.to(name).load(head).eval()


@hidden("SequenceClassifier", weight=3)
def classifies_by_the_first_state(student: Student, rng: Randomness) -> None:
    """The scores are the classifier's at the first position's state, where nothing else is asked for, with and without padding."""
    table, head, ids, padding = _drawn(rng)
    for model in (_classifier(student, table, head), _classifier(student, table, head, pooling="cls")):
        close(model(ids), _expected("cls", table, head, ids), "the scores")
        close(model(ids, padding), _expected("cls", table, head, ids, padding), "the scores of padded texts")
        untouched(student)


@hidden("SequenceClassifier", weight=3)
def classifies_by_the_mean(student: Student, rng: Randomness) -> None:
    """With "mean" the scores are the classifier's at the mean over real tokens, wherever the padding stands."""
    table, head, ids, padding = _drawn(rng)
    model = _classifier(student, table, head, pooling="mean")
    close(model(ids), _expected("mean", table, head, ids), "the scores without padding")
    close(model(ids, padding), _expected("mean", table, head, ids, padding), "the scores of padded texts")
    everything = torch.ones_like(padding)
    close(model(ids, everything), _expected("mean", table, head, ids), "the scores where all tokens are real")
    untouched(student)


@hidden("SequenceClassifier", weight=2)
def one_text_and_one_token(student: Student, rng: Randomness) -> None:
    """Works for a single text, a single token, and a single real token."""
    table, head, ids, _padding = _drawn(rng)
    for pooling in POOLINGS:
        model = _classifier(student, table, head, pooling=pooling)
        for part in (ids[:1], ids[:, :1], ids[:1, :1]):
            close(model(part), _expected(pooling, table, head, part), "the scores")
        single = torch.zeros(len(ids), 1, ids.shape[1], dtype=torch.bool)
        single[:, :, 0] = True
        close(model(ids, single), _expected(pooling, table, head, ids, single), "the scores where one token is real")


@hidden("SequenceClassifier", weight=2)
def other_poolings_are_refused(student: Student, rng: Randomness) -> None:
    """The constructor raises ValueError for a pooling that it doesn't know, and takes both that it knows."""
    table, head, ids, _padding = _drawn(rng)
    encoder = student.host("table_encoder", table)
    for pooling in ("max", "sum", "first", "", "token"):
        refused(lambda pooling=pooling: student.SequenceClassifier(encoder, 3, pooling=pooling))
    for pooling in POOLINGS:
        model = _classifier(student, table, head, pooling=pooling)
        close(model(ids), _expected(pooling, table, head, ids), "the scores")


@hidden("SequenceClassifier", weight=2)
def parts_by_name(student: Student, rng: Randomness) -> None:
    """Its parameters are those of encoder, and classifier's weight and bias; the encoder is used as it is, not copied anew."""
    table, head, ids, _padding = _drawn(rng)
    model = _classifier(student, table, head)
    expect(set(model.parameters()) == {"encoder.table", *head}, "other parameters than encoder's and classifier's")
    other = rng.normal(*table.shape)
    model.load({"encoder.table": other})
    close(model(ids), _expected("cls", other, head, ids), "the scores after the encoder got other weights")


@hidden("SequenceClassifier", weight=2)
def dropout_before_the_classifier(student: Student, rng: Randomness) -> None:
    """In train mode the state is thinned out by the given rate before the classifier, and what is left is scaled; not in eval mode."""
    width = 40
    head = {"classifier.weight": torch.eye(width).double(), "classifier.bias": torch.full((width,), 10.0).double()}
    ids = torch.zeros(150, 1, dtype=torch.long)
    for options, p in (({"dropout": 0.4}, 0.4), ({}, 0.1), ({"dropout": 0.0}, 0.0)):
        student.seed(rng.integer(0, 10_000))
        model = _classifier(student, torch.ones(1, width).double(), head, **options)
        close(model(ids), torch.full((150, width), 11.5).double(), "the scores in eval mode")
        seen = a_tensor(model.train()(ids)).detach() - 10
        kept = seen > 0.5
        expect(abs(kept.double().mean().item() - (1 - p)) < 0.03, "another share than p is dropped in train mode")
        expect(bool((seen[~kept].abs() < 1e-6).all()), "dropout changes the classifier's bias, or comes after it")
        close(seen[kept], torch.full_like(seen[kept], 1.5 / (1 - p)), "what dropout keeps", rtol=1e-5, atol=1e-5)
        expect(p == 0 or not bool((kept.all(1) | (~kept).all(1)).all()), "features are not dropped one by one")


@hidden("SequenceClassifier")
def classifier_in_float32(student: Student, rng: Randomness) -> None:
    """Works in float32, and gives scores of that dtype."""
    table, head, ids, padding = _drawn(rng, torch.float32)
    for pooling in POOLINGS:
        model = _classifier(student, table, head, pooling=pooling)
        close(model(ids, padding), _expected(pooling, table, head, ids, padding), "the scores")


@hidden("SequenceClassifier", weight=2)
def gradients_reach_the_encoder(student: Student, rng: Randomness) -> None:
    """Gradients reach classifier and encoder, as the formula has them."""
    table, head, ids, padding = _drawn(rng)
    for pooling in POOLINGS:
        model = _classifier(student, table, head, pooling=pooling)
        scores = a_tensor(model(ids, padding))
        expect(scores.requires_grad, "no gradient flows back from the scores")
        cotangent = rng.normal(*scores.shape)
        leaves = {"encoder.table": table.clone().requires_grad_()}
        leaves |= {name: value.clone().requires_grad_() for name, value in head.items()}
        expected = _expected(pooling, leaves["encoder.table"], leaves, ids, padding)
        expect(scores.shape == expected.shape, "wrong shape: the scores")
        scores.backward(cotangent)
        expected.backward(cotangent)
        found = model.gradients()
        for name, leaf in leaves.items():
            expect(name in found, f"no gradient reaches {name.split('.')[0]}")
            close(found[name], leaf.grad, f"the gradient of {name.split('.')[0]}")


# fine_tune


SIZE = 6  # rows of scores that a traced classifier knows


def _rates(rng: Randomness) -> dict[str, float]:
    return {"encoder_lr": 1e-3 * rng.integer(2, 4), "head_lr": 1e-3 * rng.integer(6, 9)}


def _batches(rng: Randomness, count: int, samples: int = 2) -> list:
    """Draw batches for a traced classifier: rows, labels other than the first class, lengths."""
    drawn = []
    for number in range(count):
        rows = [number % SIZE, *rng.integers(0, SIZE - 1, samples - 1).tolist()]
        labels = rng.integers(1, 2, samples).tolist()
        drawn.append(traces.batch(rows, labels, [*rng.integers(1, 4, samples - 1).tolist(), 5]))
    return drawn


def _traced(
    student: Student, rng: Randomness, pull: Tensor | None = None, **options: object
) -> tuple[HeldObject, Tensor, Tensor]:
    # Not so far apart that the first class has no probability left: its gradient has to be long enough to be clipped, in
    # every batch, or steps would differ by more than the rate.
    scores = rng.normal(SIZE, 3).clamp(-1, 1)
    pull = torch.full((SIZE,), 2.0) if pull is None else pull
    return student.host("traced_classifier", scores, pull, **options).eval(), scores, pull


def _moved(trace: traces.Trace, name: str) -> Tensor:
    return traces.first_entry_steps(trace, name)


def _trace(model: HeldObject, steps: int) -> traces.Trace:
    trace = model.method("trace")
    expect(len(trace["encoder.bias"]) == steps + 1, "the model isn't called once for each batch and epoch")
    return trace


@hidden("fine_tune", weight=3)
def every_batch_once_an_epoch(student: Student, rng: Randomness) -> None:
    """Goes through all batches once an epoch, in order, in train mode, and gives the cross-entropy of each step as a float."""
    for count, epochs in ((3, 4), (1, 2), (5, 1)):
        model, scores, _pull = _traced(student, rng)
        batches = _batches(rng, count)
        losses = student.fine_tune(model, batches, epochs, **_rates(rng))
        expect(not student.changed, "the batches are changed")
        diary = model.method("diary")
        expect(
            diary["rows"] == [int(given[0][0, 0]) for given in batches] * epochs,
            "not every batch once an epoch, in order",
        )
        expect(set(diary["modes"]) == {"train"}, "the model isn't in train mode at every step")
        expect(isinstance(losses, (list, tuple)), "a list should be returned")
        expect(all(isinstance(loss, float) for loss in losses), "the losses aren't all floats")
        expected = torch.tensor(traces.losses_of(batches, scores) * epochs, dtype=torch.float64)
        close(torch.tensor(losses, dtype=torch.float64), expected, "the losses of the steps", rtol=1e-5, atol=1e-5)


@hidden("fine_tune", weight=3)
def encoder_and_rest_at_their_rates(student: Student, rng: Randomness) -> None:
    """All of the encoder moves at encoder_lr, and everything else at head_lr, whichever of the two is larger."""
    for swapped in (False, True):
        model, _scores, _pull = _traced(student, rng)
        rates = _rates(rng)
        if swapped:
            rates = {"encoder_lr": rates["head_lr"], "head_lr": rates["encoder_lr"]}
        student.fine_tune(model, _batches(rng, 4), 2, **rates, weight_decay=0.0)
        trace = _trace(model, 8)
        for name in trace:
            if name in ("encoder.still.weight", "encoder.scale"):
                continue
            rate = rates["encoder_lr" if name.startswith("encoder.") else "head_lr"]
            highest = _moved(trace, name).max().item()
            expect(0.85 * rate < highest < 1.03 * rate, "a part of the model moves at another rate than it should")


@hidden("fine_tune", weight=3)
def decay_where_it_belongs(student: Student, rng: Randomness) -> None:
    """Parameters with two dimensions and more are decayed as AdamW does it, others aren't; 0.01 where nothing is said."""
    for decay in (0.01 * rng.integer(2, 4), None):
        model, _scores, _pull = _traced(student, rng, last=-40.0)
        more = {} if decay is None else {"weight_decay": decay}
        student.fine_tune(model, _batches(rng, 3), 2, **_rates(rng), **more)
        trace, asked = _trace(model, 6), decay or 0.01
        expect(_moved(trace, "encoder.bias").max().item() > 1e-4, "nothing is trained")
        for name, values in trace.items():
            if name == "encoder.still.weight":
                continue
            found = traces.decay_of(trace, name)
            if values[0].dim() >= 2:
                expect(abs(found - asked) < 0.1 * asked, "a matrix isn't decayed by weight_decay as AdamW does it")
            else:
                expect(abs(found) < 0.05 * asked, "a parameter with fewer than two dimensions is decayed")


@hidden("fine_tune", weight=2)
def what_is_frozen_stays(student: Student, rng: Randomness) -> None:
    """Frozen parameters keep their values and stay frozen, all others are trained; a frozen encoder is no obstacle."""
    for frozen in (False, True):
        model, _scores, _pull = _traced(student, rng, last=-40.0, frozen_encoder=frozen)
        rates = _rates(rng)
        student.fine_tune(model, _batches(rng, 3), 2, **rates)
        trace, trainable = _trace(model, 6), model.trainable()
        for name, values in trace.items():
            stays = name == "encoder.still.weight" or (frozen and name.startswith("encoder."))
            same = bool((values == values[0]).all())
            expect(same == stays, "a frozen parameter moves" if stays else "a parameter that isn't frozen stays")
            expect(trainable[name] != stays, "what is frozen changes")
        highest = _moved(trace, "classifier.weight").max().item()
        expect(highest > 0.85 * rates["head_lr"], "the head isn't trained at head_lr")


@hidden("fine_tune", weight=3)
def warm_up_then_down(student: Student, rng: Randomness) -> None:
    """Both rates rise in equal steps over the first tenth of all steps, then fall in equal steps to about 0."""
    for count, epochs in ((10, 4), (25, 2), (50, 1)):
        model, _scores, _pull = _traced(student, rng)
        rates, steps = _rates(rng), count * epochs
        student.fine_tune(model, _batches(rng, count), epochs, **rates, weight_decay=0.0)
        trace = _trace(model, steps)
        encoder, head = (_moved(trace, name) for name in ("encoder.bias", "classifier.bias"))
        seen = traces.shape_of_schedule(encoder, rates["encoder_lr"], steps // 10)
        expect(seen["first step"] == "0 or one step up", "the first rate is neither 0 nor one step up")
        expect(seen["highest rate"] == "the one asked for", "the highest rate isn't the one that was asked for")
        expect(seen["reached"] == "after a tenth", "the full rate isn't reached after a tenth of all steps")
        expect(seen["up"] == "in equal steps", "the warm-up isn't linear")
        expect(seen["down"] == "in equal steps", "the rate doesn't fall linearly after the warm-up")
        expect(seen["last step"] == "about 0", "the last rate isn't about 0")
        alike = torch.allclose(encoder / rates["encoder_lr"], head / rates["head_lr"], atol=0.02)
        expect(bool(alike), "the head's rate doesn't follow the same curve")


@hidden("fine_tune", weight=2)
def few_steps_work(student: Student, rng: Randomness) -> None:
    """Works for a single step, and for fewer than ten."""
    for count, epochs in ((1, 1), (2, 1), (3, 1), (3, 3)):
        model, scores, _pull = _traced(student, rng)
        rates, batches = _rates(rng), _batches(rng, count)
        losses = student.fine_tune(model, batches, epochs, **rates, weight_decay=0.0)
        expected = torch.tensor(traces.losses_of(batches, scores) * epochs, dtype=torch.float64)
        found = torch.tensor(
            [loss.item() if isinstance(loss, Tensor) else loss for loss in losses], dtype=torch.float64
        )
        close(found, expected, "the losses", rtol=1e-5, atol=1e-5)
        share = _moved(_trace(model, count * epochs), "encoder.bias") / rates["encoder_lr"]
        expect(bool(((share > -1e-6) & (share < 1.02)).all()), "a rate is below 0 or above the one asked for")
        expect(count * epochs == 1 or share.max().item() > 0.4, "hardly anything is trained in a few steps")


@hidden("fine_tune", weight=3)
def gradients_are_clipped(student: Student, rng: Randomness) -> None:
    """Each step uses that batch's gradients alone, clipped to a total norm of 1.0 where they are larger, untouched where not."""
    strong, weak = 10.0 + rng.integer(0, 20), 0.02 + 0.01 * rng.integer(0, 4)
    pull = torch.tensor([strong, weak, 0.3 * strong, 2 * weak, 3 * weak, weak])
    batches = [traces.batch([row], [1 + row % 2], [3]) for row in [0, 1, 2, 3, 4, 5, *rng.integers(0, 5, 4).tolist()]]
    rates = _rates(rng)
    model, scores, _pull = _traced(student, rng)
    student.fine_tune(model, batches, 1, **rates, weight_decay=0.0)
    trace = _trace(model, len(batches))
    measured = {name: _moved(trace, name) for name in trace}
    measured["encoder.scale"] = measured["encoder.bias"]
    expect(measured["encoder.bias"].max().item() > 1e-4, "nothing is trained")
    varied = student.host("traced_classifier", scores, pull)
    student.fine_tune(varied, batches, 1, **rates, weight_decay=0.0)
    twin, strengths = TracedClassifier(scores, pull), traces.strengths_of(batches, scores, pull)
    found = traces.clipping_that_explains(_trace(varied, len(batches)), measured, twin, strengths)
    expect(found == "total norm 1.0", "the steps aren't AdamW's with gradients clipped to a total norm of 1.0")


@hidden("fine_tune", weight=2)
def learns_a_small_problem(student: Student, rng: Randomness) -> None:
    """Learns from examples which of two kinds of word a text has more of, and gets texts right that it hasn't seen."""
    width, words = 6, 24
    kinds = torch.zeros(words + 1, dtype=torch.long)
    kinds[rng.order(words)[: words // 2] + 1] = 1
    model = student.host(
        "counting_classifier",
        0.1 * rng.normal(words + 1, width, dtype=torch.float32),
        0.1 * rng.normal(2, width, dtype=torch.float32),
    )

    def texts(count: int) -> tuple[Tensor, Tensor, Tensor]:
        ids = rng.integers(1, words, count, 9)
        real = torch.arange(9) < rng.integers(2, 4, count)[:, None] * 2 + 1  # an odd number: no draws
        ids = torch.where(real, ids, 0)
        return ids, real[:, None], ((kinds[ids] * real).sum(1) * 2 > real.sum(1)).long()

    batches = [texts(10) for _ in range(40)]
    losses = student.fine_tune(model, batches, 3, encoder_lr=0.05, head_lr=0.1)
    ids, padding, labels = texts(300)
    found = a_tensor(model.eval()(ids, padding)).detach()
    expect((found.argmax(-1) == labels).double().mean().item() > 0.93, "after training, unseen texts aren't told apart")
    expect(F.cross_entropy(found, labels).item() < 0.3, "after training, the loss on unseen texts is high")
    expect(sum(losses[-20:]) < 0.5 * sum(losses[:20]), "the losses that are given don't fall")
