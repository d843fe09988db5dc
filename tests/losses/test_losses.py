"""Values that can be checked by hand, for every loss of the papers."""

import math

import pytest
import torch
from torch.testing import assert_close

import metricfit as mf
from metricfit import functional

SCORES = torch.tensor([[2.0, 0.0, -1.0], [0.5, 1.0, 0.0], [-1.0, 0.0, 0.3], [0.0, 0.0, 0.0]], dtype=torch.float64)
LABELS = torch.tensor([0, 2, 2, 1])


def test_leaky_expected_error_is_equation_6():
    """arXiv 1905.00448, Eq. (6): minus the mean of Y_r + alpha log Y_r; ours adds the constant 1 of the error rate."""
    total = 0.0
    for row, label in zip(SCORES.tolist(), LABELS.tolist(), strict=True):
        probability = math.exp(row[label]) / sum(map(math.exp, row))
        total += probability + 0.1 * math.log(probability)
    assert mf.LeakyExpectedErrorLoss(0.1)(SCORES, LABELS).item() == pytest.approx(1 - total / 4, rel=1e-12)
    # two equal classes: 1 - (0.5 + 0.1 log 0.5)
    even = mf.LeakyExpectedErrorLoss()(torch.zeros(1, 2, dtype=torch.float64), torch.tensor([0]))
    assert even.item() == pytest.approx(0.5 + 0.1 * math.log(2), rel=1e-12)


def test_expected_error_is_the_chance_of_a_wrong_draw():
    wrong = 1 - SCORES.softmax(1).gather(1, LABELS[:, None]).mean()
    assert_close(mf.ExpectedErrorLoss()(SCORES, LABELS), wrong)


def test_exact_follows_listing_1():
    normal = (SCORES - SCORES.mean()) / SCORES.std()
    noise = mf.smoothing.Normal(0.5)
    expected = 1 - noise.label_probability(normal, LABELS, margin=0.7).mean()
    assert_close(mf.ExactLoss(0.5, margin=0.7)(SCORES, LABELS), expected)
    assert_close(mf.ExactLoss(10.0, margin=0.7)(SCORES, LABELS, scale=0.5), expected)
    plain = mf.ExactLoss(0.5, normalize_scores=False)(SCORES, LABELS)
    assert_close(plain, 1 - noise.label_probability(SCORES, LABELS).mean())
    log_form = mf.ExactLoss(0.5, normalize_scores=False, link="log")(SCORES, LABELS)
    assert_close(log_form, -noise.log_label_probability(SCORES, LABELS).mean())


def test_exact_with_a_predicted_scale():
    scale = torch.tensor([0.2, 1.0, 3.0, 0.5], dtype=torch.float64, requires_grad=True)
    loss = mf.ExactLoss(normalize_scores=False)(SCORES, LABELS, scale=scale)
    rows = [mf.ExactLoss(s.item(), normalize_scores=False)(SCORES[[i]], LABELS[[i]]) for i, s in enumerate(scale)]
    assert_close(loss, torch.stack(rows).mean())
    loss.backward()
    assert scale.grad[0] > 0  # more noise for a sample that is right: a larger loss


def test_exact_by_genz_is_the_same_loss():
    torch.manual_seed(0)
    exact = mf.ExactLoss(margin=1.0)(SCORES, LABELS)
    assert mf.ExactLoss(margin=1.0, method="genz")(SCORES, LABELS).item() == pytest.approx(exact.item(), abs=0.1)


