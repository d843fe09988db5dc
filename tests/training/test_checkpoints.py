"""Checkpoints: damaged, crafted and foreign files are refused in one line, and then nothing has changed."""

import copy
import hashlib
import os
import pickle
import threading
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from pytorch_optimizer import SAM
from torch import nn

import metricfit as mf
from metricfit import schedules
from metricfit.training import Batches, Trainer
from metricfit.training._checkpoint import FORMAT, read_state, write_state

LIMIT = 2**24


def with_length(header):
    return len(header).to_bytes(8, "little") + header


NO_TENSORS = with_length(b"{}")


def data():
    random = torch.Generator().manual_seed(0)
    x = torch.randn(60, 5, generator=random)
    return x, (x[:, :3] + 0.7 * torch.randn(60, 3, generator=random)).argmax(1)


def made(seed=0, optimizer=torch.optim.AdamW, module=None, batches=None, **options):
    x, y = data()
    torch.manual_seed(seed)
    module = module or nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 3))
    trainer = Trainer(
        module,
        mf.MetricLoss("f1_macro", memory=0.9),
        optimizer(module.parameters(), lr=0.01, **options),
        scale=schedules.geometric(2.0, 0.5, 20),
        normalizer=mf.GradientNormalizer(),
        fabric=Fabric(accelerator="cpu", devices=1),
    )
    return trainer, batches or Batches(x, y, size=20, seed=seed)


def trained(seed=0, epochs=2, **options):
    trainer, batches = made(seed, **options)
    trainer.fit(batches, data(), epochs=epochs, patience=50)
    return trainer, batches


def everything(trainer, batches):
    """All that a load may change, with memory of its own."""
    names = ("step", "epoch", "since_best", "history", "best", "best_value")
    state = {name: getattr(trainer, name) for name in names}
    state |= {
        "module": trainer.module.state_dict(),
        "optimizer": trainer.optimizer.state_dict(),
        "random": torch.get_rng_state(),
    }
    state |= {
        "loss": trainer.loss.state_dict(),
        "normalizer": trainer.normalizer.state_dict(),
        "batches": batches.state_dict(),
    }
    return copy.deepcopy(state)


def same(one, other):
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (one != one and other != other)


def refuse(file, *parts, target=None):
    """Loading raises one line with these parts, and leaves another training as it was."""
    trainer, batches = target or trained(seed=1, epochs=1)
    before = everything(trainer, batches)
    with pytest.raises(ValueError, match="Nothing was changed") as found:
        trainer.load(file, batches)
    message = str(found.value)
    assert "\n" not in message
    assert str(file) in message
    assert all(part in message for part in parts), message
    assert same(everything(trainer, batches), before)


@pytest.fixture
def file(tmp_path):
    trainer, batches = trained()
    trainer.save(tmp_path / "checkpoint", batches)
    return tmp_path / "checkpoint"


def test_every_flipped_byte_is_noticed(file):
    content, target = file.read_bytes(), trained(seed=1, epochs=1)
    for place in [*range(0, 100, 3), *range(100, len(content), 251), len(content) - 1]:
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        file.write_bytes(changed)
        refuse(file, target=target)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.5, 0.999])
def test_a_truncated_file(file, share):
    os.truncate(file, int(share * file.stat().st_size))
    refuse(file)


def test_bytes_at_the_end(file):
    file.write_bytes(file.read_bytes() + b"\n")
    refuse(file, "checksum does not match")


def at(state, *names):
    for name in names:
        state = state[name]
    return state


def put(*path):
    *names, last, value = path

    def change(state):
        at(state, *names)[last] = value(at(state, *names)[last]) if callable(value) else value

    return change


def drop(*path):
    return lambda state: at(state, *path[:-1]).pop(path[-1])


def rename(*path):
    def change(state):
        inside = at(state, *path[:-1])
        inside[f"{path[-1]}\nx\x1b[2J"] = inside.pop(path[-1])

    return change


def nan_at_first(tensor):
    tensor.view(-1)[0] = float("nan")
    return tensor


