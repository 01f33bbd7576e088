# mistake: the norms of the states are returned
# hint: it is the *gradient* of the last state that is asked for
import torch

def gradient_by_distance(run, x):
    states = run(x)
    return states.norm(dim=-1).mean(dim=0)