def test_east_by_hand():
    """arXiv 2405.20954, Eq. (4) and (5), for p = (0.2, 0.8) and (0.4, 0.6) at T = 0.1: tau = 1/2, tau_m = 1/4, corners 3/8 and 5/8.

    0.2 is below: 0.2 * 0.1 / 0.375 = 0.0533; 0.8 above: 0.9 + (0.8 - 0.625) * 0.1 / 0.375 = 0.9467; they sum to 1.
    0.4 and 0.6 are between: 0.5 -+ 0.1 * 0.8 / 0.25 = 0.18 and 0.82.
    True classes 1 and 0: the matrix is [[0.18, 0.82], [0.0533, 0.9467]].
    """
    scores = torch.tensor([[0.2, 0.8], [0.4, 0.6]], dtype=torch.float64).log()
    labels = torch.tensor([1, 0])
    assert mf.EastLoss("accuracy", 0.1)(scores, labels).item() == pytest.approx(1 - (0.18 + 0.946666667) / 2)
    # F1 of class 0: 2 * 0.18 / (1 + 0.23333), of class 1: 2 * 0.94667 / (1 + 1.76667)
    f1 = (2 * 0.18 / 1.2333333333 + 2 * 0.9466666667 / 2.7666666667) / 2
    assert mf.EastLoss("f1_macro", 0.1)(scores, labels).item() == pytest.approx(1 - f1)
    assert mf.EastLoss("f1_macro")(scores, labels, scale=0.1).item() == pytest.approx(1 - f1)


def test_hinge_by_a_plain_loop():
    total = 0.0
    for row, label in zip(SCORES.tolist(), LABELS.tolist(), strict=True):
        rival = max(score for i, score in enumerate(row) if i != label)
        total += max(0.0, 0.8 - row[label] + rival)
    assert mf.HingeLoss(0.8)(SCORES, LABELS).item() == pytest.approx(total / 4, rel=1e-12)


def test_dice_by_a_plain_loop():
    p = SCORES.softmax(1).tolist()
    dice = []
    for c in range(3):
        overlap = sum(p[i][c] for i in range(4) if LABELS[i] == c)
        dice.append(2 * overlap / (sum(p[i][c] ** 2 for i in range(4)) + LABELS.tolist().count(c)))
    assert mf.DiceLoss()(SCORES, LABELS).item() == pytest.approx(1 - sum(dice) / 3, rel=1e-12)


def test_cost_is_taken_sample_by_sample():
    cost = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [5.0, 1.0, 0.0]], dtype=torch.float64)
    mean_cost = (SCORES.softmax(1) * cost[LABELS]).sum(1)
    loss = mf.MetricLoss(mf.metrics.Cost(cost), reduction="none")(SCORES, LABELS)
    assert_close(loss, mean_cost)
    # the log link is steep where a cost nears its worst: 5 * -log(1 - cost / 5)
    steep = mf.MetricLoss(mf.metrics.Cost(cost), link="log", reduction="none")(SCORES, LABELS)
    assert_close(steep, -5 * torch.log1p(-mean_cost / 5))


@pytest.mark.parametrize("name", ["mcc", "kappa", "informedness"])
def test_links_of_a_correlation(name):
    value = mf.metrics.get(name)(mf.confusion_matrix(SCORES.softmax(1), LABELS))
    assert_close(mf.MetricLoss(name)(SCORES, LABELS), 1 - value)
    assert_close(mf.MetricLoss(name, link="log")(SCORES, LABELS), -2 * torch.log((1 + value) / 2))
    assert_close(mf.MetricLoss(name, link="power(1)")(SCORES, LABELS), 1 - value)


@pytest.mark.parametrize(
    ("module", "function", "options"),
    [
        (mf.MetricLoss, functional.metric_loss, {"metric": "f1_macro", "link": "log"}),
        (mf.ExactLoss, functional.exact_loss, {"scale": 0.3, "margin": 0.5, "link": "leaky(0.2)"}),
        (mf.ExpectedErrorLoss, functional.expected_error_loss, {"temperature": 2.0}),
        (mf.LeakyExpectedErrorLoss, functional.leaky_expected_error_loss, {"alpha": 0.3}),
        (mf.EastLoss, functional.east_loss, {"metric": "mcc", "temperature": 0.1}),
        (mf.HingeLoss, functional.hinge_loss, {"margin": 0.4}),
        (mf.DiceLoss, functional.dice_loss, {}),
    ],
)
def test_a_function_behind_every_module(module, function, options):
    shared = {"weight": torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64), "ignore_index": 1, "reduction": "sum"}
    sample_weight = torch.tensor([1.0, 0.5, 2.0, 1.0], dtype=torch.float64)
    assert_close(
        module(**options, **shared)(SCORES, LABELS, sample_weight),
        function(SCORES, LABELS, **options, **shared, sample_weight=sample_weight),
    )


