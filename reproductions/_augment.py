"""Random changes of training pictures (shifts, crops and flips), and scores that do not depend on a flip."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SHIFT = 4  # pixels at most, which is usual for CIFAR-10; the leaky paper names shifts and gives no number


class ShiftAndFlip(nn.Module):
    """Shift each picture (n, c, h, w) at random, and flip every other one; in evaluation, take the middle.

    It draws from torch's own generator. A plain index takes a fiftieth of a training step.

    Args:
        pad: pixels of black around a picture, by which it can be shifted each way.
        cut: pixels that a picture loses in height and in width, to train in less time.
        flip: whether to flip half of the pictures from left to right.

    >>> ShiftAndFlip(pad=0, cut=8)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 3, 24, 24])
    """

    def __init__(self, pad: int = SHIFT, cut: int = 0, *, flip: bool = True) -> None:
        super().__init__()
        self.pad, self.cut, self.flip = pad, cut, flip

    def forward(self, pictures: Tensor) -> Tensor:
        n_pictures, _, height, width = pictures.shape
        if not self.training:
            first = self.cut // 2
            return pictures[..., first : first + height - self.cut, first : first + width - self.cut]
        with pictures.device:
            down, right = torch.randint(2 * self.pad + self.cut + 1, (2, n_pictures, 1))
            rows, columns = torch.arange(height - self.cut), torch.arange(width - self.cut)
            if self.flip:
                columns = torch.where(torch.rand(n_pictures, 1) < 0.5, columns.flip(0), columns)
            picture = torch.arange(n_pictures)
        padded = nn.functional.pad(pictures, (self.pad,) * 4).movedim(1, -1)
        return padded[picture[:, None, None], (rows + down)[:, :, None], (columns + right)[:, None, :]].movedim(-1, 1)


class MirrorMean(nn.Module):
    """A network whose scores, in evaluation, are the mean of those of a picture (n, c, h, w) and of its mirror image.

    >>> network = MirrorMean(nn.Flatten()).eval()
    >>> network(torch.tensor([[[[1.0, 2.0, 6.0]]]]))
    tensor([[3.5000, 2.0000, 3.5000]])
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, pictures: Tensor) -> Tensor:
        scores = self.network(pictures)
        return scores if self.training else 0.5 * (scores + self.network(pictures.flip(-1)))
