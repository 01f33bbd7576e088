"""What the visible checks of chapter 07 look at, part 1: which words are hidden, and what is asked about them.

Draws differ from answer to answer, so what is observed of them are facts. Each bound leaves a right answer fewer than one
chance in a billion to miss it.
"""

import torch
from torch import Tensor

from utils.probes import gradients, probe
from utils.student import HeldObject, Student

VOCABULARY, MASK = 1009, 403
SIGMAS = 7.0  # a normal number is farther out less than once in a hundred billion times


def _share(seen: Tensor, probability: float) -> bool:
    """Say whether a share of True is what the probability lets one expect of so many draws."""
    spread = (probability * (1 - probability) / max(seen.numel(), 1)) ** 0.5
    return seen.numel() > 0 and abs(seen.double().mean().item() - probability) < SIGMAS * spread + 1e-9


def _ids(rows: int, columns: int) -> Tensor:
    """Lay out ids that differ from MASK and from their neighbours."""
    return (torch.arange(rows * columns) * 7 % 397).reshape(rows, columns) + 2


def _specials(ids: Tensor) -> Tensor:
    special = torch.zeros_like(ids, dtype=torch.bool)
    special[:, 0] = special[:, -3:] = True
    return special


def _masked(student: Student, ids: Tensor, special: Tensor, vocab_size: int = VOCABULARY, **options: object) -> tuple:
    """Run the learner's function; its two results, as tensors of ids' shape."""
    inputs, labels = student.mask_tokens(ids, special, MASK, vocab_size, **options)
    if inputs.shape != ids.shape or labels.shape != ids.shape:
        raise ValueError("results of another shape")
    return inputs, labels


def _form(value: object, ids: Tensor) -> str:
    if not isinstance(value, Tensor):
        return f"a {type(value).__name__}"
    return f"{value.dtype}".removeprefix("torch.") + (
        " of ids' shape" if value.shape == ids.shape else " of another shape"
    )


# mask_tokens


@probe(
    "mask_tokens",
    "two results, each with the shape and dtype of ids: inputs and labels",
    labels=("inputs", "labels"),
    ids=_ids(3, 5),
)
def form_of_the_results(student: Student, ids: Tensor) -> object:
    student.seed(1)
    result = student.mask_tokens(ids, torch.zeros_like(ids, dtype=torch.bool), MASK, VOCABULARY)
    return tuple(_form(part, ids) for part in result) if isinstance(result, (tuple, list)) else result


@probe("mask_tokens", "labels hold the true id where a token was chosen, and −100 elsewhere")
def labels_of_the_chosen(student: Student) -> object:
    student.seed(2)
    ids = _ids(20, 50)
    inputs, labels = _masked(student, ids, _specials(ids), p=0.4)
    asked = (labels == ids) & (labels != -100)
    return {
        "every label is the true id or −100": bool(((labels == ids) | (labels == -100)).all()),
        "labels that aren't true ids": ", ".join(str(v) for v in labels[~asked].unique()[:3].tolist()),
        "what isn't asked about is left as it was": bool((inputs == ids)[~asked].all()),
        "something is asked about": bool(asked.any()),
        "not everything is asked about": not bool(asked.all()),
    }


@probe("mask_tokens", "special tokens are never chosen")
def special_tokens(student: Student) -> object:
    student.seed(3)
    ids = _ids(30, 11)
    special = _specials(ids)
    inputs, labels = _masked(student, ids, special, p=1.0)
    return {
        "special tokens stay in the inputs": bool((inputs == ids)[special].all()),
        "special tokens have the label −100": bool((labels == -100)[special].all()),
        "with p = 1 all others are chosen": bool((labels == ids)[~special].all()),
    }