CHANGES = {
    "no module": (drop("module"), "lacks 'module'"),
    "a new part": (put("more", 1), "has 'more'"),
    "no loss": (drop("loss"), "lacks 'loss'"),
    "no batches": (drop("batches"), "lacks 'batches'"),
    "a weight is lost": (drop("module", "0.weight"), "the module lacks '0.weight'"),
    "a weight is renamed": (rename("module", "0.weight"), "the module lacks '0.weight'"),
    "a weight too many": (put("module", "7.weight", torch.ones(2)), "has '7.weight'"),
    "shape": (put("module", "0.weight", lambda one: one.flatten()), "should have shape (4, 5), got (20,)"),
    "dtype": (put("module", "0.weight", lambda one: one.double()), "should be torch.float32, got torch.float64"),
    "no tensor": (put("module", "0.weight", 3.0), "should be a Tensor, got a float"),
    "NaN": (put("module", "0.weight", nan_at_first), "'0.weight' has NaN or infinity"),
    "NaN in the best": (put("best", "0.weight", nan_at_first), "the best module '0.weight' has NaN"),
    "best is a list": (put("best", [1]), "the best module should be a dictionary"),
    "NaN in a running mean": (put("module", "1.running_mean", nan_at_first), "has NaN"),
    "optimizer of another kind": (
        put("optimizer", torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0).state_dict()),
        "group 0",
    ),
    "optimizer is none": (put("optimizer", None), "the optimizer should be a dictionary"),
    "moment renamed": (rename("optimizer", "state", 0, "exp_avg"), "lacks 'exp_avg'"),
    "moment of another shape": (
        put("optimizer", "state", 0, "exp_avg", lambda one: one[:1]),
        "'exp_avg' should have shape (4, 5)",
    ),
    "moment of another dtype": (put("optimizer", "state", 0, "exp_avg", lambda one: one.half()), "should be torch.float32"),
    "moment NaN": (put("optimizer", "state", 0, "exp_avg", nan_at_first), "has NaN"),
    "state of nothing": (put("optimizer", "state", 99, {}), "number 99"),
    "state by name": (put("optimizer", "state", "a", {}), "by the number of a parameter"),
    "rate NaN": (put("optimizer", "param_groups", 0, "lr", float("nan")), "finite 'lr'"),
    "rate negative": (put("optimizer", "param_groups", 0, "lr", -1.0), "not negative"),
    "rate is many": (put("optimizer", "param_groups", 0, "lr", torch.ones(3)), "cannot be loaded"),
    "betas": (put("optimizer", "param_groups", 0, "betas", 0.9), "'betas'"),
    "option renamed": (rename("optimizer", "param_groups", 0, "eps"), "lacks 'eps'"),
    "parameters": (put("optimizer", "param_groups", 0, "params", [0, 0, 1, 2, 3, 4]), "should have the parameters"),
    "step": (put("step", -1), "'step' should be a count, got -1"),
    "epoch": (put("epoch", 1.5), "'epoch' should be a count"),
    "more epochs": (put("epoch", 3), "a row for each of 3 epochs"),
    "since_best": (put("since_best", 9), "'since_best' should be at most"),
    "huge": (put("step", 10**400), "cannot be loaded"),
    "row is a list": (put("history", 0, [1]), "row 0 of the history should be a dictionary"),
    "row without metric": (drop("history", 0, "metric"), "row 0 of the history lacks 'metric'"),
    "text in a row": (put("history", 1, "metric", "x\ny"), "a number as 'metric'"),
    "infinite metric": (put("history", 1, "metric", float("inf")), "finite 'metric'"),
    "negative scale": (put("history", 1, "scale", -1.0), "'scale' that is not negative"),
    "step of a row": (put("history", 1, "step", 1), "should have a step in"),
    "best_value of three": (put("best_value", (0.0, 0.0, 0.0)), "two floats"),
    "best_value of nothing": (put("best_value", (9.0, 9.0)), "of a row of the history"),
    "random": (put("random", torch.zeros(5056, dtype=torch.uint8)), "the random state"),
    "random dtype": (put("random", lambda one: one.float()), "the random state"),
    "order": (put("batches", "generator", torch.zeros(7, dtype=torch.uint8)), "cannot be loaded"),
    "order of another shape": (put("batches", "generator", lambda one: one[None]), "`generator` should have shape (5056,)"),
    "options of another kind": (put("optimizer", "param_groups", 0, "foreach", "text"), "'foreach'"),
    "an option that cannot be": (put("optimizer", "param_groups", 0, "betas", (0.9,)), "'betas'"),
    "order renamed": (rename("batches", "generator"), "cannot be loaded"),
    "norm": (put("normalizer", "running_norm", lambda one: -one), "a norm that is not negative"),
    "memory": (put("loss", "running", lambda one: one[:2]), "'running' should have shape (3, 3)"),
    "memory dtype": (put("loss", "running", lambda one: one.int()), "'running' should be"),
    "processes are none": (put("processes", {}), "'processes' should be a list"),
    "no processes": (put("processes", []), "'processes' should be a list"),
    "a process is none": (put("processes", [3]), "a process should be a dictionary"),
    "a process without random numbers": (put("processes", [{"unfinished": None}]), "a process lacks 'random'"),
    "a process with weights": (put("processes", [{"random": 0, "unfinished": None, "module": 0}]), "a process has 'module'"),
    "a process with other random numbers": (put("processes", [{"random": 0, "unfinished": None}]), "lacks 'batches'"),
}


