"""All tuned numbers of the winsorized mean, in the order of its pseudocode.

The pseudocode is in docs/explanation/method.md.

None of them touches privacy: they decide what is asked next and how answers are read. What each
one trades is said here. Behind some stands what it costs to halve and to double it: the change of
the error in percent, with its standard error, over the five cells of ``benchmarks/accuracy.py``, by
``benchmarks/constants.py``. Those that matter most were measured with version 0.3.0 on 2026-11-19
(docs/evidence/constants.md); those marked "0.1.0" on 2026-11-16, before decisions 0260, 0263 and
0268 changed rules around them. Read constants as ``tuned.NAME``: that script changes them in place.
"""

from __future__ import annotations

from typing import Final

# --- the shares of the budget (budget_split.py) ---------------------------------------------------

#: The share of the second moment that a proved interval needs: its width against noise on the sum.
SPREAD_SHARE: Final = 0.06

#: The center gets what makes it stand out by so many nats, at least and at most these shares: about
#: 12 for the digits of usual numbers, and the others are the chance of a lost center. Safety
#: against the little that can be seen below an n epsilon of 900.
CENTER_NATS: Final = 26.0  # -1.2 (0.6), +1.5 (0.5)
LEAST_CENTER: Final = 0.01
MOST_CENTER: Final = 0.9

#: The tail's share of what the center leaves: where to clip against noise on the sum. Whatever is
#: asked once more has the same part of what pays for it: a second look, a new center, then the look
#: around that; and no count for the plan has more (decision 0285).
TAIL_SHARE: Final = 0.3  # +6.2 (0.9), +5.5 (0.7)

#: If a scale is told, a range of some scales is found first. Its share makes a lost one add no
#: more to the error than HARMLESS scales over n epsilon. Then the center needs fewer nats, at most
#: a third of its largest share: 4 for the digits, and one that is lost inside of the range costs
#: less.
HARMLESS: Final = 20.0
INNER_NATS: Final = 15.0

#: A count is sharp if it is so many scales of its noise: of a thousand records it must not be off
#: by a thousand. One that is not is asked for again, and so is that of a second look, with what
#: makes it sharp: against the budget of all that follows.
SHARP_COUNT: Final = 10.0

#: Looking for clip points closer than bounds is worth its price if records that stand out of the
#: noise on the octave counts need be at most this part of all: sight against the price of looking.
WORTH_A_LOOK: Final = 0.186

#: The same beside a scale, which is nearer to what records show than bounds are.
WORTH_A_LOOK_BY_SCALE: Final = 0.28

#: If the records are bounded, the first look has this part of the tail's share: what a look may
#: cost where it shows nothing, against sight.
BOUNDED_TAIL: Final = 0.5

# --- the center -----------------------------------------------------------------------------------

#: Records that the center looks at; more are sampled down to between this and twice this. Speed
#: against ranks.
CENTER_SAMPLE: Final = 1024  # 0.1.0: +0.1 (0.1), +0.3 (0.2)

#: So many records the sample is expected to have at most, whatever a noisy count leaves possible.
LARGEST_SAMPLE: Final = 1 << 20

# --- the tail histogram (tail_histogram.py) -------------------------------------------------------

#: Octaves of distances that are told apart, on either side of 1; what lies beyond counts at the end
#: nodes. If the caller says how far records are spread, one in four billion at most lies beyond so
#: many more octaves.
OCTAVES: Final = 128
OCTAVES_BEYOND: Final = 32

#: Octaves that have a node each, below and above that of the center and that of 1: noise on a node
#: takes time. Beyond them four octaves share one (decision 0151).
FINE_BELOW: Final = 40
FINE_ABOVE: Final = 48

# --- a misplaced center ---------------------------------------------------------------------------

#: Nearly all records: if this part of them lies at the same distance, on one side, the center is
#: misplaced. Around a median it is a half: the nearer to 1, the more misplaced centers go
#: unnoticed.
NEARLY_ALL: Final = 0.9

#: The new center is looked for so far on either side of where the records seem to be, in octaves'
#: lower ends: a soft count tells distances to within a 32nd.
ELSEWHERE: Final = 0.125  # 0.1.0: 0, 0

#: What is this improbable is left out of account: how much too large a noisy count may be, what
#: noise may hide of nearly all records or at a node, and by how much within= may hold a value back.
RARE: Final = 0.001  # 0.1.0: 0, 0

# --- anchors: up to where records are seen (clipping.py) ------------------------------------------

#: Nodes that are looked at together, and the chance that noise alone exceeds the detection
#: threshold of such a window: false alarms against sight. In all octaves it is 3e-6.
WINDOW: Final = 4
FALSE_ALARM: Final = 5e-9

#: Next to what is detected, so many noise scales are believed, as a false alarm costs little there
#: and happens in 2%: on the other side; inside of the window; in a group across a gap. A plan
#: assumes that up to so many go undetected.
WEAK_THRESHOLD: Final = 9.0  # +2.3 (0.7), -0.3 (0.7)

