# mistake: a word that isn't in the vocabulary is unknown
# hint: cut it: a word is unknown only where no piece fits
def wordpiece(word, vocab, unk="[UNK]"):
    if not word:
        return []
    return [word] if word in vocab else [unk]
