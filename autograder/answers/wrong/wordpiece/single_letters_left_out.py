# mistake: pieces of one letter are never tried
# hint: go down to a single letter: `end > start`
def wordpiece(word, vocab, unk="[UNK]"):
    pieces = []
    start = 0
    while start < len(word):
        end = len(word)
        found = None
        while end > start + 1:
            piece = word[start:end]
            if start > 0:
                piece = "##" + piece
            if piece in vocab:
                found = piece
                break
            end -= 1
        if found is None:
            return [unk]
        pieces.append(found)
        start = end
    return pieces