#: Octaves next to the highest detected one: a group across a gap may lie so many above it, a weak
#: side so many below, and curves are fitted to so many.
NEARBY: Final = 8

#: The highest detected node moves up inside of its window, to where a window holds WEAK_THRESHOLD
#: noise scales: curves are then fitted nearer to the end of the tail, by noisier counts. That pays
#: while the node is in the body of the data. Beyond this n epsilon more scales are asked for, by
#: the root of how much larger it is: else power laws without a mean were taken for laws with one
#: (decision 0263).
CLOSER_UNTIL: Final = 1e4  # -0.4 (0.3), -0.1 (0.1)

#: The highest detected node moves up across a gap, to a group of records in one octave, if that
#: holds so many noise scales for every factor e by which a clip point there would enlarge the
#: variance of the sum, and WEAK_THRESHOLD at least.
RAISE_COST: Final = 6.0  # -1.5 (0.3), +0.1 (0.4)

# --- the curves (tail_models.py) ------------------------------------------------------------------

#: Nodes that are looked at below the anchor: more evidence against more misfit.
NODES_BELOW: Final = 2  # 0.1.0: +1.4 (0.8), +1.2 (2.6)

#: Clip points per octave, at equal distances: all on edges of sixteenths; and how many octaves
#: above the anchor they may lie, whatever the curves promise.
FINE: Final = 8
FARTHEST: Final = 6  # 0.1.0: +0.5 (1.3), -0.0 (0.0)

#: The curves: slopes at the anchor, curvatures with their prior weights, and records beyond the
#: anchor, in units of the noise: 2^-3 to 2^32, coarser where it is clear.
START_SLOPES: Final = (0.45, 0.7, 0.95, 1.2, 1.6, 2.0, 2.6, 3.5, 5.0, 8.0)
CURVATURES: Final = {0: 0.3, 0.3: 0.2, 0.7: 0.15, 1.5: 0.1, 3: 0.08, 7: 0.07, 15: 0.05, 40: 0.05}
LEVELS: Final = ((-3, 7, 0.5), (7, 16, 1), (16, 34, 2))

#: Misfit of the curves to real tails, relative to the predicted count: trust in the counts near
#: the anchor against trust in the shape.
MISFIT: Final = 0.27  # +1.0 (0.4), +0.6 (0.3)

#: A curve weighs by its likelihood over (its best mean squared error) to this power: a little
#: more than 1, so that nearly free precautions against heavy tails are taken.
FAIRNESS: Final = 1.15  # +11.7 (1.0), +0.3 (0.8)

#: The part of the expected excess beyond the clip point that is added back: bias against variance.
CORRECTION: Final = 0.65  # +1.1 (0.2), +0.1 (0.5)

#: How probable it is beforehand that both sides have the same tail.
ALIKE: Final = 0.05  # +1.1 (0.2), -0.7 (0.1)

# --- the pair of clip points (clipping.py) --------------------------------------------------------

#: If both sides have the same tail, what clipping takes away on one side still differs from that on
#: the other, by about this part: less is better for even tails, more for sides that only look alike
#: and for even laws, whose records beyond a clip point follow the error of the center.
ASYMMETRY: Final = 0.35

#: If an interval for the mean is wanted, the thin side is at least this part of the other: a little
#: noise against width.
THIN_SIDE: Final = 0.03

#: Where to clip if nothing stands out, over the distance where the worst bias and noise are least.
HIDDEN: Final = 0.75  # 0.1.0: 0, 0

#: If nothing stands out between bounds, or on one side, the mean is expected so far from their
#: middle (or from where it seems to be), as a part of their width: it decides how much of the noise
#: the count gets, under add-remove. More is safer where the mean is at a bound, less in the middle.
UNTOLD: Final = 0.35

#: If one side of the center shows nothing between bounds, records of it that stand out by this part
#: of the usual threshold are not clipped: a false alarm costs no more than the textbook's noise.
HALF_AS_CLEARLY: Final = 0.5

#: Clip points that are this part of the bounds' width apart, or more, are moved to the bounds: at
#: most twice the noise, but no record is cut off. (Without that, one release of 350 of zeros with
#: a few ones, 18 noise scales of them, cut off all ones.) If they are closer, a second look has the
#: part TAIL_SHARE of the sum's budget: both together are about as sharp as the one look where
#: nothing is told (decision 0223).
NEARLY_AS_WIDE: Final = 0.5

#: Clip points that serve an interval lie beyond its reference by this part of the scale: where the
#: mean is, counts tell roughly, and a record that is clipped costs more than noise.
BEYOND_REFERENCE: Final = 0.25

#: Nothing within the reference of a proved interval is clipped if the variance of the noise is then
#: at most so many times that of the records' sum: between bounds, and beside a scale. There the
#: plan has already chosen a reference with little noise, and what the counts show of the variance
#: may be a fraction of it.
AFFORDABLE: Final = 2.0
AFFORDABLE_BY_SCALE: Final = 8.0

