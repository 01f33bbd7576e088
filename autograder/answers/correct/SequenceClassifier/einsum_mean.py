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
        states = self.encoder(ids, padding)
        if self.pooling == "cls":
            pooled = states[:, 0]
        elif padding is None:
            pooled = states.mean(1)
        else:
            weights = padding[:, 0].double() / padding.sum(-1)
            pooled = torch.einsum("bt,btd->bd", weights.to(states.dtype), states)
        return self.classifier(self.dropout(pooled))
