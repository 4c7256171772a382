"""How Sphinx builds the site; ``make site`` runs it. Nothing is fetched, then or by the pages."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "tametail"
author = "The tametail developers"
copyright = author  # noqa: A001  Sphinx reads this name
version = release = version_of("tametail")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "click_help",
    "mathml",
    "proof_pins",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

# Types are in the signatures' names and in the text; annotations would triple their length.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False  # several arguments may share a description
napoleon_use_ivar = True
napoleon_attr_annotations = False

# Other projects' pages would have to be downloaded to link to their names.
nitpick_ignore_regex = [("py:.*", r"(numpy|opendp|matplotlib)\..*")]

html_theme = "furo"
html_title = "tametail"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
