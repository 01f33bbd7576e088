# mistake: the sum is treated as a constant, so the gradients are wrong
# hint: the sum depends on x too: only the maximum may be detached
import torch

def softmax(x, dim=-1):
    with torch.no_grad():
        norm = torch.logsumexp(x, dim=dim, keepdim=True)
        norm = torch.where(torch.isinf(norm), torch.zeros_like(norm), norm)
    return torch.exp(x - norm)
