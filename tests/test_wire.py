"""What crosses between grader and worker arrives as it was sent, and what isn't a message is refused."""

import contextlib
import json
import math
import struct
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from autograder.sandbox import wire
from autograder.sandbox.wire import DTYPES, WireError
from utils.execution import Held


class Line:
    """A connection that holds some bytes and is closed after them; gives a few at a time, as sockets do."""

    def __init__(self, data: bytes, at_once: int = 1 << 30) -> None:
        self.data, self.at_once = data, at_once

    def recv_into(self, buffer: memoryview) -> int:
        count = min(len(buffer), len(self.data), self.at_once)
        buffer[:count], self.data = self.data[:count], self.data[count:]
        return count

    def sendall(self, data: bytes) -> None:
        self.data += data


def crossed(message: Any, at_once: int = 1 << 30) -> Any:
    """Send a message and receive it."""
    line = Line(b"", at_once)
    wire.send(line, message)
    return wire.receive(line)


def frame(header: Any, payload: bytes = b"") -> bytes:
    """Make a frame of a header that may be anything."""
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">II", len(data), len(payload)) + data + payload


def same(a: Any, b: Any) -> bool:
    """Compare values with their types; NaN equals NaN, and tensors are compared bit by bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and bits(a) == bits(b)
    if isinstance(a, float):
        return math.copysign(1, a) == math.copysign(1, b) if a == b else math.isnan(a) and math.isnan(b)
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(same, a.keys(), b.keys())) and all(map(same, a.values(), b.values()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def bits(tensor: Tensor) -> list[int]:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).tolist()


# Round trips

limit = 1 << wire.MAX_INTEGER_BITS
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(1 - limit, limit - 1),
    st.floats(),
    st.text(st.characters(exclude_categories=())),
    st.sampled_from([torch.float32, torch.complex64, torch.device("cpu"), torch.device("meta"), Held(7, "Encoder")]),
)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Any tensor that may travel: any dtype, shape, order of dimensions, any bits."""
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    size = math.prod(shape) * dtype.itemsize
    data = draw(st.binary(min_size=size, max_size=size))
    raw = torch.tensor(list(data), dtype=torch.uint8)
    tensor = (raw > 127) if dtype == torch.bool else raw.view(dtype) if size else torch.empty(0, dtype=dtype)
    return tensor.reshape(shape).permute(draw(st.permutations(range(len(shape)))))


def nested(leaves: st.SearchStrategy) -> st.SearchStrategy:
    keys = st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.none(), st.tuples(st.integers(), st.text()))

    def branches(inner: st.SearchStrategy) -> st.SearchStrategy:
        lists = st.lists(inner, max_size=4)
        return st.one_of(lists, lists.map(tuple), st.dictionaries(keys, inner, max_size=4))

    return st.recursive(leaves, branches, max_leaves=8)


@given(nested(plain))
def test_plain_values_arrive_as_they_were(value: Any) -> None:
    assert same(crossed(value), value)


@given(nested(tensors()))
def test_tensors_arrive_bit_by_bit(value: Any) -> None:
    assert same(crossed(value), value)


@given(nested(st.one_of(plain, tensors())), st.integers(1, 64))
def test_messages_that_arrive_in_pieces_are_put_together(value: Any, at_once: int) -> None:
    assert same(crossed(value, at_once), value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e308, 5e-324, -0.0])
def test_odd_floats_arrive(value: float) -> None:
    assert same(crossed(value), value)


@pytest.mark.parametrize("value", [np.float64(0.5), np.float64("nan"), np.float64("-inf")])
def test_numpys_floats_arrive_as_floats(value: float) -> None:
    assert same(crossed(value), float(value))


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, -(2**63), -(2**64), limit - 1, 1 - limit])
def test_large_whole_numbers_arrive(value: int) -> None:
    assert same(crossed(value), value)


def test_a_transposed_tensor_arrives_as_one() -> None:
    sent = torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1)
    arrived = crossed(sent)
    assert not arrived.is_contiguous()
    assert (arrived.stride(), arrived.tolist()) == (sent.stride(), sent.tolist())


def test_parts_of_a_tensor_arrive_alone() -> None:
    whole = torch.arange(1_000_000.0)
    data = wire.pack({"row": whole[10:13], "steps": whole[::250_000], "spread": whole[:1].expand(2, 3)})
    assert len(data) < 2000
    arrived = wire.receive(Line(data))
    assert arrived["row"].tolist() == [10, 11, 12]
    assert arrived["steps"].tolist() == [0, 250_000, 500_000, 750_000]
    assert arrived["spread"].tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_tensor_that_is_sent_twice_arrives_as_two() -> None:
    x = torch.ones(3)
    first, second = crossed([x, x])
    first.add_(1)
    assert second.tolist() == [1, 1, 1]


