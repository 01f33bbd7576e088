# mistake: the unknown word is always called [UNK]
# hint: give `[unk]`, the argument
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
            return ["[UNK]"]
        pieces.append(found)
        start = end
    return pieces
