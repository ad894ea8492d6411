"""The site: Sphinx with furo. `make docs` builds it offline; warnings are errors.

Pages are the Markdown of this folder. What can be generated is: commands, public names, examples with what they print,
pictures (:mod:`generate`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "site"))

import generate  # noqa: E402

from ccn.version import __version__  # noqa: E402

project, author = "ccn", "The ccn developers"
copyright = author  # noqa: A001
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["site", "pictures"]
smartquotes = False  # which make one dash of the two of a flag
html_theme = "furo"
html_title = f"ccn {version}"
html_static_path: list[str] = []
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "default", "native"

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"exclude-members": "set_fit_request, set_predict_request, set_score_request"}
suppress_warnings = ["ref.python"]  # attributes of one name in several classes
napoleon_google_docstring, napoleon_numpy_docstring, napoleon_use_ivar = True, False, True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100


def setup(app: Any) -> None:
    """Generate pages before Sphinx looks which there are; lead links of the others to them."""
    app.connect("config-inited", lambda app, config: generate.everything(HERE / "made", Path(app.outdir).parent))
    app.connect("source-read", relinked)


def relinked(app: Any, name: str, source: list[str]) -> None:
    """The links of a page that is not made."""
    if not name.startswith("made/"):
        source[0] = generate.relink(source[0], HERE / f"{name}.md", name)
    if name == "index":
        source[0] = generate.with_others(source[0])
