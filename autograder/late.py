"""Late penalties: when something was handed in, how late that is, and what it costs."""

import math
import re
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from autograder.results import LatePenalty, SubmissionResult
from autograder.submissions import DAMAGED, Submission

SECONDS = {"minute": 60, "hour": 3600, "day": 86400, "week": 604800}
MAX_TIMESTAMP_BYTES = 200
_RULE = re.compile(
    r"(?P<percent>\d+(?:\.\d+)?)\s*%\s*per\s+(?P<unit>hour|day|week)"
    r"(?:,\s*at\s+most\s+(?P<most>\d+(?:\.\d+)?)\s*%)?"
    r"(?:,\s*after\s+(?P<grace>\d+)\s+(?P<grace_unit>minute|hour|day)s?)?"
)


class NotARule(ValueError):
    """A penalty or a time that can't be understood; the text says what can."""


@dataclass(frozen=True)
class LateRule:
    """What lateness costs: a share of the points that were earned, for every unit that has begun, up to a limit.

    A submission that comes within the grace is on time; one that comes later is late from the due time on.
    """

    percent: float
    unit: str = "day"
    most: float = 100.0
    grace_seconds: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "LateRule":
        """Read for example `10% per day`, `10% per day, at most 50%`, `5% per hour, at most 30%, after 15 minutes`."""
        found = _RULE.fullmatch(text.strip().lower())
        if found is None:
            raise NotARule(
                f"{text!r} is not a penalty. Say for example: 10% per day, at most 50%, after 15 minutes "
                "(hour, day or week; the last two parts may be left out)."
            )
        grace = int(found["grace"]) * SECONDS[found["grace_unit"]] if found["grace"] else 0
        rule = cls(float(found["percent"]), found["unit"], float(found["most"] or 100), grace)
        if rule.percent > 100 or rule.most > 100:
            raise NotARule(f"{text!r}: no more than 100% can be taken off")
        return rule

    def percent_off(self, seconds_late: float) -> float:
        """Give the percentage that is taken off."""
        if seconds_late <= self.grace_seconds:
            return 0.0
        return min(self.most, self.percent * math.ceil(seconds_late / SECONDS[self.unit]))


def parse_due(text: str) -> datetime:
    """Read the time that work is due; without a time zone it is this machine's."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except ValueError:
        raise NotARule(f"{text!r} is not a time. Say for example 2026-11-30T23:59 or 2026-11-30T23:59+01:00.") from None


@dataclass(frozen=True)
class Due:
    """When work was due, and what lateness costs."""

    moment: datetime
    rule: LateRule

    @classmethod
    def parse(cls, due: str, late: str | None = None) -> "Due":
        """Read both as the command line takes them; without a rule lateness is told, and costs nothing."""
        return cls(parse_due(due), LateRule.parse(late) if late else LateRule(0))


def handed_in(submission: Submission) -> tuple[datetime | None, str]:
    """Tell when a submission was handed in, and what says so; None where nothing does.

    nbgrader notes the time in `timestamp.txt` beside the notebook. Without it only the file's own time is left, which
    changes when files are copied: that is why the source is told.
    """
    text = _timestamp_beside(submission)
    remark = ""
    if text is not None:
        from nbgrader.utils import parse_utc

        try:
            return parse_utc(text.strip()).replace(tzinfo=UTC), "timestamp.txt"
        except (ValueError, OverflowError, TypeError, AttributeError):
            remark = "; timestamp.txt can't be read"
    try:
        if submission.entry is not None:
            with zipfile.ZipFile(submission.file) as archive:
                moment = datetime(*archive.getinfo(submission.entry).date_time).astimezone()
            return moment, f"time in the zip, taken as this machine's time zone{remark}"
        return datetime.fromtimestamp(submission.file.stat().st_mtime, UTC), f"file time{remark}"
    except (*DAMAGED, ValueError, KeyError):
        return None, f"no time found{remark}"


def _timestamp_beside(submission: Submission) -> str | None:
    try:
        if submission.entry is not None:
            name = str(PurePosixPath(submission.entry).with_name("timestamp.txt"))
            with zipfile.ZipFile(submission.file) as archive, archive.open(name) as stream:
                return stream.read(MAX_TIMESTAMP_BYTES).decode(errors="replace")
        file = submission.file.with_name("timestamp.txt")
        if not file.is_file():
            return None
        with file.open("rb") as stream:
            return stream.read(MAX_TIMESTAMP_BYTES).decode(errors="replace")
    except (*DAMAGED, KeyError):
        return None


def apply_late_penalty(result: SubmissionResult, submission: Submission, due: Due) -> None:
    """Note in a result when it was handed in, and take off what lateness costs."""
    moment, source = handed_in(submission)
    seconds = max(0.0, (moment - due.moment).total_seconds()) if moment else 0.0
    before = result.earned
    percent = due.rule.percent_off(seconds)
    result.late = LatePenalty(
        handed_in=moment.astimezone(due.moment.tzinfo).isoformat(timespec="seconds") if moment else "",
        source=source,
        due=due.moment.isoformat(timespec="seconds"),
        seconds=round(seconds),
        percent=percent,
        before=before,
        points=round(before * percent / 100, 2),
    )


def duration(seconds: float) -> str:
    """Say a duration in the two largest units that it has."""
    if seconds < 60:
        return f"{int(seconds)} s"
    parts = []
    left = int(seconds)
    for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2])