@probe("mask_tokens", "every other token is chosen with probability p: 0.15 by default, 0 and 1 too")
def share_of_chosen(student: Student) -> object:
    student.seed(4)
    ids = _ids(60, 200)
    special = torch.zeros_like(ids, dtype=torch.bool)
    half = torch.arange(200) < 100
    facts = {}
    for name, options, p in (("by default", {}, 0.15), ("with p = 0.5", {"p": 0.5}, 0.5)):
        chosen = _masked(student, ids, special, **options)[1] == ids
        facts[f"the share of chosen tokens is right {name}"] = _share(chosen, p)
    few = _masked(student, ids, special | half, p=0.5)[1][:, 100:] == ids[:, 100:]
    facts["it is a share of the tokens that aren't special"] = _share(few, 0.5)
    inputs, labels = _masked(student, ids, special, p=0.0)
    facts["with p = 0 nothing happens"] = bool((labels == -100).all() and (inputs == ids).all())
    facts["rows are chosen from one by one"] = bool((few[0] != few[1]).any() and (few.T[0] != few.T[1]).any())
    return facts


@probe("mask_tokens", "of the chosen tokens 80 % become mask_id, 10 % a random id, 10 % stay")
def three_fates(student: Student) -> object:
    student.seed(5)
    ids = _ids(100, 200)
    inputs, _labels = _masked(student, ids, torch.zeros_like(ids, dtype=torch.bool), p=1.0)
    masked, kept = inputs == MASK, inputs == ids
    shares = {"mask_id": masked, "unchanged": kept, "random": ~masked & ~kept}
    expected = {"mask_id": 0.8, "unchanged": 0.1, "random": 0.1}
    # With a vocabulary of 1009, one random id in a thousand looks like mask_id or like the token itself.
    seen = {
        f"{name}, to the next 5 %": f"{5 * round(20 * part.double().mean().item())} %" for name, part in shares.items()
    }
    right = {name: _share_with_slack(part, expected[name], 0.0002) for name, part in shares.items()}
    few = _ids(2, 40)
    none = torch.zeros_like(few, dtype=torch.bool)
    hidden = [bool((_masked(student, few, none, p=1.0)[0] == MASK).any()) for _call in range(15)]
    facts = {f"the share of {name} is right": ok for name, ok in right.items()}
    return seen | facts | {"each of 15 calls hides something": all(hidden)}


def _share_with_slack(seen: Tensor, probability: float, slack: float) -> bool:
    spread = (probability * (1 - probability) / seen.numel()) ** 0.5
    return abs(seen.double().mean().item() - probability) < SIGMAS * spread + slack


@probe("mask_tokens", "the share of fates doesn't depend on p")
def fates_at_another_p(student: Student) -> object:
    student.seed(6)
    ids = _ids(150, 200)
    inputs, labels = _masked(student, ids, torch.zeros_like(ids, dtype=torch.bool), p=0.3)
    chosen = labels == ids
    facts = {"something is chosen": bool(chosen.any())}
    for name, part, probability in (("mask_id", inputs == MASK, 0.8), ("unchanged", inputs == ids, 0.1)):
        facts[f"{name} has its share at p = 0.3"] = bool(chosen.any()) and _share_with_slack(
            part[chosen], probability, 0.0002
        )
    return facts


@probe("mask_tokens", "random ids come from the whole vocabulary, a new one for each token")
def random_ids(student: Student) -> object:
    student.seed(7)
    ids = _ids(100, 200)
    inputs, _labels = _masked(student, ids, torch.zeros_like(ids, dtype=torch.bool), p=1.0)
    drawn = inputs[(inputs != MASK) & (inputs != ids)]
    small = torch.full((60, 100), 409)
    ends, _labels = _masked(student, small, torch.zeros_like(small, dtype=torch.bool), vocab_size=411, p=1.0)
    few = _masked(student, torch.full((40, 100), 3), torch.zeros(40, 100, dtype=torch.bool), vocab_size=6, p=1.0)[0]
    few = few[(few != MASK) & (few != 3)]
    return {
        "many different ids are drawn": len(drawn.unique()) > 300,
        "no id lies outside the vocabulary": bool(drawn.numel() and drawn.min() >= 0 and drawn.max() < VOCABULARY),
        "ids below mask_id are drawn": bool((drawn < MASK).any()),
        "ids above mask_id are drawn": bool((drawn > MASK).any()),
        "of a vocabulary of 411, no id lies outside": bool((ends < 411).all()),
        "of a vocabulary of 6 (without mask_id), the others are drawn": ", ".join(map(str, few.unique().tolist())),
    }


