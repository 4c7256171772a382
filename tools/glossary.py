"""The words of tametail, in one place: terms, what they mean, and words that readers do not meet.

    python tools/glossary.py            writes docs/reference/glossary.md

``tests/test_words.py`` compares the page with this list, and looks for :data:`AVOIDED` in messages,
notes, templates, the command line's help, the README, tutorials and how-to guides.
"""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "glossary.md"

#: Terms in the order of the page, and what each means.
TERMS = {
    "Differential privacy (DP)": (
        "A guarantee about a randomized computation: adding, removing or replacing one privacy "
        "unit changes the probability of any result by a bounded factor."
    ),
    "Neighboring datasets": (
        "Two datasets that differ in one privacy unit. `add-remove`: one has a unit more "
        "(unbounded DP), so the number of units is protected, too. `replace-one`: one unit has "
        "other values (bounded DP), and the number of units is public."
    ),
    "Privacy unit": "Who or what is protected: one record, or one person with all their records.",
    "Person ID (privacy ID)": "The column that says which person a record belongs to: `person=`.",
    "Privacy definition": (
        "Pure DP (epsilon), approximate DP (epsilon and delta) or zero-concentrated DP (rho)."
    ),
    "Privacy loss, budget": (
        "The privacy loss is what a release spends. The budget is the limit on it. Smaller is more "
        "private: epsilon = 0.1 is strong, 1 is common, 10 is weak."
    ),
    "Budget ledger": (
        "A durable record of all charges, with a hash chain. It is charged before any data are "
        "read and refuses releases that exceed the budget (a privacy filter). The *head hash* is "
        "the hash of its last entry."
    ),
    "Public keys, private key selection": (
        "Groups are listed by you (`keys=`), independently of the data, or selected privately from "
        "those that occur (partition selection), which needs a delta."
    ),
    "Clipping bounds": (
        "Values outside are clipped to these limits. tametail chooses them privately."
    ),
    "Clipped (winsorized) mean": "The mean of the values after clipping.",
    "Log-scale histogram": (
        "Noisy counts in bins that double in width, by distance from a private median. It shows "
        "the spread, the tail and quantiles."
    ),
    "Signal, detectable above the noise": (
        "A noisy count is detectable if noise alone would rarely make it so large. Without a "
        "signal there is no reliable estimate."
    ),
    "Tail assumption": (
        "What you know about the data: `Moment(2, s)`, a maximum standard deviation, or "
        "`Bounded(low, high)`. A wrong assumption never affects privacy."
    ),
    "Confidence interval (CI)": (
        "*Guaranteed if ...*: its coverage is proved if the assumption is true. *Approximate (tail "
        "extrapolated)*: values beyond the clipping bounds are extrapolated from noisy counts, and "
        "the coverage is measured."
    ),
    "Range of the mean (`within=`)": (
        "A range that contains the mean, not the values. It does not clip anything."
    ),
    "n x epsilon": ("The effective sample size. Below about 500 the error of a mean may be large."),
    "Lognormal reference distribution": (
        "A lognormal distribution with sigma = 1, a typical shape of charges and incomes. Plans "
        "without an assumption show the error for it, in standard deviations."
    ),
    "Noisy answers (transcript)": (
        "All that a release is computed from, besides public inputs: `replay(plan, answers)` gives "
        "it again."
    ),
    "Release ID": (
        "An idempotency key: repeating a request with the same ID returns the stored result and "
        "spends nothing."
    ),
    "RMSE": "Root mean squared error.",
    "Oracle": "An estimator that knows the best clipping bounds; errors are compared with it.",
}

#: Words that readers do not meet, and what is said instead. Patterns of whole words.
AVOIDED = {
    r"un?told|told": "given; with no assumption",
    r"octaves?": "bin of the log-scale histogram",
    r"crowds?": "densest bin",
    r"knots?": "point of the curve",
    r"reckons? with": "accounts for",
    r"(?:stands?|stood|standing) out": "is detectable above the noise",
    r"(?:goes|go) on as seen": "tail extrapolated",
    r"unseen|as seen": "not detected",
    r"laws?": "distribution",
    r"notions?": "privacy definition",
    r"things?": "privacy unit, or its name",
    r"without ends": "unbounded",
    r"far off": "a large error",
    r"hardly": "almost no",
    r"for nothing|in vain": "at no cost; without effect",
    r"columns? apart": "column by column",
    r"speaks? against": "contradicts",
    r"takes? away": "export",
    r"goes? too far": "exceeds the budget",
    r"drowns?": "is mostly noise",
    r"at the expense of": "with part of the budget of",
    r"clip points?": "clipping bounds",
    r"winsorised": "winsorized, or clipped",
    r"neighbou?rs? of": "neighboring datasets",
    r"centre": "center",
}


def page() -> str:
    """Return the glossary."""
    lines = [
        "# Glossary\n",
        "Written by `tools/glossary.py`. Terms are those of OpenDP, Tumult, NIST",
    ]
    lines.append("SP 800-226 and statistics textbooks.\n")
    lines += ["| Term | Meaning |", "|---|---|"]
    lines += [f"| {term} | {meaning} |" for term, meaning in TERMS.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
