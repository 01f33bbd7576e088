# mistake: a letter that doesn't fit becomes unknown, and cutting goes on behind it
# hint: the whole word becomes [unk]
def wordpiece(word, vocab, unk="[UNK]"):
    pieces = []
    start = 0
    while start < len(word):
        end = len(word)
        found = None
        while end > start:
            piece = word[start:end]
            if start > 0:
                piece = "##" + piece
            if piece in vocab:
                found = piece
                break
            end -= 1
        if found is None:
            pieces.append(unk)
            start += 1
            continue
        pieces.append(found)
        start = end
    return pieces
