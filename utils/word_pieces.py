"""Texts as a pretrained encoder knows them: word pieces of its own vocabulary, as ids with a padding mask.

The `tokenizers` library does what the exercise `wordpiece` does, and what comes before it: lower case, accents off, punctuation
a word of its own.
"""

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from tokenizers import BertWordPieceTokenizer
from torch import Tensor

from utils.assets import asset
from utils.reviews import Review

MAX_LEN = 48  # about 5 % of the reviews are longer, and are cut
Batch = tuple[Tensor, Tensor, Tensor]


class WordPieces:
    """Turns texts into ids (B, T) and a padding mask (B, 1, T), [CLS] in front and [SEP] behind."""

    def __init__(self, vocab: Path, max_len: int = MAX_LEN) -> None:
        self.tokenizer = BertWordPieceTokenizer(str(vocab), lowercase=True)
        self.tokenizer.enable_truncation(max_len)
        self.pad_id = self.tokenizer.token_to_id("[PAD]")

    def tokens(self, text: str) -> list[str]:
        """Give the pieces of a text, with [CLS] and [SEP]."""
        return self.tokenizer.encode(text).tokens

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Give ids (B, T) and padding (B, 1, T), True at real tokens; T is the longest text's length."""
        rows = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        lengths = torch.tensor([len(row) for row in rows])
        longest = int(lengths.max())
        ids = torch.tensor([row + [self.pad_id] * (longest - len(row)) for row in rows])  # (B, T)
        return ids, (torch.arange(longest) < lengths[:, None])[:, None]


@cache
def the_word_pieces() -> WordPieces:
    """Give the pieces of the pretrained encoder's vocabulary."""
    return WordPieces(asset("minilm_vocab"))


def in_batches(
    reviews: Sequence[Review], size: int, pieces: WordPieces, generator: random.Random | None = None
) -> list[Batch]:
    """Give (ids, padding, labels) in batches of texts of about one length, so that little of a batch is padding.

    With a generator, texts of the same length and the batches themselves are in random order.
    """
    reviews = list(reviews)
    if generator is not None:
        generator.shuffle(reviews)
    reviews.sort(key=lambda review: len(pieces.tokens(review.text)))
    groups = [reviews[start : start + size] for start in range(0, len(reviews), size)]
    if generator is not None:
        generator.shuffle(groups)
    labels = [torch.tensor([int(review.fresh) for review in group]) for group in groups]
    texts = [pieces([review.text for review in group]) for group in groups]
    return [(ids, padding, fresh) for (ids, padding), fresh in zip(texts, labels, strict=True)]
