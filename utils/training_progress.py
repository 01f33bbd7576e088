"""A progress bar around training that somebody else's loop does: one step for each time the model is called."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from tqdm.auto import tqdm


@contextmanager
def calls_shown(model: nn.Module, total: int, label: str) -> Iterator[None]:
    """Show a bar that goes on by one with each call of the model."""
    with tqdm(total=total, desc=label, leave=False) as bar:
        hook = model.register_forward_hook(lambda *_given: bar.update() and None)
        try:
            yield
        finally:
            hook.remove()
