"""What the visible checks of chapter 06 look at: the loss and the learning rate.

Sizes are pairwise different and none is the square of another; numbers of real tokens differ from row to row.
"""

import torch
from torch import Tensor

from utils.execution import LearnerError
from utils.probes import gradients, probe
from utils.student import Student

# label_smoothed_loss

TARGET = torch.tensor([[3, 1, 5, 2, 6], [4, 4, 2, 1, 3], [6, 5, 1, 3, 2]])  # no padding where it is 0
PADDED = torch.tensor([[3, 1, 5, 2, 6], [4, 2, 0, 0, 0], [6, 5, 1, 0, 0]])
LOGITS = {"logits": lambda n: n.normal(3, 5, 7)}


@probe(
    "label_smoothed_loss",
    "without smoothing: minus the log-probability of the target, a mean over tokens",
    target=TARGET,
    **LOGITS,
)
def no_smoothing(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.label_smoothed_loss(logits, target, 0.0)


@probe(
    "label_smoothed_loss",
    "smoothing is spread evenly over all V classes, the right one and padding's included",
    labels=("smoothing 0.3", "smoothing 1"),
    target=TARGET,
    logits=lambda n: 2 * n.normal(3, 5, 7),
)
def spread(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.label_smoothed_loss(logits, target, smoothing=0.3), student.label_smoothed_loss(logits, target, 1.0)


@probe("label_smoothed_loss", "smoothing is 0.1 where none is given", target=TARGET, **LOGITS)
def default_smoothing(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.label_smoothed_loss(logits, target)


@probe("label_smoothed_loss", "padding is left out: the sum over real tokens, divided by their number", target=PADDED, **LOGITS)  # fmt: skip
def padding_left_out(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.label_smoothed_loss(logits, target, 0.2)


@probe(
    "label_smoothed_loss",
    "pad_id says which id is padding; 0 is then a token like any other",
    target=torch.tensor([[3, 0, 5, 2, 6], [5, 2, 0, 5, 5], [6, 0, 1, 3, 5]]),
    **LOGITS,
)
def other_pad_id(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.label_smoothed_loss(logits, target, smoothing=0.2, pad_id=5)


def _backward(result: object, logits: Tensor) -> dict[str, object]:
    """Observe a loss, and what arrives at the logits when it is sent backwards."""
    if not isinstance(result, Tensor) or result.dim() or not result.requires_grad:
        arrived = {"gradient 0": "no gradient arrives"}
    else:
        arrived = gradients(result * -1, logits)  # the fixed gradient of a single number is −1
    return {"loss": result} | arrived


@probe("label_smoothed_loss", "gradients of real tokens are p minus the smoothed target; padding's are 0", target=PADDED, **LOGITS)  # fmt: skip
def loss_gradient(student: Student, logits: Tensor, target: Tensor) -> object:
    logits = logits.clone().requires_grad_()
    return _backward(student.label_smoothed_loss(logits, target, 0.2), logits)


@probe(
    "label_smoothed_loss",
    "nothing but padding: 0, not NaN, with gradients of 0",
    target=torch.zeros(3, 5, dtype=torch.long),
    **LOGITS,
)
def only_padding(student: Student, logits: Tensor, target: Tensor) -> object:
    logits = logits.clone().requires_grad_()
    return _backward(student.label_smoothed_loss(logits, target), logits)


@probe(
    "label_smoothed_loss",
    "a target that is next to impossible has a large loss, not an infinite one",
    rtol=1e-3,
    target=torch.tensor([[1, 2, 3]]),
    logits=torch.tensor([[[60.0, -60.0, 10.0, 0.0], [0.0, 70.0, -50.0, 3.0], [5.0, 40.0, 0.0, -70.0]]]),
)
def next_to_impossible(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.label_smoothed_loss(logits, target, 0.0)


@probe(
    "label_smoothed_loss",
    "logits of ±1,000 overflow nothing",
    rtol=1e-3,
    labels=("smoothing 0", "smoothing 0.2"),
    target=torch.tensor([[1, 2, 3], [3, 1, 0]]),
    logits=torch.tensor(
        [
            [[0.0, 1e3, -1e3, 20.0], [1e3, -1e3, 990.0, 0.0], [-1e3, -999.0, -1e3, -1001.0]],
            [[500.0, -40.0, 80.0, 499.0], [-1e3, 1e3, 999.0, 998.0], [1e3, 0.0, -1e3, 3.0]],
        ]
    ),
)
def large_logits(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.label_smoothed_loss(logits, target, 0.0), student.label_smoothed_loss(logits, target, 0.2)


@probe(
    "label_smoothed_loss",
    "works for one sequence, one token, and tensors that aren't contiguous",
    labels=("one sequence", "one token", "not contiguous"),
    target=PADDED,
    **LOGITS,
)
def loss_sizes(student: Student, logits: Tensor, target: Tensor) -> object:
    turned = logits.transpose(0, 1)  # (5, 3, 7)
    return (
        student.label_smoothed_loss(logits[1:2], target[1:2]),
        student.label_smoothed_loss(logits[:1, :1], target[:1, :1]),
        student.label_smoothed_loss(turned, target.T),
    )


@probe("label_smoothed_loss", "keeps float64", target=PADDED, logits=lambda n: n.normal(3, 5, 7, dtype=torch.float64))
def loss_double(student: Student, logits: Tensor, target: Tensor) -> object:
    return student.label_smoothed_loss(logits, target)


# noam_rate: rates are small numbers, so nothing but their ratio to the right ones counts

EXACT = {"rtol": 1e-6, "atol": 0.0}


def _rates(student: Student, d_model: int, warmup: int, *steps: int) -> dict[str, object]:
    return {f"rate of step {step:,}": student.noam_rate(step, d_model, warmup) for step in steps}


@probe("noam_rate", "the paper's own settings: d_model 512, warm-up over 4,000 steps", **EXACT)
def as_in_the_paper(student: Student) -> object:
    return _rates(student, 512, 4000, 2000, 4000, 16_000)


@probe("noam_rate", "rises in a straight line during the warm-up", **EXACT)
def warming_up(student: Student) -> object:
    return _rates(student, 48, 1000, 1, 2, 10, 500, 999)


@probe("noam_rate", "falls as 1 / √step after it", **EXACT)
def cooling_down(student: Student) -> object:
    return _rates(student, 48, 1000, 1001, 4000, 250_000)


@probe("noam_rate", "both pieces meet at the last step of the warm-up", **EXACT)
def the_peak(student: Student) -> object:
    return _rates(student, 48, 1000, 1000) | {"highest where warm-up is 1": student.noam_rate(1, 48, 1)}


@probe("noam_rate", "a wider model gets a smaller rate: 1 / √d_model", **EXACT)
def width(student: Student) -> object:
    return {f"d_model {d_model}": student.noam_rate(30, d_model, 7) for d_model in (1, 10, 300)}


@probe("noam_rate", "step 0 has rate 0.0, since steps count from 1", **EXACT)
def step_zero(student: Student) -> object:
    try:
        return _rates(student, 48, 1000, 0) | {"warm-up 5": student.noam_rate(0, 512, 5)}
    except LearnerError as error:
        if error.type_name == "NotImplementedError":
            raise
        return {"rate of step 0": f"raises {error.type_name}"}
