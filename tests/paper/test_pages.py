"""Tables between the marks of a page."""

import pytest
from made_up import accuracies

from ccn.errors import FileError
from ccn.paper.comparison import Table
from ccn.paper.pages import embed
from ccn.paper.tables import table


@pytest.fixture
def kernels() -> Table:
    return table("kernels", accuracies("MUTAG", wl=[0.8, 0.9]))


def test_tables_are_put_between_their_marks_and_only_there(kernels: Table) -> None:
    other = "<!-- ccn table hcep -->\n<!-- end of table -->\n"
    page = f"# A\n\n<!-- ccn table kernels -->\nan older table\n<!-- end of table -->\n\nB\n\n{other}"
    filled = embed(page, [kernels], "page")
    assert filled.startswith("# A\n\n<!-- ccn table kernels -->\n\nAccuracy")
    assert filled.endswith(f"<!-- end of table -->\n\nB\n\n{other}")
    assert "older" not in filled
    assert embed(filled, [kernels], "page") == filled


@pytest.mark.parametrize("after", ["<!-- ccn table hcep -->\n<!-- end of table -->\n", "text\n", ""])
def test_a_table_without_an_end_is_an_error(after: str, kernels: Table) -> None:
    complete = "<!-- ccn table kernels -->\n<!-- end of table -->\n"
    with pytest.raises(FileError, match=r"page\.md: .* qm9 "):
        embed(f"{complete}<!-- ccn table qm9 -->\nlost\n{after}", [kernels], "page.md")


def test_a_page_without_marks(kernels: Table) -> None:
    with pytest.raises(FileError, match=r"page\.md: .* kernels"):
        embed("# A\n", [kernels], "page.md")
