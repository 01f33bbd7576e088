"""Numbers are compared as PyTorch compares them, whatever they are."""

from itertools import product

import pytest
import torch

from utils.differences import compared, equal
from utils.probes import Probe

PROBE = Probe("softmax", "values", "its values", lambda student: None, {}, ("result",), 1e-4, 1e-5, ())
NUMBERS = [0.0, 1.0, 1 + 5e-5, 1 + 2e-4, float("inf"), -float("inf"), float("nan"), 1e308, -1e-6, 1e-5]
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_are_close_where_allclose_says_so(dtype: torch.dtype) -> None:
    rtol, atol = (1e-7, 1e-9) if dtype == torch.float64 else (PROBE.rtol, PROBE.atol)
    for right, mine in product(NUMBERS, NUMBERS):
        expected, found = torch.tensor([right, 2.0], dtype=dtype), torch.tensor([mine, 2.0], dtype=dtype)
        true = torch.allclose(found.double(), expected.double(), rtol=rtol, atol=atol, equal_nan=True)
        assert equal(expected, found, PROBE) == true, (right, mine)


def test_one_number_in_many_counts() -> None:
    expected = torch.linspace(-1, 1, 1000)
    found = expected.clone()
    found[617] += 1e-3
    assert compared(expected.clone(), expected, 1e-4, 1e-5) is True
    assert compared(found, expected, 1e-4, 1e-5) is False


@pytest.mark.parametrize(
    "found",
    [
        torch.complex(torch.ones(3), -torch.ones(3)).conj().imag,  # its sign is pending
        torch.ones(3, requires_grad=True),
        torch.ones(3, 2)[:, 0],
        torch.nn.Parameter(torch.ones(3)),
    ],
    ids=["a pending sign", "with a gradient", "not contiguous", "a parameter"],
)
def test_tensors_of_every_kind_are_compared(found: torch.Tensor) -> None:
    assert equal(torch.ones(3), found, PROBE)
    assert not equal(torch.zeros(3), found, PROBE)