@pytest.mark.parametrize("count", [1, 3])
def test_tensors_with_a_pending_sign_arrive_with_it(count: int) -> None:
    sent = torch.complex(torch.ones(count), torch.ones(count)).conj().imag
    assert sent.is_neg()
    assert crossed(sent).tolist() == [-1] * count


def test_who_asks_for_gradients_is_told() -> None:
    asking, not_asking = crossed([torch.ones(2, requires_grad=True), torch.ones(2)])
    assert asking.requires_grad
    assert not not_asking.requires_grad


def test_a_parameter_arrives_as_a_tensor() -> None:
    assert type(crossed(torch.nn.Parameter(torch.ones(2)))) is Tensor


@pytest.mark.parametrize(
    "foreign",
    [torch.ones(2, 3, dtype=torch.complex64), torch.ones(2, 3, device="meta"), torch.ones(2, 3).to_sparse()],
    ids=["complex", "meta", "sparse"],
)
def test_of_tensors_that_cannot_travel_a_description_arrives(foreign: Tensor) -> None:
    arrived = crossed(foreign)
    assert arrived.device.type == "meta"
    assert (arrived.dtype, arrived.shape) == (foreign.dtype, foreign.shape)


@pytest.mark.parametrize("value", [set(), {1, 2}, b"bytes", 1j, len, torch.nn.ReLU(), limit, np.int64(3)], ids=repr)
def test_what_cannot_cross_is_said_to_the_sender(value: object) -> None:
    with pytest.raises(TypeError, match="can't cross"):
        wire.pack([value])


@pytest.mark.parametrize(
    "value",
    [
        torch.zeros(wire.MAX_PAYLOAD + 1, dtype=torch.uint8),
        "x" * wire.MAX_HEADER,
        [torch.zeros(1)] * (wire.MAX_TENSORS + 1),
    ],
    ids=["bytes", "text", "tensors"],
)
def test_what_is_too_large_is_said_to_the_sender(value: object) -> None:
    with pytest.raises(WireError, match="too large"):
        wire.pack(value)


# Refusals


@pytest.mark.parametrize("sizes", [(wire.MAX_HEADER + 1, 0), (2, wire.MAX_PAYLOAD + 1), (2**32 - 1, 2**32 - 1)])
def test_a_length_beyond_all_limits_is_refused_before_anything_is_read(sizes: tuple[int, int]) -> None:
    line = Line(struct.pack(">II", *sizes) + b"1234", at_once=8)
    with pytest.raises(WireError, match="too large"):
        wire.receive(line)
    assert line.data == b"1234"


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 20, -1])
def test_a_message_that_ends_early_is_an_end(cut: int) -> None:
    with pytest.raises(EOFError):
        wire.receive(Line(wire.pack([torch.ones(3), "text"])[:cut]))


def test_a_second_message_before_the_answer_is_refused() -> None:
    with pytest.raises(WireError, match="more than one"):
        wire.receive(Line(wire.pack(1) + wire.pack(2)))


