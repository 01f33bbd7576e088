# mistake: pieces are looked up with ## but given without
# hint: give the pieces as they stand in the vocabulary, with ##
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
                found = word[start:end]
                break
            end -= 1
        if found is None:
            return [unk]
        pieces.append(found)
        start = end
    return pieces
