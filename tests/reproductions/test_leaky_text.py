"""Tables 6 and 7 of leaky expected error: counts by hand and by a second way, padding, folds and noise."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from metricfit._errors import DataError
from reproductions._experiment import Scope
from reproductions.lab.datasets import pad_sentences
from reproductions.leaky_2019 import tagging, trees
from reproductions.leaky_2019._counts import gain_error, item_counts, percent, span_counts, spans
from reproductions.leaky_2019._networks import Evaluation, SimilarLengths, compare, fold_of, train
from reproductions.leaky_2019._protocol import adam
from reproductions.leaky_2019._words import VECTORS, learn_words

TAGS = ("O", "B-a", "I-a", "B-b", "I-b")


def spans_by_definition(tags):
    """A second algorithm: any stretch is a span if its first tag begins one, the others continue it, and the next does not."""
    tags = ["O", *tags, "O"]
    found = set()
    for first, end in itertools.combinations(range(1, len(tags)), 2):
        kind = tags[first][2:]
        begins = tags[first][0] == "B" or (tags[first][0] == "I" and tags[first - 1][2:] != kind)
        if begins and all(tag == f"I-{kind}" for tag in tags[first + 1 : end]) and tags[end] != f"I-{kind}":
            found.add((kind, first - 1, end - 1))
    return found


def test_spans_by_a_second_algorithm():
    for length in range(5):
        for tags in itertools.product(TAGS, repeat=length):
            assert spans(tags) == spans_by_definition(tags)


def test_f1_by_hand():
    """Of three true spans two are found, and a third one has a wrong border: precision 2/3, recall 2/3."""
    true = [np.array([1, 2, 0, 3]), np.array([1, 2, 2])]
    predicted = [np.array([1, 2, 0, 3]), np.array([1, 2, 0])]
    counts = span_counts(predicted, true, TAGS)
    assert counts.tolist() == [[2, 2, 2], [0, 1, 1]]
    assert percent(counts) == pytest.approx(200 / 3)
    assert percent(span_counts([np.array([0])], [np.array([0])], TAGS)) == 0.0
    assert percent(span_counts([np.array([1, 0])], [np.array([1, 3])], TAGS)) == pytest.approx(200 / 3)  # 1 and 1/2


def test_gain_error_is_that_of_the_bootstrap():
    generator = np.random.default_rng(0)
    true = generator.integers(1, 9, 400)
    base, other = (
        np.stack([generator.binomial(true, share), true + generator.integers(-1, 2, 400) * (true > 1), true], 1)
        for share in (0.6, 0.7)
    )
    gains = []
    for _ in range(2000):
        drawn = generator.integers(0, 400, 400)
        gains.append(percent(other[drawn]) - percent(base[drawn]))
    assert gain_error(base, other) == pytest.approx(np.std(gains), rel=0.07)
    assert gain_error(base, base) == 0.0


def test_folds_keep_the_published_sizes_and_share_no_development():
    folds = [fold_of(range(80), range(80, 100), place) for place in range(5)]
    assert all(sorted(rest + held) == list(range(100)) for rest, held in folds)
    assert sorted(itertools.chain(*(held for _, held in folds))) == list(range(100))
    assert {len(held) for _, held in folds} == {20}


def test_conll2000_is_cut_as_the_penn_treebank(data):
    """An eighth of the sentences is for development. Real files have 8,936 and 2,012 sentences."""
    assert tagging.N_SENTENCES["conll2000"] == (8_936 - round(tagging.DEVELOPMENT * 8_936), 2_012)
    first, second, test = tagging.read_parts("conll2000", data)
    assert (len(first), len(second), len(test)) == (70, 10, 15)
    assert {tag for sentence in first for tag in sentence.tags} == {"NN", "VBZ", "DT", "JJ"}


@pytest.mark.parametrize("size", [1, 4, 100])
def test_every_sentence_once_in_each_epoch(size):
    """Labels are the places of the sentences."""
    lengths = torch.arange(70) * 17 % 29 + 1
    examples = [(torch.ones(length, dtype=torch.long), torch.full((length,), place)) for place, length in enumerate(lengths)]
    batches, again = (SimilarLengths(examples, size, pad_sentences, 0) for _ in range(2))
    epochs = [[labels[labels >= 0].unique().tolist() for _, labels in one] for one in (batches, batches, again)]
    for epoch in epochs:
        assert len(epoch) == len(batches) == -(-70 // size)
        assert sorted(itertools.chain(*epoch)) == list(range(70))
    assert size == 100 or epochs[0] != epochs[1]
    assert epochs[0] == epochs[2]


def test_padding_is_in_no_count():
    """Scores choose the class with the word's number; 0 for padding, which would be wrong or right by luck."""
    echo = nn.Sequential(nn.Embedding.from_pretrained(torch.eye(9), freeze=False), nn.Flatten(0, 1))
    part = [(torch.tensor([1, 2, 3]), torch.tensor([1, 2, 0])), (torch.tensor([4]), torch.tensor([4]))]
    judged = Evaluation(part, pad_sentences)
    assert judged.batches[0][1].tolist() == [1, 2, 0, 4, -100, -100]
    counts = judged.counts(adam(echo, "NegLog", 1.0), {"accuracy": item_counts})["accuracy"]
    assert counts.tolist() == [[2, 3, 3], [1, 1, 1]]


