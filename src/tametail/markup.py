"""Elements of HTML and SVG as text, escaped in one place."""

from __future__ import annotations

from html import escape


def element(name: str, content: str = "", **attributes: object) -> str:
    """Return an element; ``_`` in a name stands for ``-``, numbers lose needless digits.

    >>> element("line", x1=1.0, y1=2.25, stroke_width=1)
    '<line x1="1" y1="2.25" stroke-width="1"/>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_written(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def _written(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(name: str, words: object, **attributes: object) -> str:
    """Return an element around words, whatever signs these hold.

    >>> text("td", "a < b")
    '<td>a &lt; b</td>'
    """
    return element(name, escape(str(words)), **attributes)


def embedded_json(written: str) -> str:
    r"""Return a JSON text that may stand in an element of HTML: no tag or comment begins in it.

    A parser of JSON reads it as it is, since ``<`` occurs only within its strings.

    >>> embedded_json('{"where": "a <!--<script> b"}')
    '{"where": "a \\u003c!--\\u003cscript> b"}'
    """
    return written.replace("<", "\\u003c")
