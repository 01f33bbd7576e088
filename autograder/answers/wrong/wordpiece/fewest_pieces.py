# mistake: the word is cut into as few pieces as possible
# hint: from left to right, always the longest piece that fits, even if another cut has fewer
def wordpiece(word, vocab, unk="[UNK]"):
    best = [None] * (len(word) + 1)
    best[0] = []
    for end in range(1, len(word) + 1):
        for start in range(end):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocab and best[start] is not None:
                if best[end] is None or len(best[start]) + 1 < len(best[end]):
                    best[end] = best[start] + [piece]
    return [unk] if best[-1] is None else best[-1]
