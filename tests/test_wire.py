"""What crosses between grader and worker arrives as it was sent, and what isn't a message is refused."""

import contextlib
import math
import struct
from typing import Any

import msgpack
import numpy as np
import pytest
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
    data = header if isinstance(header, bytes) else msgpack.packb(header)
    return struct.pack(">II", len(data), len(payload)) + data + payload


def extension(kind: int, data: Any) -> msgpack.ExtType:
    """Make one of the wire's own types, with data that may be anything."""
    return msgpack.ExtType(kind, data if isinstance(data, bytes) else msgpack.packb(data))


def tensor_entry(
    dtype: int = 1, shape: tuple[int, ...] = (2, 3), flags: int = 0, order: bytes = b""
) -> msgpack.ExtType:
    """Make what stands for a tensor in a header; dtype 1 is float32."""
    sizes = struct.pack(f">{len(shape)}Q", *shape)
    return extension(wire.TENSOR, struct.pack(">BBB", dtype, len(shape), flags) + sizes + order)


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
    st.binary(max_size=20),
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
    keys = st.one_of(st.text(max_size=5), st.integers(-(2**63), 2**63 - 1), st.booleans(), st.none())

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


@pytest.mark.parametrize(
    "value", [set(), {1, 2}, {(1, 2): 3}, {2**70: 1}, 1j, len, torch.nn.ReLU(), limit, np.int64(3)], ids=repr
)
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


def deep(levels: int) -> bytes:
    """Write lists in lists as they travel."""
    return b"\x91" * levels + b"\xc0"


