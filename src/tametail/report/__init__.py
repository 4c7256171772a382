"""Releases and plans as HTML: a cell of a notebook, or a whole report in one file."""