class TestCrafted:
    """Files with the right checksum."""

    @pytest.mark.parametrize("name", CHANGES)
    def test_change(self, file, name):
        change, message = CHANGES[name]
        state = read_state(file, LIMIT)
        change(state)
        write_state(file, state)
        refuse(file, message)

    def test_a_memory_of_another_shape_for_a_new_trainer(self, file):
        state = read_state(file, LIMIT)
        put("loss", "running", lambda one: one[None])(state)
        write_state(file, state)
        refuse(file, "sums per class, got shape (1, 3, 3)", target=made(seed=1))

    @pytest.mark.parametrize("n_processes", [1, 3])
    def test_of_another_number_of_processes(self, file, n_processes):
        """The random numbers and the order of the first process count, not those beside them."""
        state = read_state(file, LIMIT)
        names = ("random", "unfinished", "batches")
        first = {name: state[name] for name in names}
        others = [{**first, "random": torch.Generator().manual_seed(7).get_state()}] * (n_processes - 1)
        state |= {"processes": [first, *others], "random": None, "batches": None}
        write_state(file, state)
        trainer, batches = made(seed=1)
        trainer.load(file, batches)
        assert torch.equal(torch.get_rng_state(), first["random"])
        assert same(batches.state_dict(), first["batches"])

    def test_written_again_it_is_the_same(self, file):
        content = file.read_bytes()
        write_state(file, read_state(file, LIMIT))
        assert file.read_bytes() == content
        made()[0].load(file)

    @pytest.mark.parametrize(
        "rest",
        [
            b"",
            b"\n",
            b"null\n" + NO_TENSORS,
            b"[" * 100_000 + b"]" * 100_000 + b"\n" + NO_TENSORS,
            b'{"dict": 1}\n' + NO_TENSORS,
            b'{"dict": [["a", 1], ["a", 2]]}\n' + NO_TENSORS,
            b'{"dict": [[[1], 1]]}\n' + NO_TENSORS,
            b'{"code": "x"}\n' + NO_TENSORS,
            b'{"tensor": "0"}\n' + NO_TENSORS,
            b'{"tensor": "0"}\n' + b"\xff" * 100,
            b'{"tensor": "0"}\n'
            + with_length(b'{"0":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]}}'),
            b'{"tensor": "0"}\n' + with_length(b'{"0":{"dtype":"F32","shape":[0,1099511627776],"data_offsets":[0,0]}}'),
        ],
        ids=range(12),
    )
    def test_content(self, tmp_path, rest):
        checksum = hashlib.sha256(rest).hexdigest().encode()
        (tmp_path / "crafted").write_bytes(FORMAT + b"\n" + checksum + b"\n" + rest)
        refuse(tmp_path / "crafted")

    def test_a_tensor_in_two_places(self, file):
        """The optimizer would write to both."""
        lines = file.read_bytes().split(b"\n", 3)
        first, second = (f'{{"tensor": "{place}"}}'.encode() for place in (0, 1))
        rest = lines[2].replace(second, first) + b"\n" + lines[3]
        file.write_bytes(b"\n".join([FORMAT, hashlib.sha256(rest).hexdigest().encode(), rest]))
        refuse(file, "its content cannot be read")

    def test_code_does_not_run(self, tmp_path):
        class Attack:
            def __reduce__(self):
                return Path.touch, (tmp_path / "ran",)

        for name, content in (("pickle", pickle.dumps(Attack())), ("zip", None)):
            file = tmp_path / name
            if content is None:
                torch.save({"module": Attack()}, file)
            else:
                file.write_bytes(content)
            refuse(file)
        assert not (tmp_path / "ran").exists()