HEADERS = {
    "nothing": b"",
    "half a list": b"\x92\x01",
    "no MessagePack": b"\xc1",
    "two values": b"\x01\x02",
    "not UTF-8": b"\xa1\xff",
    "a list of 2³² elements": b"\xdd\xff\xff\xff\xff",
    "a text of 2³² bytes": b"\xdb\xff\xff\xff\xff",
    "lists without end": deep(100_000),
    "a deep list": deep(30),
    "deep dicts": b"\x81\x01" * 30 + b"\xc0",
    "a moment": msgpack.Timestamp(1),
    "an unknown type": extension(99, b"c"),
    "a tuple's mark alone": extension(wire.TUPLE, b""),
    "a tuple's mark at the end": [1, extension(wire.TUPLE, b"")],
    "a tensor that isn't there": tensor_entry(),
    "a tensor of nothing": extension(wire.TENSOR, b""),
    "a tensor of half a shape": extension(wire.TENSOR, b"\x01\x02\x00" + bytes(15)),
    "a dict with a tuple as a key": b"\x81\x92\xc7\x00\x02\x01\x02",
    "a dict with a large number as a key": b"\x81"
    + msgpack.packb(extension(wire.INTEGER, b"0x1" + b"0" * 40))
    + b"\x02",
    "a dict with a list as a key": b"\x81\x91\x01\x02",
    "a dtype that isn't one": extension(wire.DTYPE, b"float7"),
    "a dtype that isn't text": extension(wire.DTYPE, b"\xff"),
    "a device that isn't one": extension(wire.DEVICE, b"moon:1"),
    "an integer that isn't one": extension(wire.INTEGER, b"0xzz"),
    "an object by name": extension(wire.HELD, ["first", "x"]),
    "an object by a number without end": extension(wire.HELD, [1e300, "x"]),
    "an object whose type is a list": extension(wire.HELD, [1, ["x"]]),
    "an object without a type": extension(wire.HELD, [1]),
    "an object of nothing": extension(wire.HELD, b""),
    "a description without end": extension(wire.FOREIGN, ["float32", [1] * 50]),
    "a description of negative size": extension(wire.FOREIGN, ["float32", [-1]]),
    "a description of infinite size": extension(wire.FOREIGN, ["float32", [math.inf]]),
    "a description too large to count": extension(wire.FOREIGN, ["float64", [2**31 - 1] * 9]),
    "a description by a number": extension(wire.FOREIGN, ["float32", 3]),
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_damaged_header_is_refused(header: Any) -> None:
    with pytest.raises(WireError):
        wire.receive(Line(frame(header)))


def test_a_refusal_repeats_nothing_of_what_was_sent() -> None:
    secrets = [extension(kind, b"secret") for kind in (wire.DTYPE, wire.DEVICE, wire.INTEGER, wire.HELD, 99)]
    for header in (*secrets, {"secret": secrets[0]}, b"secret"):
        with pytest.raises(WireError) as refusal:
            wire.receive(Line(frame(header)))
        assert "secret" not in str(refusal.value)
        assert refusal.value.__cause__ is None


SIX = bytes(24)  # six numbers of float32
TENSORS = {
    "cut off": (tensor_entry(), SIX[:-1]),
    "too long": (tensor_entry(), SIX + bytes(8)),
    "a tensor that nobody names": (1, SIX),
    "a larger shape": (tensor_entry(shape=(2, 4)), SIX),
    "a shape beyond all numbers": (tensor_entry(shape=(2**62, 2**62)), SIX),
    "a shape beyond all numbers, of nothing": (tensor_entry(shape=(0, 2**63, 2**63)), b""),
    "an unknown dtype": (tensor_entry(dtype=len(wire.BY_NUMBER)), SIX),
    "a wider dtype": (tensor_entry(dtype=0), SIX),
    "too many dimensions": (tensor_entry(shape=(1,) * 13), bytes(8)),
    "too many tensors": ([tensor_entry(shape=(1,))] * (wire.MAX_TENSORS + 1), bytes(8) * (wire.MAX_TENSORS + 1)),
    "the same bytes twice": ([tensor_entry(), tensor_entry()], SIX),
}


@pytest.mark.parametrize(("header", "payload"), TENSORS.values(), ids=TENSORS)
def test_tensors_that_lie_are_refused(header: Any, payload: bytes) -> None:
    assert wire.receive(Line(frame(tensor_entry(), SIX))).shape == (2, 3)
    with pytest.raises(WireError):
        wire.receive(Line(frame(header, payload)))


@pytest.mark.parametrize("order", [[0], [0, 0], [1, 2], [0, 1, 2], [], list(range(200))])
def test_an_order_of_dimensions_that_is_none_is_refused(order: list[int]) -> None:
    with pytest.raises(WireError):
        wire.receive(Line(frame(tensor_entry(flags=wire.HAS_ORDER, order=bytes(order)), SIX)))


def test_no_byte_but_zero_and_one_is_a_truth_value() -> None:
    (numbers,) = [number for number, dtype in enumerate(wire.BY_NUMBER) if dtype == torch.bool]
    arrived = wire.receive(Line(frame(tensor_entry(numbers, (4,)), bytes([0, 1, 2, 255, 0, 0, 0, 0]))))
    assert arrived.view(torch.uint8).tolist() == [0, 1, 1, 1]


def only_refusals(data: bytes) -> None:
    with contextlib.suppress(WireError, EOFError):
        wire.receive(Line(data))


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_else(data: bytes) -> None:
    only_refusals(data)


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_random_headers_and_payloads_raise_nothing_else(header: bytes, payload: bytes) -> None:
    only_refusals(frame(header, payload))


extensions = st.builds(
    extension,
    st.integers(0, 8),
    st.one_of(
        st.binary(max_size=30), st.lists(st.one_of(st.integers(-(2**63), 2**64 - 1), st.text(max_size=5)), max_size=3)
    ),
)
entries = st.builds(
    tensor_entry,
    st.integers(0, 255),
    st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=4).map(tuple),
    st.integers(0, 255),
    st.binary(max_size=4),
)


@given(nested(st.one_of(st.none(), st.integers(-(2**63), 2**64 - 1), st.floats(), extensions, entries)))
def test_headers_of_the_right_words_in_the_wrong_places_raise_nothing_else(header: Any) -> None:
    only_refusals(frame(msgpack.packb(header, default=str), SIX))


@given(st.data())
def test_a_frame_with_some_bytes_changed_raises_nothing_else(data: st.DataObject) -> None:
    sent = bytearray(wire.pack({"ok": {"value": (torch.ones(2, 3).T, "text", 2**70), "graph": None}}))
    for _ in range(data.draw(st.integers(1, 3))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))
    only_refusals(bytes(sent))
