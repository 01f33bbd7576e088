# mistake: a choice is taken back where the rest doesn't fit
# hint: greedy means: the longest piece stands, and where nothing follows the word is unknown
def wordpiece(word, vocab, unk="[UNK]"):
    def cut(start):
        if start == len(word):
            return []
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocab:
                rest = cut(end)
                if rest is not None:
                    return [piece] + rest
        return None

    found = cut(0)
    return [unk] if found is None else found
