"""The real files, where there are any."""

import pytest

from reproductions._tables import data_folder


@pytest.fixture
def real():
    """The folder of a data set in METRICFIT_DATA; the test is skipped if it is not there."""

    def find(name):
        folder = data_folder() / name
        if not folder.is_dir():
            pytest.skip(f"{folder} is not there: METRICFIT_DATA names the folder of the data sets")
        return folder

    return find
