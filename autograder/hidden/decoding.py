"""Hidden tests of chapter 06: greedy decoding and beam search, on a translator whose every next token stands in a table.

References: a walk through the table, an exhaustive search over small tables, and a plain beam where all drafts end at the
same step, so that no two right ways of pruning can disagree.
"""

import torch
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, untouched
from autograder.hidden.randomness import Randomness
from utils.checks.decoding import WIDE, best_by, lengths_script, open_script, patient_script, scored_answers, telling
from utils.student import HeldObject, Student

Ids = tuple[int, int, int]  # of padding, BOS and EOS
USUAL: Ids = (0, 1, 2)


def _rows(answers: list[list[int]], pad: int) -> Tensor:
    width = max(map(len, answers))
    return torch.tensor([[*answer, *[pad] * (width - len(answer))] for answer in answers])


def _ids(rng: Randomness, vocabulary: int) -> Ids:
    """Draw ids of padding, BOS and EOS, padding's not 0."""
    pad, bos, eos = (rng.order(vocabulary - 1)[:3] + 1).tolist()
    return pad, bos, eos


def _sources(rng: Randomness, scripts: list[int], vocabulary: int, length: int) -> Tensor:
    """Draw sources of which the first id says which script they are."""
    rest = rng.integers(0, vocabulary - 1, len(scripts), length - 1)
    return torch.cat([torch.tensor(scripts).unsqueeze(1), rest], dim=1)


def _model(student: Student, table: Tensor, ids: Ids = USUAL, **options: object) -> HeldObject:
    return student.host("scripted_translator", table, pad_id=ids[0], **options).eval()


def _walk(table: Tensor, ids: Ids, max_len: int, whole_history: bool = False) -> list[int]:
    """Follow one script (steps, histories, V), always to the most likely token."""
    _pad, bos, eos = ids
    written = [bos]
    while len(written) <= max_len and (len(written) == 1 or written[-1] != eos):
        step = min(len(written) - 1, table.shape[0] - 1)
        history = sum(written) % table.shape[1] if whole_history else written[-1]
        written.append(int(table[step, history].argmax()))
    return written[1:]


def _expected(table: Tensor, scripts: list[int], ids: Ids, max_len: int, whole_history: bool = False) -> Tensor:
    return _rows([_walk(table[script], ids, max_len, whole_history) for script in scripts], ids[0])


def _drawn(rng: Randomness, lengths: list[int], steps: int, vocabulary: int, ids: Ids = USUAL) -> Tensor:
    return lengths_script(rng.normal(len(lengths), steps, vocabulary, vocabulary), lengths, ids).float()


# greedy_decode


def _conduct(model: HeldObject, training: bool) -> None:
    expect(not model.attribute("in_train_mode"), "the model is asked in train mode")
    expect(not model.attribute("with_gradients"), "the model is asked with gradients on")
    expect(model.training == training, "the model is left in another mode than it was in")


def _compare(student: Student, table: Tensor, scripts: list[int], ids: Ids, max_len: int, rng: Randomness, **options: object) -> HeldObject:  # fmt: skip
    model = _model(student, table, ids, **options)
    src = _sources(rng, scripts, table.shape[-1], rng.integer(1, 6))
    found = student.greedy_decode(model, src, ids[1], ids[2], max_len)
    untouched(student)
    close(found, _expected(table, scripts, ids, max_len, **options), "the tokens")
    return model


@hidden("greedy_decode", weight=3)
def the_most_likely_token_every_time(student: Student, rng: Randomness) -> None:
    """Each token is the most likely one after the source and everything written so far, up to EOS, without BOS."""
    for length in (1, 4, 7):
        table = _drawn(rng, [length] * 2, 9, 8)
        for script in (0, 1):
            _compare(student, table, [script], USUAL, 9, rng)


@hidden("greedy_decode", weight=3)
def rows_of_a_batch_end_when_they_end(student: Student, rng: Randomness) -> None:
    """In a batch each row is what it would be alone, padded after its EOS; the result is as wide as the longest row."""
    for _ in range(3):
        lengths = rng.sizes(4, 1, 9)
        table = _drawn(rng, lengths, 12, 9)
        _compare(student, table, rng.order(4).tolist(), USUAL, 12, rng)
        _compare(student, table, [2, 0, 2, 2, 1], USUAL, 12, rng)


@hidden("greedy_decode", weight=2)
def max_len_counts_eos(student: Student, rng: Randomness) -> None:
    """No row has more than max_len tokens: EOS is one of them, BOS isn't, and an answer of max_len tokens is whole."""
    for max_len in (1, 3, 5, 6):
        table = _drawn(rng, [5, 2, 6, 20], 8, 7)
        _compare(student, table, [3, 0, 1, 2], USUAL, max_len, rng)
        _compare(student, table, [0], USUAL, max_len, rng)