class TestForeign:
    def test_of_an_earlier_version(self, tmp_path):
        torch.save({"step": 1}, tmp_path / "old")
        refuse(tmp_path / "old", "an earlier version wrote it, without a checksum")

    def test_a_pipe_a_device_and_links_to_them(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to(tmp_path / "pipe")
        for name in (tmp_path / "pipe", tmp_path / "link", Path("/dev/zero")):
            done = threading.Thread(target=refuse, args=(name, "Not a regular file"), daemon=True)
            done.start()
            done.join(30)
            assert not done.is_alive()
        refuse(tmp_path, "Not a regular file")

    def test_a_huge_file(self, file):
        os.truncate(file, 2**40)
        refuse(file, "bytes, at most")

    def test_a_missing_file(self, tmp_path):
        trainer, _ = made()
        with pytest.raises(FileNotFoundError):
            trainer.load(tmp_path / "none")

    def test_of_another_module(self, file):
        trainer, batches = made(seed=1, module=nn.Linear(5, 3))
        refuse(file, "the module lacks 'bias'", target=(trainer, batches))


def test_what_fails_half_way_is_undone(file):
    class Stubborn(Batches):
        def load_state_dict(self, state):
            super().load_state_dict(state)
            if not same(state, kept):
                raise KeyError("no\nway")

    trainer, batches = trained(seed=1, epochs=1, batches=Stubborn(*data(), size=20, seed=5))
    kept = batches.state_dict()
    refuse(file, "no\\nway", target=(trainer, batches))


def sharpness_aware(parameters, **options):
    return SAM(parameters, torch.optim.AdamW, **options)


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (torch.optim.SGD, {}),
        (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
        (torch.optim.AdamW, {"amsgrad": True}),
        (torch.optim.Adagrad, {}),
        (torch.optim.RMSprop, {"centered": True, "momentum": 0.5}),
        (torch.optim.NAdam, {}),
        (torch.optim.Rprop, {}),
        (torch.optim.Adafactor, {}),
        (sharpness_aware, {"adaptive": True}),
    ],
)
def test_every_optimizer_goes_on_with_the_same_bits(tmp_path, optimizer, options):
    options = {"optimizer": optimizer, **options}
    whole, batches = trained(epochs=4, **options)
    expected = everything(whole, batches)
    first, batches = trained(epochs=2, **options)
    first.save(tmp_path / "checkpoint", batches)
    second, batches = made(seed=5, **options)
    second.load(tmp_path / "checkpoint", batches)
    second.fit(batches, data(), epochs=4, patience=50)
    assert same(everything(second, batches), expected)


@pytest.mark.parametrize(
    "optimizer",
    [
        torch.optim.SGD,
        torch.optim.AdamW,
        torch.optim.Adagrad,
        torch.optim.RMSprop,
        torch.optim.Adafactor,
        sharpness_aware,
    ],
)
def test_the_state_of_every_optimizer_is_checked(tmp_path, optimizer):
    options = {"optimizer": optimizer} | ({"momentum": 0.9} if optimizer is torch.optim.SGD else {})
    trainer, batches = trained(**options)
    trainer.save(tmp_path / "checkpoint", batches)
    state = read_state(tmp_path / "checkpoint", LIMIT)
    name = next(name for name, value in state["optimizer"]["state"][0].items() if value.numel() > 1)
    rename("optimizer", "state", 0, name)(state)
    write_state(tmp_path / "checkpoint", state)
    refuse(tmp_path / "checkpoint", f"lacks {name!r}", target=made(seed=1, **options))


