"""Random changes of training images, as the papers make them, by kornia."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from metricfit._checks import check_option
from metricfit._extras import require

Change = Callable[[Tensor, Tensor], Tensor]  # images (m, c, h, w) and one amount per image (m,)

N_BINS = 10  # of magnitudes
DEGREES, SHIFT = 20.0, 0.2  # of MNIST


def augmentation(name: str) -> nn.Module:
    """A layer that changes images (n, c, h, w) in 0 ... 1 at random, each in its own way; in evaluation it changes nothing.

    Put it before the network: ``nn.Sequential(augmentation("mnist"), M3())``. It draws from torch's own generator, which the
    trainer saves, so that a resumed run has the same bits. It has no parameters and no state.

    Args:
        name: what EXACT does for a set (arXiv 2205.09615, section 5.3). "mnist": a shift by at most 20 % and a rotation by at
            most 20 degrees. "cifar10": a flip, and AutoAugment with its policy for CIFAR-10. "svhn": the same policy, no flip.

    >>> layer = augmentation("mnist")
    >>> images = torch.rand(2, 1, 28, 28)
    >>> layer(images).shape, torch.equal(layer.eval()(images), images)
    (torch.Size([2, 1, 28, 28]), True)
    """
    check_option(name, "name", ("mnist", "cifar10", "svhn"))
    require("kornia", "images", "an augmentation")
    from kornia.augmentation import RandomAffine, RandomHorizontalFlip

    if name == "mnist":
        return _WhileTraining(RandomAffine(DEGREES, translate=(SHIFT, SHIFT), p=1.0))
    flip = [RandomHorizontalFlip()] if name == "cifar10" else []
    return _WhileTraining(*flip, _AutoAugment())


class _WhileTraining(nn.Sequential):
    def forward(self, images: Tensor) -> Tensor:
        if not self.training:
            return images
        with torch.no_grad():
            return super().forward(images)


class _AutoAugment(nn.Module):
    """AutoAugment (Cubuk et al., 2019) with the policy for CIFAR-10: 25 pairs of changes, of which each image draws one.

    The table of the policy is kornia's. Its class draws one pair for the whole batch and shears by up to 54 degrees; here each
    image draws its own, and amounts are those of PyTorch's AutoAugment, which EXACT used: see :func:`_amount`.
    """

    kinds: Tensor  # (25, 2), as the others
    chances: Tensor
    amounts: Tensor
    signed: Tensor

    def __init__(self) -> None:
        from kornia.augmentation.auto.autoaugment.autoaugment import cifar10_policy

        super().__init__()
        self.changes = _changes()
        names = list(self.changes)
        kinds = [[names.index(kind) for kind, _, _ in pair] for pair in cifar10_policy]
        chances = [[chance for _, chance, _ in pair] for pair in cifar10_policy]
        amounts = [[_amount(kind, int(level or 0)) for kind, _, level in pair] for pair in cifar10_policy]
        signs = [[kind in _SIGNED for kind, _, _ in pair] for pair in cifar10_policy]
        for name, values in (("kinds", kinds), ("chances", chances), ("amounts", amounts), ("signed", signs)):
            self.register_buffer(name, torch.tensor(values), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        n_images, device = len(images), images.device
        pair = torch.randint(len(self.kinds), (n_images,), device=device)
        drawn = torch.rand(n_images, 2, device=device) < self.chances[pair]
        sign = torch.randint(2, (n_images, 2), device=device) * 2 - 1
        amounts = torch.where(self.signed[pair], sign * self.amounts[pair], self.amounts[pair]).to(images)
        for index in range(2):
            kinds, images = self.kinds[pair, index], images.clone()
            for kind, change in enumerate(self.changes.values()):
                rows = (drawn[:, index] & (kinds == kind)).nonzero().flatten()
                if len(rows):
                    images[rows] = change(images[rows], amounts[rows, index]).clamp(0.0, 1.0)
        return images


_SIGNED = ("shear_y", "translate_x", "translate_y", "rotate", "brightness", "color", "contrast", "sharpness")


def _amount(kind: str, level: int) -> float:
    """The amount of a change at a level from 0 to 9 of its scale; :data:`_SIGNED` ones have a random sign.

    Shears are slopes, translations fractions of the size, rotations degrees; brightness, colour, contrast and sharpness
    change by a factor of 1 plus this; posterise keeps so many bits, solarise inverts above this.

    >>> _amount("rotate", 9), _amount("posterize", 7), round(_amount("solarize", 2), 3)
    (30.0, 5.0, 0.778)
    """
    share = level / (N_BINS - 1)
    if kind == "posterize":
        return float(8 - round(4 * share))
    if kind == "solarize":
        return 1.0 - share
    return share * {"shear_y": 0.3, "translate_x": 150 / 331, "translate_y": 150 / 331, "rotate": 30.0}.get(kind, 0.9)


def _changes() -> dict[str, Change]:
    """What each name in the policy for CIFAR-10 does."""
    from kornia import enhance
    from kornia.geometry import transform

    def shifted(images: Tensor, x: Tensor, y: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        return transform.translate(images, torch.stack([x * width, y * height], 1), mode="nearest")

    zero = torch.zeros_like
    return {
        "shear_y": lambda images, slope: transform.shear(images, torch.stack([zero(slope), slope], 1), mode="nearest"),
        "translate_x": lambda images, share: shifted(images, share, zero(share)),
        "translate_y": lambda images, share: shifted(images, zero(share), share),
        "rotate": lambda images, degrees: transform.rotate(images, degrees, mode="nearest"),
        "brightness": lambda images, gain: enhance.adjust_brightness_accumulative(images, 1.0 + gain),
        "color": lambda images, gain: enhance.adjust_saturation_with_gray_subtraction(images, 1.0 + gain),
        "contrast": lambda images, gain: enhance.adjust_contrast_with_mean_subtraction(images, 1.0 + gain),
        "sharpness": lambda images, gain: enhance.sharpness(images, 1.0 + gain),
        "posterize": lambda images, bits: enhance.posterize(images, bits.int()),
        "solarize": lambda images, threshold: enhance.solarize(images, threshold),
        "auto_contrast": lambda images, _: enhance.normalize_min_max(images),
        "equalize": lambda images, _: enhance.equalize(images),
        "invert": lambda images, _: 1.0 - images,
    }
