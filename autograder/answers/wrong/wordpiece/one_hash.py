# mistake: continuations are marked with one #
# hint: two of them: "##"
def wordpiece(word, vocab, unk="[UNK]"):
    pieces = []
    start = 0
    while start < len(word):
        end = len(word)
        found = None
        while end > start:
            piece = word[start:end]
            if start > 0:
                piece = "#" + piece
            if piece in vocab:
                found = piece
                break
            end -= 1
        if found is None:
            return [unk]
        pieces.append(found)
        start = end
    return pieces
