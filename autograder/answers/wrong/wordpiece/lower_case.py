# mistake: the word is made lower case first
# hint: take letters as they are: what comes before this step decides about case
def wordpiece(word, vocab, unk="[UNK]"):
    pieces = []
    start = 0
    word = word.lower()
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
            return [unk]
        pieces.append(found)
        start = end
    return pieces
