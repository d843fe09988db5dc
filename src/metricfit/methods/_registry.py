"""The methods by name. Adding one is one entry here, or one call of :func:`register`."""

from __future__ import annotations

from dataclasses import replace

from metricfit._printable import did_you_mean
from metricfit.methods._method import CROSS_ENTROPY, Choice, Method, NetworkTraining, check_start
from metricfit.smoothing import Normal, Softmax, SoftSet

AUTO = "auto"
MethodLike = str | Method | Choice

EXACT_PAPER = "Karpukhin et al. 2022, EXACT, arXiv 2205.09615"
LEAKY_PAPER = "İrsoy 2019, On Expected Accuracy, arXiv 1905.00448"
EAST_PAPER = "Li et al. 2024, EAST, arXiv 2405.20954"

_PLAIN = Method(
    CROSS_ENTROPY, "cross-entropy", "cross-entropy; predicts the most probable class", loss="cross_entropy", offsets="none"
)
_THRESHOLD = replace(
    _PLAIN,
    name="threshold",
    title="cross-entropy with a tuned threshold",
    summary="cross-entropy, with a threshold or offsets tuned for the metric on held-out rows",
    offsets="tuned",
)
_DIRECT = Method(
    "direct",
    "direct training",
    "metricfit's method: starts from cross-entropy and trains for the metric under noise plus a share of cross-entropy",
    smoothing=Normal(0.4),  # in logit units, on every score
    many_smoothing=Softmax(0.3),  # about the same width, several times faster
    leak=0.1,
    start=CROSS_ENTROPY,
)
# section 3.2 of İrsoy: the best epoch on development, found with a patience of 30 epochs and without a maximum
_IRSOY = NetworkTraining(patience=30, max_epochs=1000)
MARGINS = (0.1, 1.0, 0.01, 10.0)  # over the range of EXACT's search, 0 to 10; the most frequent of Table 8 first

REGISTRY: dict[str, Method | Choice] = {
    method.name: method
    for method in (
        _PLAIN,
        _THRESHOLD,
        Method(
            "hinge",
            "hinge",
            "hinge loss of the label against the best other class",
            (EXACT_PAPER,),
            loss="hinge",
            margins=(1.0, 0.1, 10.0),
            offsets="none",
        ),
        Method(
            "expected_error",
            "expected error",
            "the metric expected under the softmax",
            (LEAKY_PAPER,),
            smoothing=Softmax(),
            network=_IRSOY,
            offsets="none",
        ),
        Method(
            "leaky",
            "leaky expected error",
            "the metric expected under the softmax plus 0.1 of cross-entropy",
            (LEAKY_PAPER,),
            smoothing=Softmax(),
            leak=0.1,
            network=_IRSOY,
            offsets="none",
        ),
        Method(
            "exact",
            "EXACT",
            "the metric under normal noise that shrinks, with a margin",
            (EXACT_PAPER,),
            smoothing=Normal(),
            margins=MARGINS,
            normalize_scores=True,
            widths=tuple(10.0 ** (1.0 - index / 2.0) for index in range(7)),  # 10 to 0.01, section 5.4
            normalize_gradients=True,
            network=NetworkTraining(widths=(10.0, 1.0), stop_by="epochs", last_learning_rate=1e-4),
            offsets="none",
        ),
        Method(
            "east",
            "EAST",
            "the metric of soft sets whose temperature falls",
            (EAST_PAPER,),
            smoothing=SoftSet(),
            widths=tuple(0.2 * 0.8**index for index in range(7)),  # section 4.3; the paper's rates are 0.8 and 0.9
            network=NetworkTraining(anneals=True, stop_by="loss", patience=50, max_epochs=1000),  # section E.1
            offsets="none",
        ),
        _DIRECT,
        Choice(
            AUTO,
            (
                _PLAIN,
                _THRESHOLD,
                replace(_DIRECT, name="direct(1)", leak=1.0),
                replace(_DIRECT, name="direct(0.1)", start="direct(1)"),
            ),
            "the automatic choice",
            "chooses between cross-entropy, tuned threshold and direct training by held-out rows",
        ),
    )
}
NOISY_LABELS = Choice(
    "noisy_labels",
    (
        replace(_PLAIN, summary="cross-entropy, stopped by the accuracy of held-out rows", offsets="tuned"),
        Method(
            "leaky_accuracy",
            "leaky expected error",
            "expected accuracy under the softmax plus a leak of cross-entropy",
            (LEAKY_PAPER,),
            smoothing=Softmax(),
            leak=0.1,
            offsets="tuned",
        ),
        Method(
            "exact_accuracy",
            "EXACT's loss at sigma 1",
            "accuracy under normal noise of a fixed width on normalised scores",
            (EXACT_PAPER,),
            smoothing=Normal(),
            margin=5.0,
            normalize_scores=True,
            offsets="tuned",
        ),
    ),
    "the choice for wrong labels",
    "chooses between cross-entropy, leaky expected error and EXACT's loss by the accuracy of held-out rows",
    by_accuracy=True,
)
BASELINE = "threshold"  # what everything is compared with: the cheap thing that people can do today