def test_margin_with_a_matrix_metric_moves_rows_towards_the_label():
    loss = mf.MetricLoss("f1_macro", margin=0.1)
    capped = mf.scores.label_gaps(SCORES, LABELS, 0.1)
    assert_close(loss(SCORES, LABELS), mf.MetricLoss("f1_macro")(capped, LABELS))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: mf.MetricLoss("mcc", reduction="none"),
            r"for MatthewsCorrelation\(\), a function of the whole batch, got \"none\"",
        ),
        (lambda: mf.MetricLoss(reduction="average"), r"`reduction` should be one of 'mean', 'sum', 'none'; got 'average'"),
        (lambda: mf.MetricLoss("accurcy"), r"Did you mean 'accuracy'\?"),
        (lambda: mf.MetricLoss("MCC"), r"Did you mean 'mcc'\?"),
        (lambda: mf.MetricLoss(link="leeky"), r"'leaky\(alpha\)' or 'power\(q\)', got 'leeky'. Did you mean 'leaky'\?"),
        (lambda: mf.MetricLoss(link="log(2)"), r"`link` should be 'linear', 'log', 'log_of_mean', .*, got 'log\(2\)'"),
        (lambda: mf.MetricLoss(link="power(2)"), r"`q` should be greater than 0 and at most 1, got 2.0"),
        (lambda: mf.MetricLoss(lambda c: c.diagonal())(SCORES, LABELS), r"function that returns one number.*got shape \(3,\)"),
        (
            lambda: mf.MetricLoss(lambda c: 0.5)(SCORES, LABELS),
            r"`metric` should be a function that returns one number.*got 0.5",
        ),
        (
            lambda: mf.MetricLoss(lambda c: c.trace(), link="log"),
            r"`link` should be 'linear' for a function whose values have no",
        ),
        (lambda: mf.MetricLoss(memory=0.9, reduction="sum"), r'`reduction` should be "mean" with a memory'),
        (lambda: mf.MetricLoss(memory=1.5), r"`memory` should be at least 0 and at most 1, got 1.5"),
        (lambda: mf.MetricLoss(label_smoothing=-0.1), r"`label_smoothing` should be at least 0 and at most 1, got -0.1"),
        (
            lambda: mf.MetricLoss(weight=-torch.ones(3))(SCORES, LABELS),
            r"`weight` should be finite and not negative, got -1 ... -1",
        ),
        (lambda: mf.MetricLoss(weight=torch.ones(2))(SCORES, LABELS), r"`weight` should have shape \(3,\), got \(2,\)"),
        (lambda: mf.MetricLoss("f1")(SCORES, LABELS), r"is for two classes, but the scores have 3"),
        (
            lambda: mf.MetricLoss()(torch.tensor(1.0), LABELS),
            r"`input` should have shape \(k,\), \(n, k\) or \(n, k, d1, ...\), got \(\)",
        ),
        (
            lambda: mf.MetricLoss(mode="multiclass")(SCORES[:, :1], LABELS),
            r"at least 2 classes in dimension 1, got shape \(4, 1\)",
        ),
        (lambda: mf.MetricLoss()(SCORES / 0, LABELS), r"`input` should be finite, got 10 NaN or infinite of 12 values"),
        (lambda: mf.MetricLoss()(SCORES, LABELS[:2]), r"shape \(4,\) for `input` of shape \(4, 3\), got \(2,\)"),
        (
            lambda: mf.MetricLoss()(SCORES, LABELS.double()),
            r"integer labels of shape \(4,\) or probabilities of shape \(4, 3\), got",
        ),
        (lambda: mf.MetricLoss()(SCORES, LABELS + 1), r"`target` should lie in 0 ... 2 for scores of 3 classes, got 1 ... 3"),
        (lambda: mf.MetricLoss()(SCORES, torch.eye(4)[:, :3].long()), r"for one-hot targets try `target.argmax\(1\)`"),
        (lambda: mf.MetricLoss()(SCORES, LABELS, torch.ones(3)), r"`sample_weight` should have shape \(4,\), got \(3,\)"),
        (
            lambda: mf.MetricLoss()(SCORES, LABELS, -torch.ones(4)),
            r"`sample_weight` should be finite and not negative, got -1",
        ),
        (lambda: mf.MetricLoss()(SCORES, LABELS, scale=torch.ones(3)), r"`scale` should have shape \(4,\), got \(3,\)"),
        (lambda: mf.MetricLoss()(SCORES, LABELS, scale=0.0), r"`scale` should be positive and finite, got 0"),
        (
            lambda: mf.smoothing.Normal(torch.ones(2, 2)),
            r"`scale` should be a number or have one entry per row, got shape \(2, 2\)",
        ),
        (lambda: mf.HingeLoss()(SCORES, LABELS, scale=1.0), r"`scale` should be None: HingeLoss has no smoothing, got 1.0"),
        (lambda: mf.HingeLoss(float("inf")), r"`margin` should be at least 0, got inf"),
        (lambda: mf.ExactLoss(margin=-1.0), r"`margin` should be at least 0, got -1.0"),
        (
            lambda: mf.ExactLoss(margin=1.0)(SCORES, SCORES.softmax(1)),
            r"`margin` should be None with class probabilities or label",
        ),
        (lambda: mf.confusion_matrix(SCORES, LABELS), r"got -1 ... 2. For raw scores, try `smoothing.assign\(scores\)`"),
    ],
)
def test_a_wrong_value_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mf.MetricLoss(mf.metrics.FBeta), r"`metric` should be an instance, got the class FBeta. Try `FBeta\(\)`"),
        (lambda: mf.MetricLoss(smoothing="softmax"), r"`smoothing` should be one of `mf.smoothing`.*got 'softmax'"),
        (lambda: mf.MetricLoss(smoothing=mf.smoothing.Softmax), r"`smoothing` should be one of `mf.smoothing`"),
        (lambda: mf.MetricLoss(ignore_index="a"), r"`ignore_index` should be an integer, got 'a'"),
        (lambda: mf.MetricLoss(distributed="yes"), r"`distributed` should be True or False, got 'yes'"),
        (lambda: mf.MetricLoss(normalize_scores="no"), r"`normalize_scores` should be True or False, got 'no'"),
        (lambda: mf.MetricLoss(label_smoothing="a"), r"`label_smoothing` should be a number, got 'a'"),
        (
            lambda: mf.MetricLoss(weight=[1.0, 2.0]),
            r"`weight` should be a torch.Tensor with one entry per class, got \[1.0, 2.0\]",
        ),
        (lambda: mf.MetricLoss(leek=0.1), r"`leek` is not an option of MetricLoss. Did you mean 'leak'\?"),
        (
            lambda: functional.metric_loss(SCORES, LABELS, reducton="sum"),
            r"`reducton` is not an option of MetricLoss. Did you mean",
        ),
        (lambda: mf.MetricLoss()(SCORES.tolist(), LABELS), r"`input` should be a torch.Tensor, got list"),
        (lambda: mf.MetricLoss()(SCORES.long(), LABELS), r"`input` should have a floating-point dtype, got torch.int64"),
        (lambda: mf.MetricLoss()(SCORES, LABELS.tolist()), r"`target` should be a torch.Tensor, got list"),
        (lambda: mf.MetricLoss()(SCORES, LABELS > 0), r"`target` should have an integer dtype, got torch.bool"),
        (lambda: mf.MetricLoss()(SCORES, LABELS, scale="a"), r"`scale` should be a number, got 'a'"),
        (lambda: mf.confusion_matrix(SCORES.softmax(1), LABELS.tolist()), r"`labels` should be a torch.Tensor, got list"),
        (lambda: mf.smoothing.Normal(method="genz", generator=3), r"`generator` should be a torch.Generator, got 3"),
        (lambda: mf.schedules.join([1, 2], [1]), r"`schedules` should be functions of a step, got 1"),
    ],
)
def test_a_wrong_type_is_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_east_with_another_link():
    """-log of the accuracy 0.8 of :class:`metricfit.EastLoss`'s example."""
    scores, labels = torch.tensor([[0.0, 1.0986123]]), torch.tensor([1])
    expected = -math.log(0.8)
    assert mf.EastLoss("accuracy", link="log")(scores, labels).item() == pytest.approx(expected, rel=1e-5)
    assert functional.east_loss(scores, labels, "accuracy", link="log").item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["f1_macro", "jaccard_macro", "precision_macro", "recall_macro", "fowlkes_mallows_macro"])
