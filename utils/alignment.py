"""Which source tokens a translator looks at while it writes: the cross-attention of a learner's own model."""

from collections.abc import Callable

import torch
from IPython.display import clear_output, display
from torch import Tensor, nn


@torch.no_grad()
def cross_attention(model: nn.Module, src: Tensor, tgt: Tensor) -> Tensor:
    """Give the last cross-attention's weights (H, T_tgt, T_src) for one source (1, T_src) and what is written (1, T_tgt).

    Whatever the model's parts are called: every module that gives (output, weights) while decoding is listened to, and the
    last one that looks from T_tgt positions at T_src is the last layer's. LookupError where there is none.
    """
    heard: list[Tensor] = []

    def listen(_module: nn.Module, _inputs: tuple, result: object) -> None:
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Tensor):
            heard.append(result[1])

    training = model.training
    model.eval()
    memory = model.encode(src)
    hooks = [module.register_forward_hook(listen) for module in model.modules()]
    try:
        model.decode(tgt, memory, src)
    finally:
        for hook in hooks:
            hook.remove()
        model.train(training)
    fitting = [w for w in heard if w.dim() == 4 and w.shape[-2:] == (tgt.shape[1], src.shape[1])]
    if not fitting:
        raise LookupError(
            "no part of this decoder gives (output, weights) with weights of shape (B, H, T_tgt, T_src). Let DecoderLayer "
            "call its cross_attention as a module, as in `output, _ = self.cross_attention(x, memory, memory, mask)`"
        )
    return fitting[-1][0]


def text_field(draw: Callable[[str], None], start: str, label: str = "your date") -> None:
    """Show a field to type into, and draw for what is typed; where there are no widgets, say how to draw without."""
    try:
        import ipywidgets
    except ImportError:
        print(
            "Without ipywidgets there is no field to type into here; call the drawing function with a text of your own."
        )
        return
    field = ipywidgets.Text(value=start, description=label, continuous_update=False)
    output = ipywidgets.Output()

    def show(change: dict) -> None:
        with output:
            clear_output(wait=True)
            try:
                draw(change["new"])
            except ValueError as error:
                print(error)

    field.observe(show, names="value")
    display(ipywidgets.VBox([field, output]))