def names() -> list[str]:
    """List the methods that train linear models and networks alike.

    :func:`get` knows one more, "noisy_labels", which is for networks.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> from metricfit.methods import names
    >>> names()[:2]
    ['cross_entropy', 'threshold']
    """
    return list(REGISTRY)


def _by_name() -> dict[str, Method | Choice]:
    return {**REGISTRY, NOISY_LABELS.name: NOISY_LABELS}


def get(method: MethodLike) -> Method | Choice:
    """Find a method by its name.

    Parameters
    ----------
    method : str, Method or Choice
        A name. A method is returned unchanged.

    Returns
    -------
    Method or Choice
        The method.

    Raises
    ------
    ValueError
        If no method has this name; the message suggests the closest one. Or if a method starts where only a choice can.

    Examples
    --------
    >>> from metricfit.methods import get
    >>> get("east").widths[0]
    0.2
    """
    if isinstance(method, Method):
        check_start(method)
    if isinstance(method, Method | Choice):
        return method
    if not isinstance(method, str):
        raise TypeError(f"`method` should be a name or a `mf.methods.Method`, got {method!r}.")
    known = _by_name()
    if method not in known:
        raise ValueError(
            f"`method` should be one of {', '.join(map(repr, known))}; got {method!r}.{did_you_mean(method, known)}"
        )
    return known[method]


def register(method: Method | Choice) -> None:
    """Register a method, so that ``MetricClassifier``, ``compare``, reports and saved models know its name.

    Parameters
    ----------
    method : Method or Choice
        The method.

    Raises
    ------
    ValueError
        If another method has this name.

    Examples
    --------
    >>> from metricfit import Method
    >>> from metricfit.methods import get, register
    >>> register(Method("leaky_0.3", leak=0.3))
    >>> get("leaky_0.3").leak
    0.3
    """
    if not isinstance(method, Method | Choice):
        raise TypeError(f"`method` should be a `mf.methods.Method` or `Choice`, got {method!r}.")
    if method.name in _by_name():
        raise ValueError(f"There is already a method {method.name!r}. Choose another name.")
    REGISTRY[method.name] = method


def is_registered(method: Method | Choice) -> bool:
    """Whether a method of this name is registered, and it is this one.

    Parameters
    ----------
    method : Method or Choice
        The method.

    Returns
    -------
    bool
        Whether it does.

    Examples
    --------
    >>> from metricfit import Method
    >>> from metricfit.methods import get, is_registered
    >>> is_registered(get("leaky")), is_registered(Method("leaky"))
    (True, False)
    """
    return _by_name().get(method.name) is method


def find(name: str, given: MethodLike | None = None) -> Method | None:
    """Find the method that a model was trained by.

    Parameters
    ----------
    name : str
        The name of the method, or of a candidate of a choice.
    given : str, Method or Choice, default=None
        The method that was passed to the estimator, which is searched first.

    Returns
    -------
    Method or None
        The method.

    Examples
    --------
    >>> from metricfit.methods import find
    >>> find("direct(1)").leak
    1.0
    """
    known = _by_name()
    first = known.get(given) if isinstance(given, str) else given
    entries = (*([] if first is None else [first]), *known.values())
    found = (one for entry in entries for one in (entry.candidates if isinstance(entry, Choice) else (entry,)))
    return next((one for one in found if one.name == name), None)
