"""Ways in which notebooks get damaged: bytes lost on the way, files merged by hand, JSON edited, cells full of anything."""

import copy
import json
import random
from collections.abc import Callable, Iterator

Damage = Callable[[random.Random, bytes], bytes]
# What parsers stumble over.
NASTY = (
    *(
        "\0",
        "\ufeff",
        "\ud83d",
        "\u202e",
        "\r",
        "\x1b[2J",
        "\\",
        '"',
        "'",
        '"""',
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
    ),
    *(
        "\t",
        "\n    ",
        "\n\n",
        "%%time\n",
        "!ls\n",
        "?",
        "def ",
        "class ",
        "lambda",
        "=",
        "@",
        "é" * 50,
        "0" * 5000,
        "(" * 300,
    ),
    *("None", "NaN", "-Infinity", "1e999", "<<<<<<< HEAD\n", "=======\n", ">>>>>>> main\n", "### BEGIN SOLUTION"),
)
VALUES = (
    None,
    True,
    -1,
    0,
    2**70,
    1e308,
    "",
    "x" * 3000,
    [],
    {},
    [[]],
    {"": None},
    [None, 1],
    {"source": []},
    "\ud83d",
)


def _places(rng: random.Random, data: bytes, count: int) -> list[int]:
    return sorted(rng.randrange(len(data) + 1) for _ in range(count))


def flipped(rng: random.Random, data: bytes) -> bytes:
    """Flip some bits."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 3, 30, 1000))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, data: bytes) -> bytes:
    """Lose a stretch: the end, the beginning, or one in the middle."""
    start, end = _places(rng, data, 2)
    return rng.choice((data[:start], data[end:], data[:start] + data[end:]))


def repeated(rng: random.Random, data: bytes) -> bytes:
    """Hold a stretch twice, or the whole file."""
    start, end = _places(rng, data, 2)
    return rng.choice((data[:end] + data[start:], data + data, data + b"\n" + data[:end]))


def swapped(rng: random.Random, data: bytes) -> bytes:
    """Change the order of two stretches."""
    a, b, c = _places(rng, data, 3)
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def inserted(rng: random.Random, data: bytes) -> bytes:
    """Get something in between: noise, or text that parsers stumble over."""
    text = "".join(rng.choice(NASTY) for _ in range(rng.choice((1, 1, 4))))
    noise = rng.choice((text.encode("utf-8", "surrogatepass"), rng.randbytes(rng.choice((1, 20, 4096)))))
    (place,) = _places(rng, data, 1)
    return data[:place] + noise + data[place:]


def recoded(rng: random.Random, data: bytes) -> bytes:
    """Be saved in another encoding, or with other ends of lines."""
    text = data.decode()
    encodings = ("utf-16", "utf-32", "utf-8-sig", "utf-7", "cp1252")
    return rng.choice(
        (text.encode(rng.choice(encodings), "replace"), text.replace("\n", "\r\n").encode(), text[::-1].encode())
    )


def edited(rng: random.Random, data: bytes) -> bytes:
    """Have values of its JSON exchanged, removed or doubled."""
    content = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at_the_top = [(content, key) for key in content]
        holder, key = rng.choice(at_the_top if rng.random() < 0.2 else list(_members(content)))
        match rng.randrange(4):
            case 0:
                del holder[key]
            case 1:
                leaves = [tree[place] for tree, place in _members(content) if not isinstance(tree[place], (dict, list))]
                holder[key] = rng.choice(leaves or VALUES)
            case 2:
                holder[key] = copy.deepcopy(rng.choice(VALUES))
            case 3:
                holder[key] = [copy.deepcopy(holder[key])] * 2
        if not isinstance(content, dict) or not content:
            break
    return json.dumps(content).encode("utf-8", "surrogatepass")


def _members(tree: object) -> Iterator[tuple[dict | list, object]]:
    if isinstance(tree, (dict, list)):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _members(tree[key])


def mistyped(rng: random.Random, data: bytes) -> bytes:
    """Have the source of a cell damaged; the file stays a notebook."""
    content = json.loads(data)
    cell = rng.choice(content["cells"])
    source = "".join(cell["source"])
    for _ in range(rng.choice((1, 1, 3, 10))):
        start, end = sorted(rng.randrange(len(source) + 1) for _ in range(2))
        source = source[:start] + rng.choice(NASTY) + source[rng.choice((start, start, end)) :]
    cell["source"] = source
    return json.dumps(content).encode()


def emptied(rng: random.Random, data: bytes) -> bytes:
    """Lose its content, in one of the ways of a full disk or a broken upload."""
    return rng.choice((b"", b"\n", b"\0" * len(data), b"null", b"{}", b"<!DOCTYPE html><title>Sign in</title>"))


def of_another_course(rng: random.Random, data: bytes) -> bytes:
    """Have no exercise of this course left, under its names or in its metadata."""
    content = json.loads(data)
    content["metadata"] = rng.choice(({}, None, {"course": {"chapter": "99"}}))
    for cell in content["cells"]:
        cell["metadata"], cell["source"] = {}, f"x = {rng.random()}"
    return json.dumps(content).encode()


ALL: tuple[Damage, ...] = (
    flipped,
    cut,
    repeated,
    swapped,
    inserted,
    recoded,
    edited,
    mistyped,
    emptied,
    of_another_course,
)


def damaged(number: int, originals: list[bytes]) -> bytes:
    """Damage one of the originals in one to three ways; the same number always gives the same bytes."""
    rng = random.Random(number)
    data = rng.choice(originals)
    for step in range(rng.choice((1, 1, 1, 2, 3))):
        wreck = rng.choice(ALL)
        try:
            data = wreck(rng, data)
        except (
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            AttributeError,
        ):  # damaged before: no JSON, no cells, no bytes
            assert step, f"{wreck.__name__} can't damage an original"
    return data
