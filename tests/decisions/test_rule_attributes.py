"""What a rule keeps of its fit for those who use it."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from metricfit import DecisionRule

pd = pytest.importorskip("pandas")


def test_a_rule_knows_its_columns_and_how_sure_its_gain_is(tmp_path):
    random = np.random.default_rng(4)
    y = np.where(random.random(600) < 0.1, "fraud", "ok")
    fraud = expit(random.normal(size=600) + 2.0 * (y == "fraud") - 3.0)
    frame = pd.DataFrame({"fraud": fraud, "ok": 1.0 - fraud})
    rule = DecisionRule("f1").fit(frame, y)
    assert rule.columns_ == ("fraud", "ok")
    assert set(rule.predicted_) == {"fraud", "ok"}
    error = (rule.gain_interval_[1] - rule.gain_interval_[0]) / (2.0 * stats.norm.ppf(0.975))
    assert rule.gain_p_ == pytest.approx(2.0 * stats.norm.sf(abs(rule.gain_) / error), rel=1e-5)
    for overwrite in (False, True):
        rule.save(tmp_path / "rule.json", overwrite=overwrite)
    with pytest.raises(FileExistsError):
        rule.save(tmp_path / "rule.json")
    again = DecisionRule.load(tmp_path / "rule.json")
    assert (again.columns_, again.gain_p_) == (rule.columns_, rule.gain_p_)
