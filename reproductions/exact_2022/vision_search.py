"""The learning rates of the scaled networks: of a grid, the best on images that are not trained on.

    python -m reproductions.exact_2022.vision_rates        # 48 runs

The paper tunes them too, by a random search with 20 % of the training images held out. One seed; ASAM takes the rate of SGD.
"""

from __future__ import annotations

from dataclasses import replace

from metricfit._threads import single_threaded
from reproductions._markdown import table
from reproductions._tables import data_folder
from reproductions._training import accuracy, cpu_fabric
from reproductions.exact_2022 import published
from reproductions.exact_2022._networks import FALL, SCALED, TABLE_7, load_images, setting_of, train_network

GRID = {"SGD": (0.01, 0.03, 0.1, 0.3, 1.0), "Adam": (0.001, 0.003, 0.01)}
N_HELD_OUT = 2000


def accuracies(name: str, optimizer: str, loss: str) -> list[float]:
    """Accuracy in percent on the images after those that are trained on, by learning rate."""
    size = SCALED[name]
    n_train = size.n_train or 0
    (images, labels), _ = load_images(name, data_folder(), replace(size, n_train=n_train + N_HELD_OUT, n_test=1))
    train, held_out = (images[:n_train], labels[:n_train]), (images[n_train:], labels[n_train:])
    setting = setting_of({"set": name, "optimizer": optimizer, "loss": loss, "variant": TABLE_7})
    found = []
    for rate in GRID[optimizer]:
        with single_threaded():
            own = replace(setting, rate=rate, last_rate=rate / FALL)
            found.append(accuracy(train_network(own, size, train, held_out, 0, cpu_fabric()), held_out))
    return found


def main() -> None:
    for optimizer, rates in GRID.items():
        rows = []
        for name in ("mnist", "cifar10"):
            for loss in published.LOSSES:
                found = accuracies(name, optimizer, loss)
                rows.append([name, loss, *(f"**{one:.1f}**" if one == max(found) else f"{one:.1f}" for one in found)])
                print(rows[-1], flush=True)
        print(f"\n{optimizer}, accuracy on {N_HELD_OUT:,} images that are not trained on, by learning rate, %\n")
        print(table(["set", "loss", *map(str, rates)], rows), flush=True)


if __name__ == "__main__":
    main()
