"""Dates as people write them, and as ISO 8601 wants them: "the 3rd of May, 1987" → 1987-05-03."""

import datetime
import random
import re
from collections.abc import Callable
from functools import cache

from utils.translation import Pairs, as_pairs

Date = datetime.date
_split = str.split
MONTHS = _split("January February March April May June July August September October November December")
WEEKDAYS = _split("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
SMALL = _split(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = _split("- - twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = _split(
    "- first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
FIRST, AFTER_LAST, HELD_OUT = Date(1900, 1, 1), Date(2030, 1, 1), 2000
LONGEST = 11  # tokens of an ISO date, EOS included


def number_in_words(number: int) -> str:
    """Write 0 to 99."""
    tens, ones = divmod(number, 10)
    return SMALL[number] if number < 20 else TENS[tens] + (f"-{SMALL[ones]}" if ones else "")


def ordinal_in_words(day: int) -> str:
    """Write 1 to 31 as an ordinal number."""
    if day == 30:
        return "thirtieth"
    return ORDINALS[day] if day <= 20 else f"{TENS[day // 10]}-{ORDINALS[day % 10]}"


def ordinal(day: int) -> str:
    """Write 1st, 2nd, 3rd, 11th."""
    ending = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def year_in_words(year: int) -> str:
    """Write a year as it is read aloud."""
    if 2000 <= year < 2010:
        return "two thousand" + (f" and {SMALL[year - 2000]}" if year > 2000 else "")
    century, rest = divmod(year, 100)
    last = "hundred" if rest == 0 else f"oh {SMALL[rest]}" if rest < 10 else number_in_words(rest)
    return f"{number_in_words(century)} {last}"


def month(date: Date) -> str:
    """Name the month."""
    return MONTHS[date.month - 1]


def weekday(date: Date) -> str:
    """Name the day of the week."""
    return WEEKDAYS[date.weekday()]


FORMATS: tuple[Callable[[Date], str], ...] = (
    lambda d: f"{d.day} {month(d)} {d.year}",
    lambda d: f"{month(d)} {d.day}, {d.year}",
    lambda d: f"the {ordinal(d.day)} of {month(d)}, {d.year}",
    lambda d: f"{month(d)[:3]} {d.day} {d.year}",
    lambda d: f"{d.day} {month(d)[:3]} {d.year}",
    lambda d: f"{d.day:02d}/{d.month:02d}/{d.year}",  # the day first
    lambda d: f"{d.day}.{d.month}.{d.year}",
    lambda d: f"{weekday(d)}, {month(d)} {d.day}, {d.year}",
    lambda d: f"{d.year} {month(d)} {d.day}",
    lambda d: f"{month(d)} the {ordinal(d.day)}, {d.year}",
    lambda d: f"{weekday(d)[:3]} {d.day:02d}-{month(d)[:3]}-{d.year}",
    lambda d: f"the {ordinal_in_words(d.day)} of {month(d)} {d.year}",
    lambda d: f"{month(d)} {ordinal_in_words(d.day)}, {year_in_words(d.year)}",
    lambda d: f"{ordinal(d.day)} day of {month(d)}, {year_in_words(d.year)}",
)


def tokens_of(text: str) -> list[str]:
    """Cut a text into words, single digits and punctuation; case and spaces are dropped."""
    return re.findall(r"[a-z]+|[0-9]|[^a-z0-9\s]", text.lower())


@cache
def source_words() -> list[str]:
    """List the vocabulary of written dates; id = place, and the first three are padding, BOS and EOS."""
    days = [Date(2000, 1, 1) + datetime.timedelta(number) for number in range(366)]
    years = [Date(year, 1, 1) for year in range(FIRST.year, AFTER_LAST.year)]
    seen = {token for date in days + years for write in FORMATS for token in tokens_of(write(date))}
    return ["<pad>", "<bos>", "<eos>", *sorted(seen)]


TARGET_WORDS = ["<pad>", "<bos>", "<eos>", *"-0123456789"]


@cache
def _numbers(source: bool) -> dict[str, int]:
    return {word: number for number, word in enumerate(source_words() if source else TARGET_WORDS)}


def source_ids(text: str) -> list[int]:
    """Turn a written date into ids; ValueError where a word isn't among those that dates are written with here."""
    words, known = tokens_of(text), _numbers(True)
    if not words:
        raise ValueError("there is nothing to translate")
    if unknown := [word for word in words if word not in known]:
        raise ValueError(f"no written date here has {', '.join(unknown)} in it")
    return [known[word] for word in words]


def target_ids(text: str) -> list[int]:
    """Turn an ISO date into ids."""
    return [_numbers(False)[sign] for sign in text]


def target_text(ids: list[int]) -> str:
    """Read an ISO date from ids, up to EOS; other special tokens show by their names."""
    words = [TARGET_WORDS[number] for number in ids]
    return "".join(words[: words.index("<eos>")] if "<eos>" in words else words)


@cache
def _dates() -> tuple[list[Date], list[Date]]:
    """Give the dates for training, and 2,000 others that are never seen in any format."""
    dates = [FIRST + datetime.timedelta(number) for number in range((AFTER_LAST - FIRST).days)]
    random.Random(7).shuffle(dates)
    return dates[HELD_OUT:], dates[:HELD_OUT]


def _written(dates: list[Date], draw: random.Random) -> tuple[list[str], list[str]]:
    return [draw.choice(FORMATS)(date) for date in dates], [date.isoformat() for date in dates]


def _pairs(texts: list[str], answers: list[str]) -> Pairs:
    return as_pairs([source_ids(text) for text in texts], [target_ids(answer) for answer in answers])


def batches(size: int, seed: int) -> Callable[[int], Pairs]:
    """Make a source of training batches: dates in random formats, freshly drawn each time."""
    draw, (dates, _) = random.Random(seed), _dates()
    return lambda _step: _pairs(*_written(draw.choices(dates, k=size), draw))


def held_out_texts() -> tuple[list[str], list[str]]:
    """Write the 2,000 held-out dates, each in a format drawn once for all, and in ISO form."""
    return _written(_dates()[1], random.Random(2))


def held_out(count: int = HELD_OUT) -> Pairs:
    """Give the first held-out dates as a batch."""
    texts, answers = held_out_texts()
    return _pairs(texts[:count], answers[:count])
