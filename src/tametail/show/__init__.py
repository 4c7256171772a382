"""How results are said: numbers, the one interval, warnings, tables, sentences and plans."""