# --- the sum (sums.py) ----------------------------------------------------------------------------

#: The mean is expected within this part of the offset (and its standard error) from the lattice's
#: center, not nearer than the side over NEAREST: it decides how much of the noise the count gets.
OFFSET_DOUBT: Final = 0.25  # 0.1.0: -0.2 (0.1), +0.3 (0.1)
NEAREST: Final = 1000  # 0.1.0: +0.0 (0.0), +0.0 (0.0)

# --- the guaranteed interval (and tail_assumption.py; inequalities/risk.py divides the risk) ------

#: Noise up to the standard error, by assumption, is bounded together with sampling. The quantile of
#: both together, in standard deviations, places the reference where clip points can be beyond it.
USUAL_QUANTILE: Final = 2.5

#: The reference is the closest whose interval promises to be at most this much wider than the
#: narrowest: noise of clip points beyond it is part of the value's error (decision 0261).
NEARLY_NARROWEST: Final = 1.05

#: How often interval and variance improve each other, unless a round gains too little.
ROUNDS: Final = 30
ENOUGH: Final = 0.999

#: Where two bounds share a risk, the one that matters more has this part: of the spread's risk the
#: sampling of the squares, next to the noise on them; of that of what lies beyond the counts, if
#: the mean is located by the sum (docs/explanation/interval-proofs.md).
GREATER_PART: Final = 0.75

#: Where else the risk of what lies beyond goes: to bounds that locate the mean, the shares outside
#: the reference, and counts if the mean is not located by the sum.
LOCATING: Final = 1 / 40
OUTSIDE: Final = 1 / 20
UNLOCATED: Final = 0.1

#: Squares and cubes of distances as the soft counts have them are so many times too large if
#: distances are spread evenly on a log scale; what their mean leaves of the squares is at least
#: this part.
SOFT_SQUARE: Final = 0.93
SOFT_CUBE: Final = 0.82
LEAST_VARIANCE: Final = 0.05

#: Skewness of a mean that the correction can handle, and the least factor of the shorter side.
MOST_SKEWNESS: Final = 1.0
LEAST_SIDE: Final = 0.5

#: Points that stand for what may lie beyond a clip point, and the weight of the last: the curves
#: do not tell what is rarer, so that at higher confidence an end moves by noise and sampling alone
#: (approximate_interval.py).
POINTS: Final = 24
LAST_POINT: Final = 0.01

#: A mean that is asked for exists, so an interval believes less in power laws without one, by these
#: factors for their slopes: far beyond what is seen they fall like T^-LAST_SLOPE. If they have more
#: than the part ENDLESS of the belief all the same, the interval has no end on that side
#: (decision 0260).
BELIEF: Final = {0.45: 0.1, 0.7: 0.1, 0.95: 0.3}
LAST_SLOPE: Final = 1.3
ENDLESS: Final = 0.25

#: A group of records across a gap: how likely it is beforehand at an n epsilon of CLOSER_UNTIL, the
#: power with which that grows, and how likely it is at most; how fast it falls with every octave
#: and how many of them are looked at; how many noise scales it may have, and which part of it
#: counts at the upper node. If the counts make it GROUP_LIKELY times likelier it is worth a
#: warning: about 1 release in 50 has a false one. If they do not, they are left aside, and it falls
#: faster, by UNSEEN_FALL: every octave adds as much to what is expected (decision 0290).
GROUP_PRIOR: Final = 0.015
GROUP_MORE: Final = 0.3
MOST_GROUP: Final = 0.03
GROUP_FALL: Final = 0.4
GROUP_OCTAVES: Final = 24
GROUP_SIZES: Final = (1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 13.0, 20.0, 30.0)
GROUP_PARTS: Final = (0.15, 0.5, 0.85)
GROUP_LIKELY: Final = 6.0
UNSEEN_FALL: Final = 1.0

#: Standard deviations that chance seldom exceeds: records beyond what a moment allows make it
#: doubtful; and under replace-one a count beside the sum that is below the rows by more than so
#: many is taken as it is, by up to half of them to be that of the rows: columns of which no cell is
#: missing, against those that lack a few.
DOUBT: Final = 5.0

#: The probability of a false alarm at one octave, if a moment is compared with what was assumed:
#: less is surer, and sees less.
DOUBT_RISK: Final = 1e-4

# --- predictions (prediction.py) ------------------------------------------------------------------

#: Below this n * epsilon the steps before the sum often fail.
FEASIBLE: Final = 500.0

#: A plan says so if records beside a common value must be more than this part to be seen.
HIDDEN_SHARE: Final = 0.02

#: What the prior of the median costs beside the digits of where it is, at most usually.
PRIOR_NATS: Final = 4.0

#: Noise on the count beside the sum, as a part of that on the sum.
COUNT_NOISE: Final = 0.1
