"""All entries and the head as a file for auditors: JSON lines, or CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import TextIO

from tametail.ledger.entries import START, Entry


def write_lines(entries: Iterable[Entry], target: TextIO) -> str:
    """Write one JSON object per entry, and the head in a last one; return the head."""
    head, number = START, 0
    for entry in entries:
        head, number = entry.hash, entry.seq
        target.write(json.dumps(asdict(entry) | {"body": entry.read()}, sort_keys=True) + "\n")
    target.write(json.dumps({"entries": number, "head": head}, sort_keys=True) + "\n")
    return head


def write_csv(entries: Iterable[Entry], target: TextIO) -> str:
    """Write a row per entry with its body as JSON, and the head in a last row; return the head."""
    writer = csv.writer(target)
    names = [field.name for field in fields(Entry)]
    writer.writerow(names)
    head = START
    for entry in entries:
        head = entry.hash
        writer.writerow([getattr(entry, name) for name in names])
    writer.writerow(["", "head", *[""] * (len(names) - 3), head])
    return head