@pytest.mark.parametrize(("module", "name"), [(tagging, "wnut17"), (trees, "sst")])
def test_the_epoch_is_chosen_on_development_for_each_measure(data, module, name):
    """Against all epochs, trained again one by one; test is that of the chosen epoch."""
    size = replace(module.size_of({"set": name, "size": "quick"}), epochs=4, patience=9)
    task = trees.task_of(Scope(data), size, 0)
    if module is tagging:
        task = tagging.task_of(name, Scope(data), size, 0, noisy=False)
    chosen = train(task, size, 0, "NegLog", 0.03, 0.0)
    torch.manual_seed(0)
    trainer = adam(task.build(0.0), "NegLog", 0.03)
    batches = SimilarLengths(task.train, size.batch, task.collate, 0)
    development, test = Evaluation(task.development, task.collate), Evaluation(task.test, task.collate)
    rows = []
    for epoch in range(1, 5):
        trainer.fit(batches, development.batches, epochs=epoch)
        rows.append([part.counts(trainer, task.measures) for part in (development, test)])
    for measure, choice in chosen.items():
        values = [percent(row[0][measure]) for row in rows]
        assert choice.development == max(values)
        assert choice.epoch == 1 + values.index(max(values))
        assert choice.test.tolist() == rows[choice.epoch - 1][1][measure].tolist()


def test_patience_ends_a_run(data, monkeypatch):
    task, calls, counts = trees.task_of(Scope(data), trees.SIZES["quick"], 0), [], Evaluation.counts
    size = replace(trees.SIZES["quick"], epochs=50, patience=2)
    monkeypatch.setattr(Evaluation, "counts", lambda *arguments: calls.append(1) or counts(*arguments))
    assert {choice.epoch for choice in train(task, size, 0, "NegLog", 1e-9, 0.0).values()} == {1}  # nothing changes
    assert len(calls) == 4  # development three times, test once


def test_the_grid_keeps_the_best_on_development(data):
    task = tagging.task_of("ud-english-ewt", Scope(data), tagging.QUICK, 0, noisy=False)
    size = replace(tagging.QUICK, epochs=8, rates=(1e-9, 0.03), dropouts=(0.0, 0.2), n_dimensions=8)
    alone = [train(task, size, 0, "NegLog", *options)["accuracy"] for options in itertools.product(size.rates, size.dropouts)]
    found = compare(task, size, 0)
    assert found["NegLog_accuracy_development"] == max(choice.development for choice in alone) > 90.0
    assert found["LEErr_accuracy"] > 90.0


def test_noise_is_in_training_and_development_only(data):
    size = replace(tagging.QUICK, n_sentences=None)
    clean, noisy = (tagging.task_of("wnut17", Scope(data), size, 3, noisy=noisy) for noisy in (False, True))
    changed = []
    for part in ("train", "development", "test"):
        before, after = (torch.cat([labels for _, labels in getattr(task, part)]) for task in (clean, noisy))
        changed.append((before != after).double().mean().item())
    assert 0.01 < changed[0] < 0.1
    assert changed[1] > 0.0
    assert changed[2] == 0.0


def test_words_of_development_and_test_are_not_learned():
    words = learn_words([["the", "the", "Aspen", "Denver"]], [["river", "Rome", "the"]], None, tagging.QUICK)
    assert dict(words.vocabulary.index) == {"Xx": 2, "the": 3}
    assert words.numbers(["the", "Rome", "Aspen", "river"]).tolist() == [3, 2, 2, 1]


GLOVE = {"a": 1.0, "not asked for": 2.0, "Rome": 3.0, "rome": 4.0, "the": 5.0}  # the first number of each vector


@pytest.mark.parametrize("size", [tagging.FULL, trees.SIZES["scaled"]])
def test_known_vectors_are_in_their_rows(tmp_path, size):
    with pytest.raises(DataError, match=r"glove.*0d.* is missing.* Fetch GloVe's vectors \(nlp.stanford.edu.* by --data or"):
        learn_words([["a"]], [], tmp_path, size)
    file, rows = tmp_path / VECTORS[size.n_dimensions][0], np.zeros((len(GLOVE), size.n_dimensions))
    file.parent.mkdir()
    rows[:, 0] = list(GLOVE.values())
    if file.suffix == ".npz":
        np.savez(file, words=np.array(list(GLOVE)), vectors=rows.astype(np.float16))
    else:
        file.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(GLOVE, rows, strict=True)))
    words = learn_words([["a", "b", "A", "oft", "oft"]], [["Rome", "The", "the", "x", "seldom", "seldom"]], tmp_path, size)
    module = words.fill(tagging.Tagger(len(words.vocabulary), 3, n_dimensions=size.n_dimensions))
    rows = module.embedding(words.numbers(["Rome", "a", "A", "The", "the"]))
    assert rows[:, 0].tolist() == [3.0, 1.0, 1.0, 5.0, 5.0]  # as written if there is such a vector, else in lower case
    assert rows[:, 1:].abs().max() == 0.0
    assert len(set(words.numbers(["a", "A", "The", "the", "Rome", "oft"]).tolist())) == 6  # each may learn its own vector
    assert words.numbers(["b"]) == words.numbers(["x"]) == words.numbers(["seldom"])  # a shape: test words are not counted