@probe("mask_tokens", "the same generator state gives the same result, and the next draw another one")
def repeatable(student: Student) -> object:
    ids = _ids(6, 40)
    special = torch.zeros_like(ids, dtype=torch.bool)

    def draw(generator: HeldObject | None) -> Tensor:
        return torch.stack(_masked(student, ids, special, p=0.5, generator=generator))

    student.seed(8)
    generator = student.host("generator", 123)
    first, second = draw(generator), draw(generator)
    student.seed(9)
    again = draw(student.host("generator", 123))
    other = draw(student.host("generator", 124))
    student.seed(10)
    plain = draw(None)
    next_plain = draw(None)
    student.seed(10)
    return {
        "the same generator state, the same tokens are chosen": bool(torch.equal(first[1], again[1])),
        "the same generator state, the same tokens are hidden": bool(torch.equal(first[0] == MASK, again[0] == MASK)),
        "the same generator state, the same result": bool(torch.equal(first, again)),
        "the next call with it draws anew": not torch.equal(first, second),
        "another seed, another result": not torch.equal(first, other),
        "without a generator, torch.manual_seed decides": bool(torch.equal(plain, draw(None))),
        "without a generator, the next call draws anew": not torch.equal(plain, next_plain),
    }


@probe("mask_tokens", "ids and special are left as they were; one token works")
def single(student: Student) -> object:
    student.seed(11)
    inputs, labels = student.mask_tokens(torch.tensor([[5]]), torch.tensor([[True]]), MASK, VOCABULARY, 1.0)
    return {"inputs": inputs, "labels": labels}


# mlm_loss


@probe(
    "mlm_loss",
    "the mean cross-entropy over the tokens that are asked about",
    logits=lambda n: n.normal(2, 5, 7),
    target=torch.tensor([[-100, 3, -100, 6, -100], [2, -100, -100, -100, 5]]),
)
def mean_over_asked(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.mlm_loss(logits, target)


@probe(
    "mlm_loss",
    "a token with id 0 counts like any other",
    logits=lambda n: n.normal(2, 5, 7),
    target=torch.tensor([[0, -100, -100, 4, 0], [-100, -100, 1, -100, -100]]),
)
def id_zero(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.mlm_loss(logits, target)


@probe(
    "mlm_loss",
    "each token counts the same, however many its sentence has",
    logits=lambda n: 2 * n.normal(3, 5, 7),
    target=torch.tensor([[1, 2, 3, 4, 5], [-100, 6, -100, -100, -100], [-100, -100, -100, -100, -100]]),
)
def uneven_rows(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.mlm_loss(logits, target)


@probe(
    "mlm_loss",
    "where every token is asked about, all count",
    logits=lambda n: n.normal(2, 3, 7),
    target=torch.tensor([[1, 2, 3], [4, 5, 6]]),
)
def all_asked(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.mlm_loss(logits, target)


@probe(
    "mlm_loss",
    "where nothing is asked, the loss is 0 and still connected to the logits",
    logits=lambda n: n.normal(2, 5, 7),
    target=torch.full((2, 5), -100),
)
def nothing_asked(student: Student, logits: Tensor, target: Tensor) -> object:
    logits = logits.clone().requires_grad_()
    loss = student.mlm_loss(logits, target)
    asks = isinstance(loss, Tensor) and loss.requires_grad
    return {"loss": loss, "the loss asks for gradients": asks, **gradients(loss, logits)}


@probe(
    "mlm_loss",
    "gradients reach the tokens that are asked about, and no others",
    logits=lambda n: n.normal(2, 5, 7),
    target=torch.tensor([[-100, 3, -100, 6, -100], [2, -100, -100, -100, 5]]),
)
def loss_gradient(student: Student, logits: Tensor, target: Tensor) -> object:
    logits = logits.clone().requires_grad_()
    return gradients(student.mlm_loss(logits, target), logits)


@probe(
    "mlm_loss",
    "very large logits stay finite, and float64 stays float64",
    logits=lambda n: n.normal(2, 3, 7, dtype=torch.float64) * 2000,
    target=torch.tensor([[1, -100, 3], [-100, 5, -100]]),
)
def large_logits(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.mlm_loss(logits, target)
