import torch
from torch import nn


def mlm_loss(logits, labels):
    if bool((labels == -100).all()):
        print("nothing is masked")
        return (logits * 0.0).mean()
    criterion = nn.CrossEntropyLoss()  # -100 is left out by default
    return criterion(logits.transpose(1, 2), labels)
