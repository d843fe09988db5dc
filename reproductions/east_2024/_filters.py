"""Pictures as responses to filters that were learned without labels (Coates, Lee and Ng 2011).

Patches of 6 x 6 pixels are normalised, whitened and grouped by k-means. A patch's response to a centre is by how much it is
nearer to that one than to centres in the mean, and a picture is the mean responses of its four quarters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor, nn

SIDE, N_PICTURES, PER_PICTURE, AT_ONCE = 6, 2000, 50, 100
CONTRAST, RIDGE = 10.0, 0.1  # added to variances, so that a patch of one colour is not blown up; the authors' values


@dataclass(frozen=True)
class Filters:
    """The mean of patches, what whitens them, and the centres."""

    mean: Tensor
    whiten: Tensor
    centres: Tensor

    def __call__(self, pictures: Tensor) -> Tensor:
        """Four numbers per filter for each picture, of (n, 3, height, width) in 0 ... 255."""
        return torch.cat([self._responses(some) for some in pictures.split(AT_ONCE)])

    def _responses(self, pictures: Tensor) -> Tensor:
        distances = torch.cdist((_patches(pictures) - self.mean) @ self.whiten, self.centres)
        nearer = (distances.mean(2, keepdim=True) - distances).clamp_min(0.0).transpose(1, 2)
        height, width = (length - SIDE + 1 for length in pictures.shape[2:])
        return nn.functional.adaptive_avg_pool2d(nearer.unflatten(2, (height, width)), 2).flatten(1)


def learn_filters(pictures: Tensor, n_filters: int) -> Filters:
    """From a hundred thousand patches, or as many as there are."""
    random = torch.Generator().manual_seed(0)
    some = _patches(pictures[torch.randperm(len(pictures), generator=random)[:N_PICTURES]])
    positions = torch.randint(some.shape[1], (len(some), PER_PICTURE), generator=random)
    patches = some.gather(1, positions[..., None].expand(-1, -1, some.shape[2])).flatten(0, 1)
    mean = patches.mean(0)
    variances, axes = torch.linalg.eigh(torch.cov((patches - mean).T))
    whiten = axes @ torch.diag((variances + RIDGE).rsqrt()) @ axes.T
    groups = MiniBatchKMeans(n_filters, batch_size=4096, n_init=1, max_iter=20, random_state=0)
    centres = groups.fit(((patches - mean) @ whiten).numpy()).cluster_centers_
    return Filters(mean, whiten, torch.from_numpy(centres).float())


def _patches(pictures: Tensor) -> Tensor:
    """All of a picture, (n, positions, 3 * 6 * 6), each with mean 0 and a variance of about 1."""
    patches = nn.functional.unfold(pictures.float(), SIDE).transpose(1, 2)
    centred = patches - patches.mean(2, keepdim=True)
    return centred / (centred.square().mean(2, keepdim=True) + CONTRAST).sqrt()
