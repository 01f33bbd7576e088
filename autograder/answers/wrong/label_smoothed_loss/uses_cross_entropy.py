# mistake: PyTorch's cross-entropy does the work
# hint: build it from log_softmax
import torch
import torch.nn.functional as F


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    flat = logits.reshape(-1, logits.shape[-1])
    return F.cross_entropy(flat, target.reshape(-1), ignore_index=pad_id, label_smoothing=smoothing)
