"""One logit per row, several labels per row, images: torch and scikit-learn are the references."""

import pytest
import torch
from sklearn import metrics as sklearn
from torch import nn
from torch.testing import assert_close

import metricfit as mf
from metricfit.metrics import REGISTRY

RANDOM = torch.Generator().manual_seed(0)
LOGITS = torch.randn(40, dtype=torch.float64, generator=RANDOM)
LABELS = (LOGITS + torch.randn(40, dtype=torch.float64, generator=RANDOM) > 0.3).long()
MANY = torch.randn(30, 4, dtype=torch.float64, generator=RANDOM)
MANY_LABELS = (MANY + torch.randn(30, 4, dtype=torch.float64, generator=RANDOM) > 0.5).long()
SMOOTHINGS = {
    "softmax": mf.smoothing.Softmax(),
    "normal": mf.smoothing.Normal(0.7),
    "soft_set": mf.smoothing.SoftSet(0.15),
}
OF_LABELS = [
    name for name, entry in REGISTRY.items() if entry.sklearn is not None and name.endswith(("_macro", "_micro", "_weighted"))
]


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.sklearn is not None])
def test_binary_is_scikit_learn_in_the_limit(name):
    function, options = REGISTRY[name].sklearn
    expected = getattr(sklearn, function)(LABELS.numpy(), (LOGITS > 0).long().numpy(), **options)
    loss = mf.MetricLoss(name, mf.smoothing.Softmax(1e-4), mode="binary")
    assert 1.0 - loss(LOGITS, LABELS).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", OF_LABELS)
def test_multilabel_is_scikit_learn_in_the_limit(name):
    function, options = REGISTRY[name].sklearn
    expected = getattr(sklearn, function)(MANY_LABELS.numpy(), (MANY > 0).long().numpy(), **options)
    loss = mf.MetricLoss(name, mf.smoothing.Softmax(1e-4), mode="multilabel")
    assert 1.0 - loss(MANY, MANY_LABELS).item() == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("name", ["accuracy", "mcc", "kappa", "balanced_accuracy", "g_mean"])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_other_metrics_of_labels_are_means_over_them(name, smoothing):
    loss = mf.MetricLoss(name, SMOOTHINGS[smoothing], mode="multilabel")
    one = mf.MetricLoss(name, SMOOTHINGS[smoothing], mode="binary")
    each = torch.stack([one(MANY[:, label], MANY_LABELS[:, label]) for label in range(4)])
    assert_close(loss(MANY, MANY_LABELS), each.mean())


@pytest.mark.parametrize("mode", ["binary", "multilabel"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(12,), (12, 1), (6, 5), (3, 4, 2, 5), (3, 1, 4, 2)])
def test_the_log_link_is_binary_cross_entropy(shape, reduction, mode):
    if mode == "multilabel" and len(shape) == 1:
        return
    scores = torch.randn(shape, dtype=torch.float64)
    loss = mf.MetricLoss("accuracy", link="log", mode=mode, reduction=reduction)
    for target in (torch.randint(2, shape).double(), torch.rand(shape).double()):  # labels and probabilities
        a, b = (scores.clone().requires_grad_() for _ in range(2))
        ours, theirs = loss(a, target), nn.BCEWithLogitsLoss(reduction=reduction)(b, target)
        assert_close(ours, theirs)
        assert_close(torch.autograd.grad(ours.sum(), a)[0], torch.autograd.grad(theirs.sum(), b)[0])
    entries = torch.rand(shape).double()
    weighted = mf.MetricLoss("accuracy", link="log", mode=mode, reduction="sum")(scores, target, entries)
    assert_close(weighted, nn.BCEWithLogitsLoss(weight=entries, reduction="sum")(scores, target))


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64]
)
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_a_logit_is_a_pair_of_scores(smoothing, dtype):
    loss = mf.MetricLoss("f1", SMOOTHINGS[smoothing], mode="binary", leak=0.1)
    expected = mf.MetricLoss("f1", SMOOTHINGS[smoothing], leak=0.1)(mf.binary_scores(LOGITS), LABELS)
    target = LABELS.to(dtype)
    assert_close(loss(LOGITS, target), expected)
    assert_close(loss(LOGITS[:, None], target), expected)
    assert_close(loss(LOGITS[:, None], target[:, None]), expected)
    assert_close(loss(LOGITS.view(2, 1, 4, 5), target.view(2, 1, 4, 5)), expected)
    assert_close(loss(LOGITS.view(2, 1, 4, 5), target.view(2, 4, 5)), expected)
    images = mf.binary_scores(LOGITS.view(2, 1, 4, 5))
    assert_close(mf.MetricLoss("f1", SMOOTHINGS[smoothing], leak=0.1)(images, LABELS.view(2, 4, 5)), expected)


