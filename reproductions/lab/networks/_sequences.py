"""Taggers: of the words of a sentence by an LSTM in both directions, and of the nodes of a binary tree by a Tree-LSTM."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from reproductions.lab.networks._parts import scaled

PADDING = 0  # the number of the word that pads a sentence


class _WordNetwork(nn.Module):
    """Embeddings of words, dropout, and cells."""

    def __init__(
        self,
        n_words: int,
        n_classes: int,
        *,
        n_dimensions: int = 300,
        n_cells: int = 100,
        dropout: float = 0.0,
        width: float = 1.0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, n_dimensions, padding_idx=PADDING)
        self.dropout = nn.Dropout(dropout)
        self._build(n_dimensions, scaled(n_cells, width), n_classes)

    @abstractmethod
    def _build(self, n_dimensions: int, n_hidden: int, n_classes: int) -> None:
        """Make the cells and the head."""


class Tagger(_WordNetwork):
    """A bidirectional LSTM with one score per tag for every word (leaky, Table 6: 100 cells in each direction).

    It takes the numbers of words, (n, length), padded with 0, and gives scores (n · length, k), one row per word. Labels are
    ``tags.flatten()``, where those of the padding should be the loss's ``ignore_index``.
    """

    def _build(self, n_dimensions: int, n_hidden: int, n_classes: int) -> None:
        self.cells = nn.LSTM(n_dimensions, n_hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * n_hidden, n_classes)

    def forward(self, words: Tensor) -> Tensor:
        lengths = (words != PADDING).sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(self.dropout(self.embedding(words)), lengths, batch_first=True, enforce_sorted=False)
        with _precision_of_cells(words.device):
            found = self.cells(packed)[0]
        states, _ = pad_packed_sequence(found, batch_first=True, total_length=words.shape[1])
        return self.head(self.dropout(states)).flatten(0, 1)


def _precision_of_cells(device: torch.device) -> AbstractContextManager[Any]:
    """Float32 under autocast on CPUs without bfloat16, where torch's LSTM raises a RuntimeError; else nothing changes."""
    if device.type != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return nullcontext()
    return torch.autocast("cpu", enabled=False)


@dataclass  # not frozen: for another precision Fabric sets the fields of a copy
class Trees:
    """The nodes of binary trees, one after the other: the word of a leaf, or two children, which come before their parent."""

    words: Tensor  # (n,): the number of a leaf's word, 0 for others
    left: Tensor  # (n,): the index of the left child, -1 for a leaf
    right: Tensor
    height: Tensor  # (n,): 0 for a leaf, else one more than its higher child

    def __len__(self) -> int:
        return len(self.words)

    def to(self, device: torch.device | str) -> Trees:
        return Trees(*(getattr(self, item.name).to(device) for item in fields(self)))


def join_trees(trees: Sequence[Trees]) -> Trees:
    """Several trees as one batch.

    >>> leaf = torch.tensor([-1])
    >>> one = Trees(torch.tensor([7]), leaf, leaf, torch.tensor([0]))
    >>> join_trees([one, one]).words
    tensor([7, 7])
    """
    starts = [0, *torch.tensor([len(tree) for tree in trees]).cumsum(0).tolist()]
    moved = [
        [torch.where(child < 0, child, child + start) for child in (tree.left, tree.right)]
        for tree, start in zip(trees, starts, strict=False)
    ]
    left, right = (torch.cat(children) for children in zip(*moved, strict=True))
    words, height = (torch.cat([getattr(tree, name) for tree in trees]) for name in ("words", "height"))
    return Trees(words, left, right, height)


class TreeTagger(_WordNetwork):
    """A binary Tree-LSTM with one score per class for every node (Tai et al., 2015, equations 9 to 14; leaky, Table 7).

    A leaf's cell is a linear map of its word, which follows from the number of parameters in their Table 1. All nodes of one
    height are computed at once. It takes :class:`Trees` and gives scores (number of nodes, k).
    """

    def _build(self, n_dimensions: int, n_hidden: int, n_classes: int) -> None:
        self.leaf = nn.Linear(n_dimensions, 2 * n_hidden)  # cell, output gate
        self.inner = nn.Linear(2 * n_hidden, 5 * n_hidden)  # input gate, output gate, update, a forget gate for each child
        self.head = nn.Linear(n_hidden, n_classes)

    def forward(self, trees: Trees) -> Tensor:
        levels = [torch.nonzero(trees.height == height)[:, 0] for height in range(int(trees.height.max()) + 1)]
        index = torch.empty_like(trees.words)  # of a node among those that are computed
        index[torch.cat(levels)] = torch.arange(len(trees), device=trees.words.device)
        state, cell = self._leaves(trees.words[levels[0]])
        for level in levels[1:]:
            children = index[trees.left[level]], index[trees.right[level]]
            new_state, new_cell = self._nodes(*(part.index_select(0, child) for part in (state, cell) for child in children))
            state, cell = torch.cat([state, new_state]), torch.cat([cell, new_cell])
        return self.head(self.dropout(state[index]))

    def _leaves(self, words: Tensor) -> tuple[Tensor, Tensor]:
        cell, leave = self.leaf(self.dropout(self.embedding(words))).chunk(2, 1)
        return torch.sigmoid(leave) * torch.tanh(cell), cell

    def _nodes(self, left: Tensor, right: Tensor, left_cell: Tensor, right_cell: Tensor) -> tuple[Tensor, Tensor]:
        enter, leave, update, keep_left, keep_right = self.inner(torch.cat([left, right], 1)).chunk(5, 1)
        kept = torch.sigmoid(keep_left) * left_cell + torch.sigmoid(keep_right) * right_cell
        cell = torch.sigmoid(enter) * torch.tanh(update) + kept
        return torch.sigmoid(leave) * torch.tanh(cell), cell
