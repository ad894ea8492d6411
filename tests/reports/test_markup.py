"""Tables as text."""

import csv
import io

from ccn.reports.markup import Bold, csv_text, latex, latex_escaped, markdown

HEAD, ROWS = ["method", "a_b"], [["x|y", Bold("1 ± 2")], ["50 %", "\N{EN DASH}"]]


def test_markdown_escapes_bars_and_aligns_columns() -> None:
    assert markdown(HEAD, ROWS).splitlines() == [
        "| method | a_b |",
        "| --- | ---: |",
        r"| x\|y | **1 ± 2** |",
        "| 50 % | \N{EN DASH} |",
    ]
    assert markdown(HEAD, [], "rl").splitlines()[1] == "| ---: | --- |"


def test_latex_has_no_special_character_left() -> None:
    assert latex(HEAD, ROWS).splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"method & a\_b \\ \midrule",
        r"x|y & \textbf{1 $\pm$ 2} \\",
        r"50 \% & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert latex_escaped("a^b\\~†") == r"a\textasciicircum{}b\textbackslash{}\textasciitilde{}$^\dagger$"


def test_csv_comes_back() -> None:
    text = csv_text(["a", "b"], [[None, 1.5], ['say "x", y', Bold("z")]])
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ["", "1.5"], ['say "x", y', "z"]]
