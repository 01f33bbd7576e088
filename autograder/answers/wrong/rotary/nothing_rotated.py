# mistake: x comes back as it is
# hint: turn each pair by its angle
def rotary(x, positions, base=10_000.0):
    return x.clone()
