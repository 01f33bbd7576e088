"""Grade on a dask.distributed cluster: notebooks travel as bytes, every worker has a sandbox of its own.

Dask is an engine that others keep: it schedules, notices lost workers, and has deployments for Kubernetes, SLURM and SSH. A
task is one notebook and changes nothing outside its worker, so a lost worker costs no more than grading it again.
"""

import atexit
import threading
from collections.abc import Callable, Iterator
from typing import Any

from autograder.remembered import fingerprint
from autograder.results import SubmissionResult
from autograder.submissions import Submission, Unreadable

CONNECT_SECONDS = 20
RETRIES = 5  # on other workers, where one is lost
AHEAD = 8  # notebooks on their way or graded per worker, so that ten thousand need no more memory than a hundred


class ClusterMissing(Exception):
    """The cluster can't be reached or doesn't fit; the text says what to do."""


_lock = threading.Lock()
_graders: dict[tuple[str, str], Any] = {}  # in a worker: (secret, isolation) → its grader, on its own warm process


def _grader(secret: str, isolation: str) -> Any:
    """Give this worker's grader; the first call starts its warm process."""
    from autograder.grader import Grader

    key = (secret, isolation)
    if key not in _graders:
        grader = Grader(secret, isolation)
        grader.warm.wait_until_ready()
        _graders[key] = grader
        atexit.register(grader.close)
    return _graders[key]


def _grade(data: bytes, submission: Submission, secret: str, isolation: str) -> dict[str, Any]:
    """Run in a worker: grade one notebook. One at a time, since a grader talks to one sandbox at a time."""
    with _lock:
        return _grader(secret, isolation).grade_bytes(data, submission).everything()


def _describe(secret: str, isolation: str) -> dict[str, str]:
    """Run in a worker: say which grader is here, and which walls it has."""
    with _lock:
        return {"grader": fingerprint(secret, isolation), "walls": _grader(secret, isolation).warm.isolation()}


class Cluster:
    """A connection to a scheduler whose workers hold this very course."""

    def __init__(self, address: str, secret: str, isolation: str) -> None:
        self.address, self._secret, self._isolation = address, secret, isolation
        self.walls = ""

    def __enter__(self) -> "Cluster":
        try:
            from distributed import Client
        except ImportError:
            raise ClusterMissing("grading on a cluster needs dask: pip install 'transformer-course[cluster]'") from None
        try:
            self._client = Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise ClusterMissing(f"no scheduler answers at {self.address} ({type(error).__name__}: {error})") from None
        try:
            self._meet_workers()
        except BaseException:
            self._client.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._client.close()

    def _meet_workers(self) -> None:
        """Refuse workers with another grader or other versions: scores must not depend on where a notebook lands."""
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            raise ClusterMissing(
                f"the scheduler at {self.address} has no worker: start some with `dask worker`"
            ) from None
        told = self._client.run(_describe, self._secret, self._isolation, on_error="return")
        ours = fingerprint(self._secret, self._isolation)
        for worker, each in told.items():
            if isinstance(each, BaseException):
                raise ClusterMissing(f"worker {worker} can't grade: {type(each).__name__}: {each}")
            if each["grader"] != ours:
                raise ClusterMissing(
                    f"worker {worker} has another version of the course, of Python or of PyTorch: "
                    "install there what is installed here"
                )
        self.walls = min((each["walls"] for each in told.values()), key=lambda walls: walls == "strict")

    def engine(self, submissions: list[Submission]) -> Callable[[list[int]], Iterator[tuple[int, SubmissionResult]]]:
        """Give what grades the submissions at given positions, on the cluster."""
        return lambda positions: self._grade_all(submissions, positions)

    def _grade_all(self, submissions: list[Submission], positions: list[int]) -> Iterator[tuple[int, SubmissionResult]]:
        from distributed import as_completed

        from autograder.grader import unreadable

        waiting = iter(positions)
        places: dict[Any, int] = {}
        flowing = as_completed([], loop=self._client.loop)

        def hand_on() -> Iterator[tuple[int, SubmissionResult]]:
            """Send notebooks until enough are on their way; what can't be read is answered here."""
            room = AHEAD * max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))
            while len(places) < room:
                position = next(waiting, None)
                if position is None:
                    return
                submission = submissions[position]
                try:
                    data = submission.read()
                except Unreadable as error:
                    yield position, unreadable(error, submission)
                    continue
                future = self._client.submit(
                    _grade, data, submission, self._secret, self._isolation, pure=False, retries=RETRIES
                )
                places[future] = position
                flowing.add(future)

        yield from hand_on()
        while places:
            future = next(flowing)
            position = places.pop(future)
            yield position, _result_of(future, submissions[position])
            yield from hand_on()


def _result_of(future: Any, submission: Submission) -> SubmissionResult:
    try:
        return SubmissionResult.from_everything(future.result())
    except Exception as error:  # whatever it was must not cost the rest of the batch
        text = f"Grading this notebook failed on the cluster ({type(error).__name__}), so it has no score yet."
        return SubmissionResult(submission.student, "", submission.path, error=text, lasting=False)
