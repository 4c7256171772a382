"""Small pictures as SVG text: for notebooks, reports and the page, without matplotlib.

They take colors from the page around them (``currentColor`` and a few custom properties), so that
one picture is right on light and on dark ground, and they carry their content as words, for those
who do not see them.
"""