@hidden("greedy_decode", weight=2)
def ids_are_those_that_are_given(student: Student, rng: Randomness) -> None:
    """BOS and EOS are the ids that are handed in, and padding is the model's pad_id, whichever they are."""
    for _ in range(3):
        ids = _ids(rng, 8)
        table = _drawn(rng, [3, 6, 2], 8, 8, ids)
        _compare(student, table, [0, 1, 2], ids, 8, rng)


@hidden("greedy_decode")
def the_whole_prefix_counts(student: Student, rng: Randomness) -> None:
    """The model sees everything that is written, not only the last token."""
    for _ in range(3):
        table = lengths_script(rng.normal(3, 9, 13, 8), [7, 5, 8]).float()
        _compare(student, table, [1, 0, 2], USUAL, 9, rng, whole_history=True)


@hidden("greedy_decode", weight=2)
def stops_once_all_rows_have_ended(student: Student, rng: Randomness) -> None:
    """When every row has its EOS, the model isn't asked for more, however large max_len is; and not before that."""
    lengths = rng.sizes(3, 2, 7)
    table = _drawn(rng, lengths, 60, 7)
    model = _compare(student, table, [0, 1, 2], USUAL, 60, rng)
    expect(model.attribute("longest") <= max(lengths) + 1, "the model is asked for more after every row has ended")


@hidden("greedy_decode", weight=2)
def eval_mode_without_gradients(student: Student, rng: Randomness) -> None:
    """The model is asked in eval mode and without gradients, and is in the mode in which it was afterwards."""
    table = _drawn(rng, [3, 5], 7, 8)
    src = _sources(rng, [0, 1], 8, 4)
    for training in (True, False, True):
        model = _model(student, table)
        if training:
            model.train()
        found = student.greedy_decode(model, src, 1, 2, 7)
        close(found, _expected(table, [0, 1], USUAL, 7), "the tokens")
        _conduct(model, training)
        expect(not a_tensor(found).requires_grad, "the tokens ask for gradients")


# beam_search


def _beam(table: Tensor, ids: Ids, length: int, size: int) -> list[int]:
    """Search one script by which every draft ends after exactly this many tokens, with `size` drafts."""
    log_p = table.double().log_softmax(-1).tolist()
    drafts: list[tuple[float, list[int]]] = [(0.0, [ids[1]])]
    for step in range(length):
        longer = [
            (total + log_p[step][written[-1]][token], [*written, token])
            for total, written in drafts
            for token in range(table.shape[-1])
        ]
        drafts = sorted(longer, key=lambda draft: -draft[0])[:size]
    return drafts[0][1][1:]


def _telling_tables(rng: Randomness, count: int, penalty: float, max_len: int = 4) -> Tensor:
    """Draw tables in which other rules of scoring than the right one would choose another answer."""
    tables: list[Tensor] = []
    for _ in range(5000):
        table = open_script(rng.normal(max_len, 3, 3)).float()
        if telling(table, penalty):
            tables.append(table)
        if len(tables) == count:
            break
    return torch.stack(tables)


def _exhaustive(table: Tensor, scripts: list[int], penalty: float) -> Tensor:
    return _rows([best_by("right", scored_answers(table[script]), penalty) for script in scripts], USUAL[0])


def _search(student: Student, model: HeldObject, src: Tensor, ids: Ids, max_len: int, **options: object) -> Tensor:
    found = student.beam_search(model, src, ids[1], ids[2], max_len, **options)
    untouched(student)
    return found


@hidden("beam_search", weight=3)
def the_best_score_wins(student: Student, rng: Randomness) -> None:
    """Among drafts that have ended, the largest log p / length ** length_penalty wins: the length with EOS, without BOS."""
    for penalty in (0.6, 1.4):
        table = _telling_tables(rng, 2, penalty)
        src = _sources(rng, [1, 0], 5, 3)
        options = {} if penalty == 0.6 else {"length_penalty": penalty}
        found = _search(student, _model(student, table), src, USUAL, 4, beam_size=WIDE, **options)
        close(found, _exhaustive(table, [1, 0], penalty), "the tokens")


@hidden("beam_search", weight=2)
def length_penalty_of_nothing_and_of_much(student: Student, rng: Randomness) -> None:
    """With length_penalty 0 log p decides alone, and with a large one long answers win."""
    table = _telling_tables(rng, 2, 0.6)
    src = _sources(rng, [0, 1], 5, 4)
    for penalty in (0.0, 4.0):
        found = _search(student, _model(student, table), src, USUAL, 4, beam_size=WIDE, length_penalty=penalty)
        close(found, _exhaustive(table, [0, 1], penalty), "the tokens")


def _crowded(rng: Randomness, size: int, other: int) -> tuple[Tensor, int]:
    """Draw a script whose answer with `size` drafts is another one than with `other`."""
    while True:  # one in some dozens is such a script
        length = rng.integer(4, 6)
        table = _drawn(rng, [length], length, 9)
        if _beam(table[0], USUAL, length, size) != _beam(table[0], USUAL, length, other):
            return table, length


