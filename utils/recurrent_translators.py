"""An encoder and a decoder out of PyTorch's LSTM, with attention or without: what translators were before Transformers."""

import math

import torch
from torch import Tensor, nn


class RecurrentTranslator(nn.Module):
    """Two LSTMs. The first reads the source, both ways; the second starts from where the first ends, and writes.

    Without attention, that end is all that the decoder learns of the source: two vectors, however long it was. With
    attention, the decoder also looks at the encoder's states of all source tokens, at every step.
    """

    def __init__(
        self, src_vocab: int, tgt_vocab: int, d_model: int = 64, attention: bool = True, pad_id: int = 0
    ) -> None:
        super().__init__()
        self.attention, self.pad_id = attention, pad_id
        self.src_tokens = nn.Embedding(src_vocab, d_model)
        self.tgt_tokens = nn.Embedding(tgt_vocab, d_model)
        self.encoder = nn.LSTM(d_model, d_model // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(d_model, d_model, batch_first=True)
        self.query = nn.Linear(d_model, d_model) if attention else None
        width = 2 * d_model if attention else d_model
        self.readout = nn.Sequential(nn.Linear(width, d_model), nn.Tanh(), nn.Linear(d_model, tgt_vocab))

    def encode(self, src: Tensor) -> Tensor:
        """Give (B, 2, d_model): the last hidden and cell states; with attention the states follow: (B, 2 + T_src, d_model)."""
        lengths = (src != self.pad_id).sum(1).clamp(min=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            self.src_tokens(src), lengths, batch_first=True, enforce_sorted=False
        )
        states, last = self.encoder(packed)
        ends = [both.transpose(0, 1).flatten(1) for both in last]  # hidden and cell, both directions: (B, d_model) each
        memory = torch.stack(ends, dim=1)  # (B, 2, d_model)
        if not self.attention:
            return memory
        states, _lengths = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=src.shape[1])
        return torch.cat([memory, states], dim=1)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Give logits (B, T_tgt, tgt_vocab)."""
        start = (memory[:, 0].unsqueeze(0).contiguous(), memory[:, 1].unsqueeze(0).contiguous())
        hidden, _last = self.decoder(self.tgt_tokens(tgt), start)  # (B, T_tgt, d_model)
        if self.attention:
            states = memory[:, 2:]  # (B, T_src, d_model)
            scores = self.query(hidden) @ states.mT / math.sqrt(hidden.shape[-1])  # (B, T_tgt, T_src)
            weights = scores.masked_fill((src == self.pad_id).unsqueeze(1), -math.inf).softmax(-1)
            hidden = torch.cat([hidden, weights @ states], dim=-1)  # (B, T_tgt, 2·d_model)
        return self.readout(hidden)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Give logits (B, T_tgt, tgt_vocab)."""
        return self.decode(tgt, self.encode(src), src)