def test_a_macro_loss_averages_over_the_classes_in_the_labels(name):
    """Of 11 classes 3 are in the batch, and all rows are right: softly the other 8 are predicted too, but never missed."""
    labels = torch.tensor([0, 4, 10, 4])
    scores = 20.0 * torch.nn.functional.one_hot(labels, 11).double()
    assert mf.MetricLoss(name)(scores, labels).item() == pytest.approx(0.0, abs=1e-6)
    # the same rows among 11 classes and among the 3 that occur, whose scores are equal
    among_3 = torch.tensor([0, 1, 2, 1])
    flat = torch.zeros(4, 3, dtype=torch.float64)
    padded = torch.full((4, 11), -1e3, dtype=torch.float64)
    padded[:, [0, 4, 10]] = 0.0
    torch.testing.assert_close(mf.MetricLoss(name)(padded, labels), mf.MetricLoss(name)(flat, among_3))


def test_metrics_of_counts_need_no_square_matrix():
    """32 rows of 20,000 classes: a matrix would take 1.6 GB, and counts take a quarter of a megabyte."""
    scores, labels = torch.zeros(32, 20_000, requires_grad=True), torch.arange(32)
    loss = mf.MetricLoss("f1_macro")
    loss(scores, labels).backward()
    assert loss.statistics(scores, labels).shape == (3, 20_000)
    # per class: a hit of 1/20,000, one true row, 32/20,000 predicted ones
    assert loss(scores, labels).item() == pytest.approx(1.0 - 2.0 / 20_000 / (1.0 + 32 / 20_000), abs=1e-6)


