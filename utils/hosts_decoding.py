"""A translator whose every next word stands in a table: hosts for exercises that decode. It notes how it is used."""

import torch
from torch import Tensor, nn


class ScriptedTranslator(nn.Module):
    """Looks each next token's logits up: by source, by how many tokens stand there, and by what they are.

    table: (sources, steps, histories, V). The first id of a source says which script it is. The history of a prefix is its
    last token, or with `whole_history` the sum of all its tokens modulo the number of histories. Where there are more
    tokens than steps, the last step is read.

    In train mode it says the opposite, as if dropout had hit everything. `longest` is the longest prefix that it was asked
    about, `in_train_mode` and `with_gradients` say whether it was ever asked so.
    """

    def __init__(self, table: Tensor, pad_id: int = 0, whole_history: bool = False) -> None:
        super().__init__()
        self.table = nn.Parameter(table.clone())
        self.pad_id, self.whole_history = pad_id, whole_history
        self.longest, self.in_train_mode, self.with_gradients = 0, False, False

    def encode(self, src: Tensor) -> Tensor:
        """Give the memory (B, T_src, 1): the ids of the source."""
        return src.to(self.table.dtype).unsqueeze(-1)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Give logits (B, T_tgt, V). tgt: (B, T_tgt) ids; memory: what encode gave; src: (B, T_src) ids."""
        if tgt.is_floating_point() or memory.dim() != 3 or not len(tgt) == len(memory) == len(src):
            raise ValueError("decode takes tgt (B, T_tgt), memory as encode gives it, src (B, T_src), in this order")
        if torch.equal(memory[..., 0], tgt.to(memory.dtype)) and not torch.equal(tgt, src):
            raise ValueError("src and tgt are exchanged: decode takes tgt, memory, src, in this order")
        if not torch.equal(memory[..., 0], src.to(memory.dtype)):
            raise ValueError("this memory belongs to other sources than those in src")
        self.longest = max(self.longest, tgt.shape[1])
        self.in_train_mode |= self.training
        self.with_gradients |= torch.is_grad_enabled()
        steps, histories = self.table.shape[1:3]
        step = torch.arange(tgt.shape[1]).clamp(max=steps - 1)
        history = tgt.cumsum(1) % histories if self.whole_history else tgt
        logits = self.table[src[:, :1], step, history]  # (B, T_tgt, V)
        return -logits if self.training else logits

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Give logits (B, T_tgt, V)."""
        return self.decode(tgt, self.encode(src), src)


HOSTS = {"scripted_translator": ScriptedTranslator}