HEADERS = {
    "no JSON": b"{",
    "nothing": b"",
    "not UTF-8": b'"\xff"',
    "a number of 5000 digits": b"1" * 5000,
    "JSON without end": b"[" * 100_000,
    "a deep list": b"[" * 30 + b"]" * 30,
    "an object without a kind": {},
    "an unknown kind": {"$": "pickle", "v": "c"},
    "a kind of the wrong type": {"$": ["tensor"]},
    "a tensor that isn't there": {"$": "tensor", "n": "0"},
    "a tensor without a name": {"$": "tensor"},
    "a tensor by a list": {"$": "tensor", "n": [1]},
    "a tuple of nothing": {"$": "tuple"},
    "a tuple of a number": {"$": "tuple", "v": 5},
    "a dict with a list as a key": {"$": "dict", "v": [[[1], 2]]},
    "a dict of triples": {"$": "dict", "v": [[1, 2, 3]]},
    "a dict of numbers": {"$": "dict", "v": [1]},
    "a dtype that isn't one": {"$": "dtype", "v": "float7"},
    "a dtype by a list": {"$": "dtype", "v": ["float32"]},
    "a device that isn't one": {"$": "device", "v": "moon:1"},
    "a float that isn't one": {"$": "float", "v": "infinite"},
    "an integer that isn't one": {"$": "int", "v": "0xzz"},
    "an integer by a number": {"$": "int", "v": 5},
    "an object by name": {"$": "held", "id": "first", "type": "x"},
    "an object without a type": {"$": "held", "id": 1},
    "a description without end": {"$": "foreign", "dtype": "float32", "device": "cpu", "shape": [1] * 50},
    "a description of negative size": {"$": "foreign", "dtype": "float32", "device": "cpu", "shape": [-1]},
    "a description of infinite size": b'{"$": "foreign", "dtype": "float32", "device": "cpu", "shape": [1e999]}',
    "a description too large to count": {"$": "foreign", "dtype": "float64", "device": "cpu", "shape": [2**31 - 1] * 9},
    "a description by a number": {"$": "foreign", "dtype": "float32", "device": "cpu", "shape": 3},
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_damaged_header_is_refused(header: Any) -> None:
    with pytest.raises(WireError):
        wire.receive(Line(frame(header)))


def test_a_refusal_repeats_nothing_of_what_was_sent() -> None:
    for header in ({"$": "secret"}, {"$": "dtype", "v": "secret"}, {"$": "device", "v": "secret"}, b"secret"):
        with pytest.raises(WireError) as refusal:
            wire.receive(Line(frame(header)))
        assert "secret" not in str(refusal.value)


ONE = {"$": "tensor", "n": "0", "grad": False}
GOOD = safetensors.torch.save({"0": torch.ones(2, 3)})


def _lying(**changes: Any) -> bytes:
    """Make a safetensors file whose header lies."""
    entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} | changes
    header = json.dumps({"0": entry}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(24)


PAYLOADS = {
    "noise": b"noise",
    "cut off": GOOD[:-1],
    "too long": GOOD + b"1",
    "a header longer than the file": (2**40).to_bytes(8, "little") + GOOD[8:],
    "a larger shape": _lying(shape=[2, 4]),
    "a shape beyond all numbers": _lying(shape=[2**62, 2**62]),
    "a negative shape": _lying(shape=[-2, -3]),
    "offsets beyond the end": _lying(data_offsets=[0, 240]),
    "offsets in the wrong order": _lying(data_offsets=[24, 0]),
    "an unknown dtype": _lying(dtype="F33"),
    "another dtype of the same size": _lying(dtype="U32"),
    "complex numbers": safetensors.torch.save({"0": torch.ones(2, dtype=torch.complex64)}),
    "numbers of 8 bits": safetensors.torch.save({"0": torch.ones(2).to(torch.float8_e4m3fn)}),
    "too many dimensions": safetensors.torch.save({"0": torch.ones([1] * 13)}),
    "too many tensors": safetensors.torch.save({str(i): torch.ones(1) for i in range(wire.MAX_TENSORS + 1)}),
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_damaged_payload_is_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        wire.receive(Line(frame(ONE, payload)))


@pytest.mark.parametrize("order", [[0], [0, 0], [1, 2], [0, 1, 2], "xy", 5, [[0], 1], [1e400, 0]])
def test_an_order_of_dimensions_that_is_none_is_refused(order: Any) -> None:
    with pytest.raises(WireError):
        wire.receive(Line(frame({**ONE, "order": order}, GOOD)))


def only_refusals(data: bytes) -> None:
    with contextlib.suppress(WireError, EOFError):
        wire.receive(Line(data))


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_else(data: bytes) -> None:
    only_refusals(data)


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_random_headers_and_payloads_raise_nothing_else(header: bytes, payload: bytes) -> None:
    only_refusals(frame(header, payload))


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(["0", "0x1"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.fixed_dictionaries(
            {"$": st.sampled_from(["tensor", "tuple", "dict", "held", "dtype", "device", "float", "int", "foreign"])},
            optional=dict.fromkeys(("v", "n", "id", "type", "shape", "dtype", "device", "order", "grad"), inner),
        ),
    ),
    max_leaves=12,
)


@given(json_values)
def test_headers_of_the_right_words_in_the_wrong_places_raise_nothing_else(header: Any) -> None:
    only_refusals(frame(header, GOOD))


@given(st.data())
def test_a_frame_with_some_bytes_changed_raises_nothing_else(data: st.DataObject) -> None:
    sent = bytearray(wire.pack({"ok": {"value": (torch.ones(2, 3).T, "text", 2**70), "graph": None}}))
    for _ in range(data.draw(st.integers(1, 3))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))
    only_refusals(bytes(sent))
