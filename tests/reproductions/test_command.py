"""The command around the reproductions."""

from reproductions._command import COMMAND
from reproductions._experiment import names
from tests.cli.test_bad_input import check


def test_a_small_run(run, data):
    code, out, err = run("exact-tabular", "--quick", "--datasets", "wine", "--data", data)
    assert code == 0
    assert "| wine | 100.00 |" in out
    assert "EXACT reaches the paper's training accuracy" in out
    assert "4 of 4: wine, EXACT, 0\n" in err
    assert "exact-tabular-quick.csv, .md" in err


def test_the_list(run):
    code, out, _ = run("list")
    assert code == 0
    assert out.startswith("exact-tabular ")


def test_mistakes(run, tmp_path, monkeypatch):
    def offline(name):
        raise OSError(name)

    monkeypatch.setattr("reproductions._openml.fetch", offline)
    known = ", ".join(names())
    check(
        run("exact-tabula"),
        2,
        f"'exact-tabula' is not an experiment. Did you mean 'exact-tabular'? There are: {known}.",
        tmp_path,
        COMMAND,
    )
    code, _, err = run("exact-tabular", "--datasets", "wien")
    assert code == 2
    assert "--datasets 'wien' is not in exact-tabular. Did you mean 'wine'?" in err
    code, _, err = run("exact-tabular", "--datasets", "wine", "--data", "nowhere")
    assert code == 1
    assert "The data set 'wine' is not there" in err
    assert "Traceback" not in err


def test_options_that_mean_nothing(run):
    code, _, err = run("leaky-mnist", "--search", "5")
    assert code == 2
    assert "--search means nothing to leaky-mnist" in err
    code, _, err = run("exact-integral", "--datasets", "wine")
    assert code == 2
    assert "--datasets means nothing to exact-integral, which has none." in err


def test_a_set_named_twice_is_run_once(run, data):
    twice = ("--datasets", "wine", "--datasets", "wine")
    code, out, _ = run("exact-tabular", "--quick", *twice, "--data", data)
    assert code == 0
    assert out.count("| wine |") == 2  # train and test
