# mistake: the word is cut into single letters
# hint: try longer pieces first
def wordpiece(word, vocab, unk="[UNK]"):
    pieces = ["##" * (i > 0) + letter for i, letter in enumerate(word)]
    return pieces if all(piece in vocab for piece in pieces) else [unk]
