"""A table of drawn molecules that a browser sorts and filters: one HTML file, with a few lines of script in it.

Whatever stands in a cell is text. The page is bounded: rows are shown until there are many, or the file is large, and a
note says how many are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from markupsafe import Markup

from ccn.chemistry.depiction import depict
from ccn.datasets.dataset import shorten
from ccn.reports.page import Section, paragraph, render

__all__ = ["MOST_ROWS", "gallery"]

MOST_ROWS = 1_000
_MOST_BYTES = 4_500_000
_WORD, _LONG = 24, Markup(' class="long"')


def gallery(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], smiles: Sequence[int], total: int, lead: str = ""
) -> str:
    """The page of a table.

    Args:
        title: of the page.
        header: the names of the columns.
        rows: their cells; those of a page that is full are not read.
        smiles: the columns with molecules. That of the first is drawn at the head of its row, others in their cells.
        total: how many rows there are.
        lead: what the page is about.
    """
    made: list[Markup] = []
    size = 0
    for cells in islice(rows, MOST_ROWS):
        drawing = Markup(depict(cells[smiles[0]].strip(), 200, 130))
        texts = Markup("").join(
            Markup("<td{}>{}{}</td>").format(
                _LONG * (_long(cell) or i in smiles[1:]), _drawn(cell) if i in smiles[1:] else "", shorten(cell)
            )
            for i, cell in enumerate(cells)
        )
        made.append(Markup('<tr><td class="drawing">{}</td>{}</tr>').format(drawing, texts))
        size += len(made[-1].encode())
        if size > _MOST_BYTES:
            break
    head = Markup("").join(
        Markup('<th><button type="button" data-column="{}">{}</button></th>').format(i, name)
        for i, name in enumerate(header, 1)
    )
    table = Markup(
        '<div class="wide" tabindex="0"><table class="gallery" id="rows"><thead><tr><th>molecule</th>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(head, Markup("\n").join(made))
    options = Markup("").join(Markup('<option value="{}">{}</option>').format(i, n) for i, n in enumerate(header, 1))
    controls = Markup(
        '<div class="controls"><input id="text" type="search" placeholder="filter rows by text" '
        'aria-label="filter rows by text"><select id="column" aria-label="column with numbers">{}</select>'
        '<input id="least" type="number" step="any" placeholder="from" aria-label="from">'
        '<input id="most" type="number" step="any" placeholder="to" aria-label="to">'
        '<span id="count" role="status">{} rows</span></div>'
    ).format(options, f"{len(made):,}")
    note = "Click the name of a column to sort by it, again for the other direction."
    if total > len(made):
        note += f" The first {len(made):,} of {total:,} rows are shown; write a .csv file for all of them."
    return render(title, [Section("Molecules", [paragraph(note), controls, table])], lead=lead, script=_SCRIPT)


def _drawn(cell: str) -> Markup:
    return Markup('<div class="drawing">{}</div>').format(Markup(depict(cell.strip(), 200, 130)))


def _long(cell: str) -> bool:
    """Whether a cell has a word that needs breaks, such as a SMILES."""
    return any(len(word) > _WORD for word in cell.split())


_SCRIPT = """\
"use strict";
(function () {
  const body = document.querySelector("#rows tbody"), rows = Array.from(body.rows);
  const field = name => document.getElementById(name);
  const text = cell => cell.lastChild ? cell.lastChild.textContent : "";  // after a drawing, which has letters too
  const cell = (row, column) => text(row.cells[column]);
  const number = text => text.trim() === "" ? NaN : Number(text);
  const numeric = column => {
    const given = rows.map(row => cell(row, column)).filter(text => text.trim() !== "");
    return given.length > 0 && given.every(text => !isNaN(number(text)));
  };
  const choice = field("column");
  Array.from(choice.options).forEach(option => { if (!numeric(Number(option.value))) option.remove(); });
  [choice, field("least"), field("most")].forEach(control => { control.hidden = choice.options.length === 0; });
  function filter() {
    const words = field("text").value.toLowerCase(), column = Number(choice.value);
    const least = number(field("least").value), most = number(field("most").value);
    let count = 0;
    rows.forEach(row => {
      let shown = Array.from(row.cells).slice(1).some(one => text(one).toLowerCase().includes(words));
      if (!isNaN(least)) shown = shown && number(cell(row, column)) >= least;
      if (!isNaN(most)) shown = shown && number(cell(row, column)) <= most;
      row.hidden = !shown;
      count += shown;
    });
    field("count").textContent = count.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " rows";
  }
  ["text", "column", "least", "most"].forEach(name => field(name).addEventListener("input", filter));
  let sorted = 0;
  document.querySelectorAll("#rows th button").forEach(button => button.addEventListener("click", () => {
    const column = Number(button.dataset.column), up = sorted !== column, byNumber = numeric(column);
    sorted = up ? column : -column;
    const key = row => byNumber ? number(cell(row, column)) : cell(row, column).toLowerCase();
    const empty = value => value === "" || (byNumber && isNaN(value));
    const order = rows.map(row => [key(row), row]);
    order.sort(([a], [b]) => empty(a) || empty(b) ? empty(a) - empty(b) : (a > b) - (a < b));
    if (!up) order.sort(([a], [b]) => empty(a) || empty(b) ? empty(a) - empty(b) : (b > a) - (b < a));
    order.forEach(([, row]) => body.append(row));
    document.querySelectorAll("#rows th").forEach(th => th.removeAttribute("aria-sort"));
    button.parentElement.setAttribute("aria-sort", up ? "ascending" : "descending");
  }));
})();
"""