def test_a_checkpoint_of_cross_entropy_loads_into_a_model_with_another_loss():
    class Model(torch.nn.Module):
        def __init__(self, loss):
            super().__init__()
            self.body, self.loss = torch.nn.Linear(2, 2), loss

    before, after = Model(torch.nn.CrossEntropyLoss()), Model(mf.ExactLoss(scale=0.5))
    after.load_state_dict(before.state_dict())
    assert torch.equal(after.body.weight, before.body.weight)
    assert after.loss.smoothing.width.item() == 0.5
    other = Model(mf.ExactLoss(scale=2.0))
    other.load_state_dict(after.state_dict())
    assert other.loss.smoothing.width.item() == 0.5


@pytest.mark.parametrize("n", [40, 4000])  # few and many scores are counted in other ways
@pytest.mark.parametrize("loss", [mf.MetricLoss("f1_macro"), mf.DiceLoss()], ids=["f1_macro", "dice"])
def test_counts_of_few_and_of_many_rows_follow_the_formula(loss, n):
    random = torch.Generator().manual_seed(n)
    scores = torch.randn(n, 12, dtype=torch.float64, generator=random).requires_grad_()
    labels = torch.randint(11, (n,), generator=random)  # one class is absent
    p, own = scores.softmax(1), torch.nn.functional.one_hot(labels, 12)
    predicted = p.square() if isinstance(loss, mf.DiceLoss) else p
    expected = 1.0 - (2.0 * (p * own).sum(0) / (predicted + own).sum(0))[own.any(0)].mean()
    value = loss(scores, labels)
    assert_close(value, expected, rtol=1e-12, atol=1e-12)
    gradients = [torch.autograd.grad(one, scores, retain_graph=True)[0] for one in (value, expected)]
    assert_close(*gradients, rtol=1e-11, atol=1e-14)
