"""Random changes of the training pictures of CIFAR-10, as section 3.2 names them: shifts and flips."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SHIFT = 4  # pixels at most; the paper gives no number, and four are usual


class ShiftAndFlip(nn.Module):
    """Shift each picture (n, c, h, w) by up to ``SHIFT`` pixels each way, and flip every other one; only while training.

    What a shift uncovers is black. It draws from torch's own generator. A plain index takes a fiftieth of a training step.
    """

    def forward(self, pictures: Tensor) -> Tensor:
        if not self.training:
            return pictures
        n_pictures, _, height, width = pictures.shape
        with pictures.device:
            down, right = torch.randint(2 * SHIFT + 1, (2, n_pictures, 1))
            rows, columns = torch.arange(height), torch.arange(width)
            columns = torch.where(torch.rand(n_pictures, 1) < 0.5, columns.flip(0), columns)
            picture = torch.arange(n_pictures)
        padded = nn.functional.pad(pictures, (SHIFT,) * 4).movedim(1, -1)
        return padded[picture[:, None, None], (rows + down)[:, :, None], (columns + right)[:, None, :]].movedim(-1, 1)
