# mistake: PyTorch's own LSTM cell does the work
# hint: write the gates yourself: they are what this exercise is about
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    return torch.lstm_cell(x, state, weight_ih, weight_hh, bias, torch.zeros_like(bias))