@hidden("beam_search", weight=3)
def the_most_likely_drafts_are_kept(student: Student, rng: Randomness) -> None:
    """At every step the beam_size drafts with the largest log p stay, whichever drafts they come from; four by default."""
    for size, other in ((2, 1), (2, 3), (3, 2), (4, 3), (4, 5)):
        table, length = _crowded(rng, size, other)
        options = {} if size == 4 else {"beam_size": size}
        found = _search(student, _model(student, table), _sources(rng, [0, 0], 9, 3), USUAL, length + 2, **options)
        close(found, _rows([_beam(table[0], USUAL, length, size)] * 2, 0), "the tokens")


@hidden("beam_search")
def the_search_is_patient(student: Student, rng: Randomness) -> None:
    """The search goes on after some drafts have ended, up to beam_size of them: a later one may be better."""
    table = patient_script(0.05 + 0.05 * rng.integer(0, 3))
    found = _search(student, _model(student, table), _sources(rng, [0], 7, 3), USUAL, 6, beam_size=4)
    close(found, torch.tensor([[3, 4, 5, 2]]), "the tokens")


@hidden("beam_search", weight=2)
def a_beam_of_one_is_greedy(student: Student, rng: Randomness) -> None:
    """With beam_size=1 the answers are greedy_decode's: padded after EOS, as wide as the longest, at most max_len."""
    for max_len in (4, 9):
        table = _drawn(rng, [3, 6, 2, 4], 9, 8)
        scripts = rng.order(4).tolist()
        found = _search(student, _model(student, table), _sources(rng, scripts, 8, 5), USUAL, max_len, beam_size=1)
        close(found, _expected(table, scripts, USUAL, max_len), "the tokens")


@hidden("beam_search", weight=2)
def only_where_none_has_ended(student: Student, rng: Randomness) -> None:
    """A draft without EOS is the answer only where no draft has ended within max_len."""
    chances = torch.full((1, 6, 7, 7), 1e-12)
    early = 0.1 + 0.1 * float(rng.integer(0, 2))
    chances[0, 0, 1, 3], chances[0, 0, 1, 2] = 1 - early, early
    chances[0, 1:, :, 3], chances[0, 1:, :, 4] = 0.9, 0.1
    src = _sources(rng, [0], 7, 3)
    found = _search(student, _model(student, chances.log()), src, USUAL, 5, beam_size=2)
    close(found, torch.tensor([[2]]), "the tokens where one draft has ended")
    table = _drawn(rng, [20, 20], 8, 9)
    found = _search(student, _model(student, table), _sources(rng, [0, 1], 9, 3), USUAL, 5, beam_size=3)
    expected = _rows([_beam(table[script], USUAL, 5, 3) for script in (0, 1)], 0)
    close(found, expected, "the tokens where no draft has ended")


@hidden("beam_search")
def other_ids_for_a_beam(student: Student, rng: Randomness) -> None:
    """BOS, EOS and padding are the ids that are given, and max_len counts EOS."""
    ids = _ids(rng, 8)
    table = _drawn(rng, [3, 5, 2], 8, 8, ids)
    model, src = _model(student, table, ids), _sources(rng, [0, 1, 2], 8, 3)
    expected = _rows([_beam(table[script], ids, length, 3) for script, length in enumerate((3, 5, 2))], ids[0])
    close(_search(student, model, src, ids, 5, beam_size=3), expected, "the tokens")
    close(_search(student, model, src, ids, 8, beam_size=3), expected, "the tokens")


@hidden("beam_search")
def a_beam_sees_the_whole_prefix(student: Student, rng: Randomness) -> None:
    """The model sees everything that each draft holds, not only the last token."""
    for _ in range(3):
        table = lengths_script(rng.normal(3, 9, 13, 8), [7, 5, 8]).float()
        model, src = _model(student, table, whole_history=True), _sources(rng, [2, 0, 1], 8, 3)
        expected = _expected(table, [2, 0, 1], USUAL, 9, whole_history=True)
        close(_search(student, model, src, USUAL, 9, beam_size=1), expected, "the tokens")


@hidden("beam_search")
def a_beam_runs_in_eval_mode(student: Student, rng: Randomness) -> None:
    """The model is asked in eval mode and without gradients, and is in the mode in which it was afterwards."""
    table = _drawn(rng, [4, 4], 7, 9)
    src = _sources(rng, [0, 1], 9, 4)
    expected = _rows([_beam(table[script], USUAL, 4, 2) for script in (0, 1)], 0)
    for training in (True, False):
        model = _model(student, table)
        if training:
            model.train()
        close(_search(student, model, src, USUAL, 7, beam_size=2), expected, "the tokens")
        _conduct(model, training)
