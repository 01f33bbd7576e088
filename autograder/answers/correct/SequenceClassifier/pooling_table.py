import torch
import torch.nn.functional as F
from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, encoder, n_classes, dropout=0.1, pooling="cls"):
        super().__init__()
        try:
            self.pool = {"cls": self._first, "mean": self._mean}[pooling]
        except KeyError:
            raise ValueError(f"pooling {pooling} isn't known") from None
        self.encoder = encoder
        self.pooling = pooling
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(encoder.d_model, n_classes)

    def forward(self, ids, padding=None):
        states = self.encoder(ids, padding)
        pooled = self.pool(states, padding)
        return self.classifier(self.dropout(pooled))

    @staticmethod
    def _first(states, padding):
        return states.narrow(1, 0, 1).squeeze(1)

    @staticmethod
    def _mean(states, padding):
        if padding is None:
            return states.mean(1)
        real = padding.mT.to(states)
        return (states * real).sum(1) / real.sum(1)
