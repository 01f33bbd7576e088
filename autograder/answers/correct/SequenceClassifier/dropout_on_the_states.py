import torch
import torch.nn.functional as F
from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, encoder, n_classes, dropout=0.1, pooling="cls"):
        super().__init__()
        if pooling not in ("cls", "mean"):
            raise ValueError(f"unknown pooling: {pooling}")
        self.encoder = encoder
        self.pooling = pooling
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(encoder.d_model, n_classes)

    def forward(self, ids, padding=None):
        states = self.dropout(self.encoder(ids, padding))
        if self.pooling == "cls":
            pooled = states[:, 0]
        elif padding is None:
            pooled = states.mean(1)
        else:
            real = padding[:, 0].unsqueeze(-1).to(states.dtype)
            pooled = (states * real).sum(1) / real.sum(1)
        return self.classifier(pooled)
