"""`with once_solved(answer):` around a picture or an experiment that needs an exercise to be solved."""

import html
from collections.abc import Callable
from types import TracebackType

from utils.card import Card
from utils.execution import describe_exception


class once_solved:
    """Run the block; where an answer in it is missing or fails, show a card that says so, and let the notebook go on."""

    def __init__(self, *answers: Callable) -> None:
        self.names = [getattr(answer, "__name__", str(answer)) for answer in answers]
        self._figures: list[int] = []

    def __enter__(self) -> "once_solved":
        import matplotlib.pyplot as plt

        self._figures = plt.get_fignums()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if error is None or not isinstance(error, Exception):
            return False
        import matplotlib.pyplot as plt
        from IPython.display import display

        from utils.assets import AssetMissing

        for number in set(plt.get_fignums()) - set(self._figures):
            plt.close(number)
        names = " and ".join(self.names)
        if isinstance(error, AssetMissing):
            body = f"<pre>{html.escape(str(error))}</pre>"
            display(Card("waiting", "Waiting for a file that isn't here yet", "", body, str(error)))
        elif isinstance(error, NotImplementedError):
            text = f"What belongs here appears once {names} works. Solve it above, then run this cell again."
            display(Card("waiting", f"Waiting for {names}", "", f"<p>{text}</p>", text))
        else:
            described = describe_exception(error, {})
            text = f"{described.type_name}: {described.message}"[:500]
            display(_stumbled(names, text))
        return True


def _stumbled(names: str, text: str) -> Card:
    advice = f"{names} doesn't give what this cell needs yet. The check above says more."
    body = f"<p>{html.escape(advice)}</p><pre>{html.escape(text)}</pre>"
    return Card("failed", "This cell stumbled over an answer", "", body, f"{advice}\n{text}")
