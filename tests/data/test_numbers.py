"""Numbers as people write them: the way is decided over a whole column, and the values are those that were meant."""

import pyarrow as pa
import pytest

from metricfit.data._numbers import find_numbers, grouped_by_point, is_number_format, parse_numbers


def column(*cells):
    return pa.chunked_array([pa.array(cells, pa.string())])


@pytest.mark.parametrize(
    ("cells", "format", "values"),
    [
        (["1,234.56", "7.5"], "1,234.56", [1234.56, 7.5]),
        (["1.234,56", "7"], "1.234,56", [1234.56, 7.0]),
        (["1,5", "2,25"], "1234,56", [1.5, 2.25]),
        (["1.234.567", "1.234"], "1.234,56", [1234567.0, 1234.0]),  # one value proves the groups
        (["1.234,50", "12.345"], "1.234,56", [1234.5, 12345.0]),
        (["12.5%", "-4 %"], "1234.56%", [0.125, -0.04]),
        (["12,5%", "100%"], "1234,56%", [0.125, 1.0]),
        (["€ 9.99", "€ 1,000"], "€ 1,234.56", [9.99, 1000.0]),
        (["9,99 €", "-1.000 €"], "1.234,56 €", [9.99, -1000.0]),
        (["$5", "-$7.50", "$-1", "($2)"], "($ 1234.56)", [5.0, -7.5, -1.0, -2.0]),
        (["£1", "£2.5"], "£ 1234.56", [1.0, 2.5]),
        (["¥1,000", "¥20,000,000"], "¥ 1,234.56", [1000.0, 20000000.0]),
        (["EUR 9.99", "EUR 10"], "EUR 1234.56", [9.99, 10.0]),
        (["9.99 USD", "10 USD"], "1234.56 USD", [9.99, 10.0]),
        (["1 234", "12"], "1 234.56", [1234.0, 12.0]),
        (["1\u00a0234,5", "1\u202f234", "1\u2009000"], "1 234,56", [1234.5, 1234.0, 1000.0]),
        (["1'234.5", "1\u2019000"], "1'234.56", [1234.5, 1000.0]),
        (["(12.50)", "3"], "(1234.56)", [-12.5, 3.0]),
        (["\u22125.5", "+3"], "\u22121234.56", [-5.5, 3.0]),
        (["1,5e-3", "2,5E2"], "1234,56", [0.0015, 250.0]),
    ],
)
def test_a_column_of_one_style(cells, format, values):
    found = find_numbers(column(*cells), ".")
    assert (found.format, found.share, found.choice) == (format, 1.0, "")
    assert is_number_format(format)
    assert parse_numbers(column(*cells, None), format).to_pylist() == [*values, None]


@pytest.mark.parametrize(
    ("cells", "file_decimal", "format", "first", "said"),
    [
        (["1,234", "12,345", "7"], ".", "1,234.56", 1234.0, "'1,234' is read as 1234, not as 1.234."),
        (["1,234", "12,345", "7"], ",", "1234,56", 1.234, "'1,234' is read as 1.234, not as 1234."),
        (["1.234 €", "12.345 €"], ".", "1234.56 €", 1.234, "'1.234' is read as 1.234, not as 1234."),
        (["1.234 €", "12.345 €"], ",", "1.234,56 €", 1234.0, "'1.234' is read as 1234, not as 1.234."),
        (["1,234%", "12,345%"], ".", "1234,56%", 0.01234, "'1,234' is read as 1.234, not as 1234."),  # 1234 % is unlikely
    ],
)
def test_a_column_that_has_two_readings_says_which(cells, file_decimal, format, first, said):
    found = find_numbers(column(*cells), file_decimal)
    assert (found.format, found.share) == (format, 1.0)
    assert found.choice.startswith(said)
    assert parse_numbers(column(*cells), format)[0].as_py() == pytest.approx(first, rel=1e-15)


@pytest.mark.parametrize(
    ("cells", "others"),
    [
        (["€ 5", "€ 7", "$ 5"], ["$ 5"]),  # mixed currencies are never one number
        (["€ 5", "€ 6", "7"], ["7"]),
        (["5%", "6%", "0.07"], ["0.07"]),
        (["1,5", "2,5", "2.5"], ["2.5"]),
        (["1,234.5", "2,000.5", "2.000,5"], ["2.000,5"]),
        (["-$-5", "$5", "$6"], ["-$-5"]),
        (["1,23,456", "1,234.5", "2,000.5"], ["1,23,456"]),
        (["1,234", "1,234.5", "007"], ["007"]),  # a code
        (["12", "13", "- -"], ["- -"]),
        (["1", "2", "Europe"], ["Europe"]),
    ],
)
def test_cells_of_another_style_are_named(cells, others):
    found = find_numbers(column(*cells), ".")
    assert found.share == pytest.approx(2 / 3)
    assert (found.n_others, list(found.others)) == (1, others)


def test_signs_that_contradict_each_other_are_not_guessed():
    found = find_numbers(column("1,234", "1.234"), ".")
    assert found.share == 0.5
    assert found.any_share == 1.0


def test_cells_that_do_not_fit_the_format_are_missing():
    assert parse_numbers(column("1.234,5 €", "1,234.5 €", "5", "$ 5", "5 €"), "1.234,56 €").to_pylist() == [
        1234.5,
        None,
        None,
        None,
        5.0,
    ]


def test_points_that_may_group_thousands():
    assert grouped_by_point(column("7", "1.234", "12.345", None)) == "1.234"
    assert not grouped_by_point(column("7", "8"))
    for proof in ("1.23", "0.123", "1234.567", "1.2345"):
        assert not grouped_by_point(column("1.234", proof))