class TestSchedule:
    def made(self, seed=0, schedule_of=torch.optim.lr_scheduler.CosineAnnealingLR, **options):
        trainer, batches = made(seed)
        optimizer = trainer.optimizer.optimizer
        trainer.lr = schedule_of(optimizer, **(options or {"T_max": 9}))
        return trainer, batches

    def saved(self, file, **options):
        trainer, batches = self.made(**options)
        trainer.fit(batches, data(), epochs=2, patience=50)
        trainer.save(file, batches)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (drop("schedule"), "lacks 'schedule'"),
            (put("schedule", [1]), "the schedule should be a dictionary"),
            (rename("schedule", "T_max"), "the schedule lacks 'T_max'"),
            (put("schedule", "step", 1), "the schedule has 'step'"),
            (put("schedule", "last_epoch", "x\ny"), "'last_epoch' should be like 0, got x y"),
            (put("schedule", "last_epoch", float("nan")), "'last_epoch' should have finite numbers"),
            (put("schedule", "base_lrs", [0.1, 0.1]), "should be a list of 1"),
            (put("schedule", "T_max", 0), "cannot be loaded"),
            (put("schedule", "eta_min", -10.0), "rates that are finite and not negative"),
        ],
    )
    def test_change(self, tmp_path, change, message):
        self.saved(tmp_path / "checkpoint")
        state = read_state(tmp_path / "checkpoint", LIMIT)
        change(state)
        write_state(tmp_path / "checkpoint", state)
        trainer, batches = self.made(seed=1)
        before = copy.deepcopy(trainer.lr.state_dict()), trainer.optimizer.param_groups[0]["lr"]
        refuse(tmp_path / "checkpoint", message, target=(trainer, batches))
        assert before == (trainer.lr.state_dict(), trainer.optimizer.param_groups[0]["lr"])

    def test_of_another_trainer(self, tmp_path):
        self.saved(tmp_path / "checkpoint")
        refuse(tmp_path / "checkpoint", "has 'schedule', which is not known here", target=made(seed=1))
        target = self.made(seed=1, schedule_of=torch.optim.lr_scheduler.StepLR, step_size=3)
        refuse(tmp_path / "checkpoint", "the schedule lacks", target=target)

    def test_one_that_has_ended(self, tmp_path):
        options = {"schedule_of": torch.optim.lr_scheduler.OneCycleLR, "max_lr": 0.1, "total_steps": 6}
        self.saved(tmp_path / "checkpoint", **options)
        trainer, batches = self.made(**options)
        trainer.load(tmp_path / "checkpoint", batches)
        assert trainer.step == trainer.lr.last_epoch == 6
        with pytest.raises(ValueError, match="Tried to step 7 times"):
            trainer.fit(batches, data(), epochs=3, patience=50)


def test_modules_with_shared_weights_and_infinite_masks(tmp_path):
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(5, 5)
            self.two = nn.Linear(5, 5)
            self.two.weight = self.one.weight
            self.last = nn.Linear(5, 3)
            self.register_buffer("mask", torch.tensor([0.0, -torch.inf]))

        def forward(self, x):
            return self.last(self.two(self.one(x)))

    trainer, batches = trained(module=Odd())
    trainer.save(tmp_path / "checkpoint", batches)
    expected = everything(trainer, batches)
    other, batches = made(seed=3, module=Odd())
    other.load(tmp_path / "checkpoint", batches)
    assert same(everything(other, batches), expected)
    assert other.module.two.weight is other.module.one.weight


def test_what_a_file_cannot_hold(tmp_path):
    trainer, batches = trained()
    batches.state_dict = lambda: {"order": {1, 2}}
    with pytest.raises(TypeError, match=r"got <class 'set'> at 'batches.order'"):
        trainer.save(tmp_path / "checkpoint", batches)
    assert not list(tmp_path.iterdir())


def test_a_save_that_fails_is_not_the_last_checkpoint(tmp_path):
    trainer, batches = made()
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()

    def fail():
        for impossible in (tmp_path / "file" / "checkpoint", tmp_path / "folder"):
            with pytest.raises(OSError, match="folder"):
                trainer.save(impossible, batches)

    fail()
    assert trainer.saved is None
    trainer.save(tmp_path / "checkpoint", batches)
    saved = trainer.saved
    assert str(saved) == f"{tmp_path / 'checkpoint'}, of step 0"
    trainer.fit(batches, data(), epochs=1)
    fail()
    assert trainer.saved is saved
    trainer.save(tmp_path / "checkpoint", batches)
    assert str(trainer.saved) == f"{tmp_path / 'checkpoint'}, of step 3"


def test_an_interrupted_save_is_not_the_last_checkpoint(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    trainer, batches = made()
    trainer.save(tmp_path / "checkpoint", batches)
    saved, content = trainer.saved, (tmp_path / "checkpoint").read_bytes()
    monkeypatch.setattr("metricfit.training._resume.write_state", interrupt)
    trainer.step = 5
    with pytest.raises(KeyboardInterrupt):
        trainer.save(tmp_path / "checkpoint", batches)
    assert trainer.saved is saved
    assert (tmp_path / "checkpoint").read_bytes() == content


def test_a_process_that_is_lost_during_a_save_leaves_it_uncertain(tmp_path, monkeypatch):
    """Another process cannot know whether the first one has written the file."""

    def lose(*_):
        raise RuntimeError("Connection closed by peer")

    trainer, batches = made()
    trainer.save(tmp_path / "checkpoint", batches)
    monkeypatch.setattr("metricfit.training._resume._in_all_processes", lose)
    trainer.step = 5
    with pytest.raises(RuntimeError, match="Connection closed"):
        trainer.save(tmp_path / "checkpoint", batches)
    assert str(trainer.saved) == f"{tmp_path / 'checkpoint'}, of step 5 or of the save before"
