"""Augmentations: Pillow's values, and what depends on the seed."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import nn

from reproductions.lab.datasets import augmentation
from reproductions.lab.datasets._augment import _changes


def images(n=64, channels=3, size=32):
    random = torch.Generator().manual_seed(0)
    coarse = torch.rand(n, channels, 8, 8, generator=random)
    return (nn.functional.interpolate(coarse, size=size, mode="bilinear") * 200).round() / 255


def moved(picture, *matrix):
    return picture.transform((32, 32), Image.AFFINE, matrix)


@pytest.mark.parametrize(
    ("name", "amount", "by_pillow"),
    [
        ("brightness", 0.4, lambda picture: ImageEnhance.Brightness(picture).enhance(1.4)),
        ("color", -0.4, lambda picture: ImageEnhance.Color(picture).enhance(0.6)),
        ("contrast", 0.9, lambda picture: ImageEnhance.Contrast(picture).enhance(1.9)),
        ("sharpness", -0.6, lambda picture: ImageEnhance.Sharpness(picture).enhance(0.4)),
        ("posterize", 5.0, lambda picture: ImageOps.posterize(picture, 5)),
        ("solarize", 0.5, lambda picture: ImageOps.solarize(picture, 128)),
        ("auto_contrast", 0.0, ImageOps.autocontrast),
        ("equalize", 0.0, ImageOps.equalize),
        ("invert", 0.0, ImageOps.invert),
        ("rotate", 20.0, lambda picture: picture.rotate(20.0)),
        ("translate_x", 0.25, lambda picture: moved(picture, 1, 0, -8, 0, 1, 0)),
        ("translate_y", -0.25, lambda picture: moved(picture, 1, 0, 0, 0, 1, 8)),
        ("shear_y", -0.25, lambda picture: moved(picture, 1, 0, 0, 0.25, 1, 0)),
    ],
)
def test_a_change_is_pillows(name, amount, by_pillow):
    """Within a level of 255 in the mean: Pillow rounds, and shears about the middle of a pixel instead of its corner."""
    image = images(1)
    picture = Image.fromarray((image[0].permute(1, 2, 0) * 255).round().byte().numpy())
    expected = torch.from_numpy(np.array(by_pillow(picture))).permute(2, 0, 1) / 255
    found = _changes()[name](image, torch.tensor([amount]))[0].clamp(0.0, 1.0)
    assert (found - expected).abs().mean() < (1.6 if name == "shear_y" else 1.0) / 255
    assert (image[0] - expected).abs().mean() > 3 * (found - expected).abs().mean()


@pytest.mark.parametrize(("name", "channels", "size"), [("mnist", 1, 28), ("cifar10", 3, 32)])
def test_every_image_is_changed_in_its_own_way_and_by_the_seed(name, channels, size):
    layer, same = augmentation(name), images(1, channels, size).repeat(64, 1, 1, 1)
    torch.manual_seed(0)
    first, second = layer(same), layer(same)
    torch.manual_seed(0)
    assert torch.equal(layer(same), first)
    assert not torch.equal(first, second)
    assert len({one.numpy().tobytes() for one in first}) > 25
    assert 0.0 <= first.min() <= first.max() <= 1.0
    assert torch.equal(layer.eval()(same), same)
    assert not list(layer.state_dict())


def test_only_cifar_is_flipped():
    """A picture that rises to the right: half of the unchanged ones are mirrored."""
    rising = torch.linspace(0.2, 0.8, 32).expand(1000, 3, 32, 32).clone()
    torch.manual_seed(0)
    mirrored = {
        name: (augmentation(name)(rising) == rising.flip(3)).all((1, 2, 3)).double().mean() for name in ("cifar10", "svhn")
    }
    assert mirrored["svhn"] == 0.0
    assert mirrored["cifar10"] > 0.05


def test_shifts_and_turns_of_mnist_are_small():
    """The middle of a dot lands within 20 % of the side of where it was: turns about the centre do not move it."""
    dot, pixel = torch.zeros(500, 1, 29, 29), torch.arange(29.0) - 14.0
    dot[:, :, 13:16, 13:16] = 1.0
    torch.manual_seed(0)
    found = augmentation("mnist")(dot).squeeze(1)
    for shift in ((found.sum(1) * pixel).sum(1) / found.sum((1, 2)), (found.sum(2) * pixel).sum(1) / found.sum((1, 2))):
        assert 4.5 < shift.abs().max() < 0.2 * 29 + 0.5
        assert shift.mean().abs() < 1.0