def test_shapes_tell_the_mode_where_only_one_is_possible():
    loss, expected = mf.MetricLoss("jaccard"), mf.MetricLoss("jaccard", mode="binary")(LOGITS, LABELS)
    assert_close(loss(LOGITS, LABELS), expected)
    assert_close(loss(LOGITS, LABELS.bool()), expected)
    assert_close(loss(LOGITS[:, None], LABELS.float()), expected)
    assert_close(loss(LOGITS.view(2, 1, 4, 5), LABELS.view(2, 1, 4, 5).float()), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: mf.MetricLoss("f1")(LOGITS, LABELS.float()),
            r"`input` and `target` of shape \(40,\) may be logits of 40 rows, .* Pass mode=\"binary\" for logits .* or mode=\"multiclass\"",
        ),
        (
            lambda: mf.MetricLoss("f1_macro")(MANY, MANY_LABELS.float()),
            r"class probabilities that sum to one .* For several labels per row pass mode=\"multilabel\"",
        ),
        (lambda: mf.MetricLoss("f1_macro")(MANY, MANY_LABELS), r"For several labels per row pass mode=\"multilabel\""),
        (lambda: mf.MetricLoss("f1_macro")(MANY, MANY_LABELS.bool()), r"For several labels per row pass mode=\"multilabel\""),
        (lambda: mf.MetricLoss("f1", mode="multilabel"), r"is for one label, but there are several.*\"macro\", \"micro\""),
        (
            lambda: mf.MetricLoss("f1", mode="multi"),
            r"`mode` should be one of 'multiclass', 'binary', 'multilabel'; got 'multi'",
        ),
        (lambda: mf.MetricLoss("f1", mode="binary", weight=torch.ones(2)), r"In mode='binary' pass `pos_weight`"),
        (lambda: mf.MetricLoss("f1", mode="multiclass", pos_weight=torch.ones(1)), r"For classes pass `weight`"),
        (lambda: mf.MetricLoss("f1", pos_weight=torch.ones(1))(LOGITS, LABELS), r"`pos_weight` needs `mode`"),
        (lambda: mf.ExactLoss(pos_weight=torch.ones(1))(MANY.float(), MANY_LABELS[:, 0]), r"`pos_weight` needs `mode`"),
        (lambda: mf.MetricLoss("f1", weight=torch.ones(2))(LOGITS, LABELS), r"one logit per row. Pass mode=\"binary\" and"),
        (
            lambda: mf.MetricLoss("f1_macro", mode="multilabel", pos_weight=torch.ones(3))(MANY, MANY_LABELS),
            r"`pos_weight` should have shape \(4,\), one per logit, got \(3,\)",
        ),
        (lambda: mf.MetricLoss("f1", mode="binary")(LOGITS, 2 * LABELS), r"`target` should lie in 0 ... 1"),
        (
            lambda: mf.MetricLoss("f1", mode="binary")(LOGITS, 2.0 * LABELS),
            r"`target` should be 0 or 1, or a probability, .* 0 ... 2",
        ),
        (
            lambda: mf.MetricLoss("f1", mode="binary")(torch.zeros(40, 3), LABELS),
            r"mode=\"binary\" is for one logit per row, and `input` of shape \(40, 3\) has 3 scores for each `target`",
        ),
        (lambda: mf.MetricLoss("f1")(LOGITS, LABELS[:, None]), r"try `target.squeeze\(1\)` and mode=\"binary\""),
        (lambda: mf.MetricLoss("f1", mode="binary")(LOGITS, LABELS[:3]), r"`target` should have shape \(40,\), got \(3,\)"),
        (
            lambda: mf.MetricLoss("f1_macro", mode="multilabel")(MANY, MANY_LABELS[:, 0]),
            r"`target` should have shape \(30, 4\), 0 or 1 per logit, got \(30,\)",
        ),
        (
            lambda: mf.MetricLoss("f1_macro", over="image")(MANY, MANY_LABELS[:, 0]),
            r"`over=\"image\"` is for scores of images",
        ),
        (lambda: mf.MetricLoss("f1_macro", over="image", memory=0.9), r"`memory` should be None with over=\"image\", got 0.9"),
        (lambda: mf.MetricLoss("mcc", ignore_classes=[0]), r"`ignore_classes` is for averages over classes"),
        (lambda: mf.MetricLoss("f1_macro", ignore_classes=[4])(MANY, MANY_LABELS[:, 0]), r"indices 0 ... 3 of classes, got 4"),
        (lambda: mf.MetricLoss("mcc").per_class(MANY, MANY_LABELS[:, 0]), r"is not an average over classes"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_positives_may_count_more():
    weight = torch.tensor([1.0, 3.0], dtype=torch.float64)
    loss = mf.MetricLoss("mcc", mode="binary", pos_weight=weight[1:], leak=0.1)
    assert_close(loss(LOGITS, LABELS), mf.MetricLoss("mcc", weight=weight, leak=0.1)(mf.binary_scores(LOGITS), LABELS))
    assert_close(loss(LOGITS, LABELS.double()), loss(LOGITS, LABELS))
    each = torch.tensor([1.0, 2.0, 0.5, 4.0], dtype=torch.float64)
    many = mf.MetricLoss("f1_macro", mode="multilabel", pos_weight=each)
    ones = [mf.MetricLoss("f1", mode="binary", pos_weight=one)(MANY[:, i], MANY_LABELS[:, i]) for i, one in enumerate(each)]
    assert_close(many(MANY, MANY_LABELS), torch.stack(ones).mean())


def test_offsets_and_leak_weights_of_labels():
    offsets = torch.tensor([0.5, -1.0, 0.0, 2.0], dtype=torch.float64)
    plain, shifted = (mf.MetricLoss("f1_macro", mode="multilabel", offsets=one) for one in (None, offsets))
    assert_close(shifted(MANY, MANY_LABELS), plain(MANY + offsets, MANY_LABELS))
    # the mean of weighted terms over the sum of their weights
    weight = torch.tensor([1.0, 2.0, 0.5, 4.0], dtype=torch.float64)
    leaky = mf.MetricLoss("f1_macro", mode="multilabel", leak=1.0, leak_weight=weight)
    entries = nn.BCEWithLogitsLoss(pos_weight=weight, reduction="sum")(MANY, MANY_LABELS.double())
    total = (1 + (weight - 1) * MANY_LABELS).sum()
    assert_close(leaky(MANY, MANY_LABELS) - plain(MANY, MANY_LABELS), entries / total)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_entries_may_be_ignored(dtype):
    """Of four labels some are not known in some rows: those count nowhere, and their logits may be anything."""
    target, scores = MANY_LABELS.to(dtype).clone(), MANY.clone()
    target[:10, 1], target[25:, 3] = -100, -100
    loss = mf.MetricLoss("f1_macro", mode="multilabel")
    ones = [
        mf.MetricLoss("f1", mode="binary")(scores[used, i], target[used, i])
        for i, used in ((i, target[:, i] != -100) for i in range(4))
    ]
    assert_close(loss(scores, target), torch.stack(ones).mean())
    expected = loss(scores, target)
    scores[0, 1] = torch.nan
    assert_close(loss(scores, target), expected)


def test_absent_labels_do_not_count():
    target = MANY_LABELS.clone()
    target[:, 2] = 0
    kept = [0, 1, 3]
    loss = mf.MetricLoss("jaccard_macro", mode="multilabel")
    assert_close(loss(MANY, target), loss(MANY[:, kept], target[:, kept]))


def test_tokens_have_their_classes_last():
    scores, labels = torch.randn(3, 7, 5, dtype=torch.float64), torch.randint(5, (3, 7))
    labels[0, 3:] = -100
    for make in (
        lambda **o: mf.MetricLoss("f1_macro", **o),
        lambda **o: mf.MetricLoss("accuracy", link="log", reduction="none", **o),
    ):
        assert_close(make(class_dim=-1)(scores, labels), make()(scores.movedim(-1, 1), labels))
    target = torch.randint(2, (3, 7, 5))
    for reduction in ("mean", "none"):
        loss = mf.MetricLoss("accuracy", link="log", mode="multilabel", class_dim=-1, reduction=reduction)
        assert_close(loss(scores, target), nn.BCEWithLogitsLoss(reduction=reduction)(scores, target.double()))


GRADIENTS = {
    "binary": (LOGITS[:8], LABELS[:8].double()),
    "multilabel": (MANY[:4], MANY_LABELS[:4]),
    "image": (
        torch.randn(2, 3, 2, 2, dtype=torch.float64, generator=RANDOM),
        torch.tensor([[[0, 1], [1, 0]], [[2, 2], [1, 0]]]),
    ),
}


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro", "mcc"])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("kind", GRADIENTS)
def test_gradients(kind, smoothing, metric):
    options = {"over": "image"} if kind == "image" else {"mode": kind}
    loss = mf.MetricLoss(metric, SMOOTHINGS[smoothing], "leaky", leak=0.1, **options)
    scores, target = GRADIENTS[kind]
    weight = torch.linspace(0.5, 1.5, target.numel(), dtype=torch.float64).view(target.shape).requires_grad_()
    assert torch.autograd.gradcheck(lambda s, w: loss(s, target, w), (scores.clone().requires_grad_(), weight))


@pytest.mark.parametrize(
    "loss", [mf.DiceLoss(mode="multilabel"), mf.HingeLoss(mode="binary"), mf.ExactLoss(margin=0.5, mode="binary")]
)
def test_gradients_of_others(loss):
    scores, target = GRADIENTS[loss.mode]
    assert torch.autograd.gradcheck(lambda s: loss(s, target), scores.clone().requires_grad_())


def test_dice_is_of_the_positive_class():
    p, target = MANY.sigmoid(), MANY_LABELS.double()
    each = 2 * (p * target).sum(0) / (p.square().sum(0) + target.sum(0))
    assert_close(mf.DiceLoss(mode="multilabel")(MANY, MANY_LABELS), 1 - each.mean())
    assert_close(mf.DiceLoss(mode="binary")(MANY[:, 1], MANY_LABELS[:, 1]), 1 - each[1])
    assert_close(mf.DiceLoss(mode="multilabel", ignore_classes=[0])(MANY, MANY_LABELS), 1 - each[1:].mean())
    softly = mf.DiceLoss(mode="multilabel", memory=0.9)
    assert_close(softly(MANY, MANY_LABELS), 1 - each.mean())


def images(n_classes=3, seed=0):
    random = torch.Generator().manual_seed(seed)
    scores = torch.randn(4, n_classes, 3, 5, dtype=torch.float64, generator=random)
    return scores, torch.randint(n_classes, (4, 3, 5), generator=random)


@pytest.mark.parametrize("metric", ["iou_macro", "dice_macro", "accuracy", "mcc", "quadratic_kappa", "f1_weighted"])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_a_mean_over_images(smoothing, metric):
    scores, labels = images()
    labels[3] = -100  # an image without labels does not count
    labels[1, 0] = -100
    weight = torch.rand(4, 3, 5).double()
    for leak in (0.0, 0.3):
        loss = mf.MetricLoss(metric, SMOOTHINGS[smoothing], over="image", leak=leak)
        one = mf.MetricLoss(metric, SMOOTHINGS[smoothing])
        each = torch.stack([one(scores[[i]], labels[[i]], weight[[i]]) for i in range(3)]).mean()
        expected = each + leak * mf.MetricLoss("accuracy", link="log")(scores, labels, weight)
        assert_close(loss(scores, labels, weight), expected)
    dice = torch.stack([mf.DiceLoss()(scores[[i]], labels[[i]]) for i in range(3)]).mean()
    assert_close(mf.DiceLoss(over="image")(scores, labels), dice)


def test_a_mean_over_images_of_logits():
    scores, target = images()
    target = torch.nn.functional.one_hot(target, 3).movedim(-1, 1)
    many = mf.MetricLoss("iou_macro", mode="multilabel", over="image")
    each = [mf.MetricLoss("iou_macro", mode="multilabel")(scores[[i]], target[[i]]) for i in range(4)]
    assert_close(many(scores, target), torch.stack(each).mean())
    right = mf.MetricLoss("accuracy", mode="multilabel", over="image")
    assert_close(right(scores, target), mf.MetricLoss("accuracy", mode="multilabel")(scores, target))
    # an image without positives has no IoU
    mask = target[:, :1].clone()
    mask[2] = 0
    loss = mf.MetricLoss("iou", over="image")
    each = [mf.MetricLoss("iou")(scores[[i], :1], mask[[i]]) for i in (0, 1, 3)]
    assert_close(loss(scores[:, :1], mask), torch.stack(each).mean())


def test_classes_may_be_left_out():
    """As ``labels`` of scikit-learn: rows of the background still count as wrong predictions of other classes."""
    scores, labels = images()
    true, predicted = labels.flatten().numpy(), scores.argmax(1).flatten().numpy()
    for average in ("macro", "micro", "weighted"):
        loss = mf.MetricLoss(f"iou_{average}", mf.smoothing.Hard(), ignore_classes=[0])
        expected = sklearn.jaccard_score(true, predicted, labels=[1, 2], average=average)
        assert 1 - loss(scores, labels).item() == pytest.approx(expected, abs=1e-12)
        matrix = mf.confusion_matrix(mf.smoothing.Hard().assign(scores), labels)
        assert mf.metrics.Jaccard(average, ignore_classes=[0])(matrix).item() == pytest.approx(expected, abs=1e-12)
    masked = mf.metrics.FBeta([1.0, 2.0, 0.5], "macro", ignore_classes=[1])
    each = [mf.metrics.FBeta(beta).per_class(mf.metrics.Counts.of(matrix))[i] for i, beta in ((0, 1.0), (2, 0.5))]
    assert_close(masked(matrix), torch.stack(each).mean())


def test_values_per_class():
    scores, labels = images()
    true, predicted = labels.flatten().numpy(), scores.argmax(1).flatten().numpy()
    each = mf.MetricLoss("f1_macro", mf.smoothing.Hard()).per_class(scores, labels)
    assert each.tolist() == pytest.approx(sklearn.f1_score(true, predicted, average=None).tolist())
    hard = mf.MetricLoss("f1_macro", mf.smoothing.Hard(), mode="multilabel").per_class(MANY, MANY_LABELS)
    assert hard.tolist() == pytest.approx(sklearn.f1_score(MANY_LABELS.numpy(), (MANY > 0).numpy(), average=None).tolist())
    mcc = mf.MetricLoss("mcc", mode="multilabel").per_class(MANY, MANY_LABELS)
    assert_close(1 - mcc.mean(), mf.MetricLoss("mcc", mode="multilabel")(MANY, MANY_LABELS))


@pytest.mark.parametrize("alias", ["iou", "dice"])
@pytest.mark.parametrize("suffix", ["", "_macro", "_micro", "_weighted"])
def test_names_of_images(alias, suffix):
    assert mf.metrics.get(alias + suffix) == mf.metrics.get({"iou": "jaccard", "dice": "f1"}[alias] + suffix)


# the tools of torch: each mode in training and in validation

TOOLS = {
    "multiclass": (lambda: mf.MetricLoss("f1_macro"), torch.randn(6, 3, generator=RANDOM), torch.tensor([0, 1, 2, 1, 0, 2])),
    "pixels": (
        lambda: mf.MetricLoss("iou_macro", leak=0.1),
        torch.randn(2, 3, 4, 5, generator=RANDOM),
        torch.arange(40).view(2, 4, 5) % 3,
    ),
    "exact": (lambda: mf.ExactLoss(), torch.randn(6, 3, generator=RANDOM), torch.tensor([0, 1, 2, 1, 0, 2])),
    "binary": (lambda: mf.MetricLoss("f1", mode="binary"), LOGITS[:6].float(), LABELS[:6].float()),
    "binary_exact": (lambda: mf.ExactLoss(mode="binary", margin=1.0), LOGITS[:6].float(), LABELS[:6]),
    "multilabel": (lambda: mf.MetricLoss("f1_macro", mode="multilabel", leak=0.1), MANY[:6].float(), MANY_LABELS[:6]),
    "multilabel_mcc": (
        lambda: mf.MetricLoss("mcc", mf.smoothing.Normal(), mode="multilabel"),
        MANY[:6].float(),
        MANY_LABELS[:6],
    ),
    "images": (
        lambda: mf.MetricLoss("iou_macro", over="image"),
        torch.randn(2, 3, 4, 5, generator=RANDOM),
        torch.arange(40).view(2, 4, 5) % 3,
    ),
}


def step(loss, scores, target, **options):
    leaf = scores.clone().requires_grad_()
    value = loss(leaf, target, **options)
    return value.detach(), torch.autograd.grad(value, leaf)[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TOOLS)
def test_exports_for_any_number_of_rows(name):
    make, scores, target = TOOLS[name]
    rows = torch.export.Dim("rows", min=2, max=1000)
    program = torch.export.export(make(), (scores, target), dynamic_shapes=({0: rows}, {0: rows}))
    more, more_target = torch.cat([scores, -scores]), torch.cat([target, target])
    assert_close(program.module()(more, more_target), make()(more, more_target))


@pytest.mark.parametrize("name", TOOLS)
def test_half_precision_is_summed_in_single(name):
    make, scores, target = TOOLS[name]
    value, gradient = step(make(), scores.bfloat16(), target)
    expected, by_scores = step(make(), scores.bfloat16().float(), target)
    assert value.dtype == torch.float32
    assert gradient.dtype == torch.bfloat16
    assert_close(value, expected)
    assert_close(gradient, by_scores.bfloat16())
