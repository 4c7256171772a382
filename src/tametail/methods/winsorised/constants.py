"""All tuned numbers of the winsorised mean, in the order of its pseudocode.

The pseudocode is in docs/explanation/method.md.

None of them touches privacy: they decide what is asked next and how answers are read. What each
one trades is said here; what halving it, doubling it or dropping its rule costs in the five cells
of ``benchmarks/accuracy.py`` was measured by ``benchmarks/constants.py`` and stands in
decision 0159. Behind a number stands the change of the
error (or of the width of an interval) in percent over all cells, halved and then doubled, with its
standard error. There were few trials, as that record says; figures below -12 are one
disaster that did not happen. Read constants as ``tuned.NAME``: that script changes them in place.
"""

from __future__ import annotations

from typing import Final

# --- the shares of the budget (shares.py) ---------------------------------------------------------

#: The share of the second moment for the interval is MOST_SPREAD up to n epsilon = SPREAD_FROM,
#: where its noise makes the interval wide, and falls with this power to LEAST_SPREAD.
LEAST_SPREAD: Final = 0.02  # width: 0, -0.2 (0.2)
MOST_SPREAD: Final = 0.06  # width: -5.1 (1.5), +7.1 (1.5)
SPREAD_FROM: Final = 1e4
SPREAD_POWER: Final = 0.3  # width: -0.2 (0.2), -0.2 (0.2)

#: The reference law of the shares is lognormal with this sigma: between light and heavy tails.
SIGMA: Final = 1.5  # -26.6 (1.9), -12.5 (3.5)

#: Records are taken to be clipped at the rank of so many standard deviations of the noise on a
#: count: of Laplace noise, and of Gaussian noise, which is far smaller. More for the tail if large.
CLIP_RANK: Final = 0.8  # -0.3 (0.7), -21.5 (2.5)
GAUSSIAN_CLIP_RANK: Final = 1.4  # -0.1 (0.4), +1.2 (0.8)

#: Squared error when the centre fails, in squared medians, and nats per factor e: more for the
#: centre if large. Below an n epsilon of HOPELESS a failure is seldom noticed, or cannot be made
#: good, and costs more.
FAILURE: Final = 0.3  # +0.0 (0.4), -27.5 (1.7)
NATS: Final = 4.0  # -22.7 (2.6), -26.9 (1.8)
HOPELESS: Final = 500.0

#: The shares that are tried. With less than a quarter for the tail, real columns did worse than
#: predicted, and so did intervals.
LEAST_CENTRE: Final = 0.01
MOST_CENTRE: Final = 0.6
LEAST_TAIL: Final = 0.25
MOST_TAIL: Final = 0.5
LEAST_SUM: Final = 0.1

#: The centre gets what makes it stand out by so many nats, up to MOST_ALONE of the budget: about 12
#: for the digits of usual numbers, and the others are the chance of a lost centre. Safety at an n
#: epsilon below 900 against the little that can be seen there.
NEEDED_NATS: Final = 24.0
MOST_ALONE: Final = 0.9

#: If a scale is told, a range of some scales is found first, unless the centre stands out by
#: SETTLED_NATS more than its digits take anyway. The range's share makes a lost one add no more to
#: the error than HARMLESS scales, or USUAL_ERROR over n epsilon. Then the centre needs fewer nats:
#: 4 for the digits, and one that is lost inside of the range costs less; at most MOST_INNER.
SETTLED_NATS: Final = 36.0
HARMLESS: Final = 0.05
USUAL_ERROR: Final = 20.0
INNER_NATS: Final = 15.0
MOST_INNER: Final = 0.3

#: The private count is asked for again if it is below so many scales of its noise; then with a
#: noise of a SHARP_COUNT-th of it, if that takes between these parts of the budget. The first one
#: may be too large by COUNT_DOUBT scales; and so may the second, for all that it matters.
CLEAR_COUNT: Final = 12.0
SHARP_COUNT: Final = 10.0
LEAST_RECOUNT: Final = 0.05
MOST_RECOUNT: Final = 0.12
COUNT_DOUBT: Final = 3.0

#: Looking for clip points closer than bounds is worth its price if records that stand out of the
#: noise on the octave counts need be at most this part of all: sight against the price of looking.
WORTH_A_LOOK: Final = 0.2

#: The same beside a scale, which is nearer to what records show than bounds are.
WORTH_A_LOOK_BY_SCALE: Final = 0.3

#: Between bounds the centre stands out by so many nats and no more, down to LEAST_CENTRE: there are
#: fewer candidates, and a lost one is noticed or costs the textbook's noise. With 16 one centre in
#: 300 was lost where records lay in a hundred thousandth of their bounds (decision 0210).
BOUNDED_NATS: Final = 20.0

#: If the records are bounded, the sum and the squares that it may spare get at least this share,
#: as far as the tail can pay for it and keeps this part of its own: what a look may cost where it
#: shows nothing, against sight.
BOUNDED_SUM: Final = 0.76
BOUNDED_TAIL: Final = 0.5

# --- the centre -----------------------------------------------------------------------------------

#: Records that the centre looks at; more are sampled down to between this and twice this. Of MANY
#: records half as many will do: their sample may spend far more. Speed against ranks.
CENTRE_SAMPLE: Final = 1024  # +0.1 (0.1), +0.3 (0.2)
MANY: Final = 1 << 17

#: So many records the sample is expected to have at most, whatever a noisy count leaves possible.
LARGEST_SAMPLE: Final = 1 << 20

# --- the octave counts (counts.py) ----------------------------------------------------------------

#: Octaves of distances that are told apart; what lies beyond counts at the end nodes. If the caller
#: says how far records are spread, one in four billion at most lies beyond so many more octaves.
FIRST_OCTAVE: Final = -128
LAST_OCTAVE: Final = 127
OCTAVES_BEYOND: Final = 32

#: Octaves that have a node each, below and above that of the centre and that of 1: noise on a node
#: takes time. Beyond them four octaves share one (decision 0151).
FINE_BELOW: Final = 40
FINE_ABOVE: Final = 48

# --- a misplaced centre ---------------------------------------------------------------------------

#: If this part of the records lies at the same distance, on one side, the centre is misplaced.
#: Around a median it is a half: the nearer to 1, the more misplaced centres go unnoticed.
NEARLY_ALL: Final = 0.9  # 0, -27.9 (1.5)

#: Noise scales that a window seldom exceeds where there are no records, among hundreds of nodes.
USUAL_NOISE: Final = 14.0  # 0, -27.9 (1.5)

#: A warning that the centre is misplaced is due even if noise took so many scales from the count of
#: nearly all, and raised a window on the other side to so many: five of 20,000 releases of odd data
#: misled for want of it (decision 0124).
HIDES_NEARLY_ALL: Final = 5.0
#: Then a side is seen from this part of the usual threshold on: both together may have stood out.
PERHAPS_CLEAR: Final = 0.7
LARGE_NOISE: Final = 17.0

#: The new centre is looked for so far on either side of where the records seem to be, in octaves'
#: lower ends: a soft count tells distances to within a 32nd.
ELSEWHERE: Final = 0.125  # 0, 0

#: A noisy count is that much too large with probability UNUSUAL; but it is not believed to be less
#: than the part CERTAIN of what it says.
UNUSUAL: Final = 0.001  # 0, 0
CERTAIN: Final = 0.75

#: How the sum's budget is divided if the first centre was misplaced: then digits are what it takes.
NEW_CENTRE: Final = {"centre": 0.3, "tail": 0.28, "sum": 0.42}

# --- anchors: up to where records are seen (clip.py) ----------------------------------------------

#: Nodes that are looked at together, and the noise scales at which they stand out: false alarms
#: against sight. With THRESHOLD + (octaves from 2**LIKELY_OCTAVE) / OCTAVES_PER_SCALE the chance
#: of a false alarm in all octaves is 3e-6.
WINDOW: Final = 4
THRESHOLD: Final = 22.0  # +315.2 (3.1), +9.0 (1.4)
GAUSSIAN_THRESHOLD: Final = 16.0  # +25.6 (3.6), +0.0 (0.3)
LIKELY_OCTAVE: Final = 5
OCTAVES_PER_SCALE: Final = 12  # +0.2 (0.2), 0

#: Both sides together stand out by so many noise scales more than one side alone; as unlikely.
TOGETHER: Final = 6.0
GAUSSIAN_TOGETHER: Final = 6.6

#: Where records of one side stand out, or of both together, a side that does not needs only BESIDE
#: noise scales, from BESIDE_CLOSER octaves closer to BESIDE_FARTHER farther, and BESIDE_COST more
#: for every octave farther: the chance of a false alarm is then 1.4%, and it costs little. Not
#: tuned; compared on 22 columns and eight laws (decision 0135).
BESIDE: Final = 9.0
BESIDE_COST: Final = 1.4
BESIDE_CLOSER: Final = 8
BESIDE_FARTHER: Final = 6

#: An anchor moves up by less than GAP octaves if records stand out there by CLOSER noise scales,
#: and CLOSER_COST more for every factor e by which its noise would enlarge the variance: from where
#: the tail is seen less clearly, but nearer to its end. While that is in the body of the data (up
#: to n epsilon = CLOSER_UNTIL) it is worth it; with ever more records, ever less.
CLOSER: Final = 8.0  # +1.4 (0.5), +2.0 (0.9)
CLOSER_COST: Final = 2.0  # -0.2 (0.2), -0.1 (0.2)
CLOSER_UNTIL: Final = 1e4
CLOSER_POWER: Final = 0.4  # +0.4 (0.2), -0.2 (0.3)

#: From GAP to RAISE_OCTAVES above, records would be a group across a gap, which GROUP nodes hold.
#: It must stand out by RAISE noise scales, and by RAISE_COST for every factor e by which a clip
#: point at its far end, RAISE_REACH times as far, would enlarge the variance. One that could be
#: seen below n epsilon = RARE_FROM would be a large part of the data, for a group so far away, and
#: is believed the less: by up to RAISE_RARE more, a tenth of that n on.
GAP: Final = 4  # -0.1 (1.0), -0.1 (0.1)
RAISE_OCTAVES: Final = 8  # -0.1 (0.1), +0.1 (0.1)
GROUP: Final = 2
RAISE: Final = 5.0  # +0.7 (0.4), -0.1 (0.1)
RAISE_COST: Final = 3.6  # +0.4 (0.6), -0.1 (0.1)
RAISE_REACH: Final = 2.0  # +0.5 (0.6), -0.1 (0.1)
RAISE_RARE: Final = 3.0  # +0.0 (0.0), 0
RARE_FROM: Final = 1e5

# --- the curves (curves.py) -----------------------------------------------------------------------

#: Nodes that are looked at, relative to the anchor: more evidence against more misfit.
NODES_BELOW: Final = 2  # +1.4 (0.8), +1.2 (2.6)
NODES_ABOVE: Final = 8  # +2.8 (0.5), +0.9 (0.4)

#: Clip points per octave, at equal distances: all on edges of sixteenths; and how many octaves
#: above the anchor they may lie, whatever the curves promise.
FINE: Final = 8
FARTHEST: Final = 6  # +0.5 (1.3), -0.0 (0.0)

#: The curves: slopes at the anchor, curvatures with their prior weights, and records beyond the
#: anchor, in units of the noise: 2^-3 to 2^32, coarser where it is clear.
START_SLOPES: Final = (0.45, 0.7, 0.95, 1.2, 1.6, 2.0, 2.6, 3.5, 5.0, 8.0)
CURVATURES: Final = {0: 0.3, 0.3: 0.2, 0.7: 0.15, 1.5: 0.1, 3: 0.08, 7: 0.07, 15: 0.05, 40: 0.05}
LEVELS: Final = ((-3, 7, 0.5), (7, 16, 1), (16, 34, 2))

#: Misfit of the curves to real tails, relative to the predicted count: trust in the counts near
#: the anchor against trust in the shape.
MISFIT: Final = 0.27  # -2.4 (0.5), +0.5 (0.6)

#: Tails are expected to be steeper where the counts end deep in them (n epsilon of 10,000 or more)
#: than where they end in the body (1,000): a curve with the start slope s has the prior weight
#: s^depth, depth = DEPTH log10(n epsilon) - DEPTH_SHIFT, at most MOST_DEPTH either way.
DEPTH: Final = 0.8  # +0.1 (0.4), -1.1 (0.3)
DEPTH_SHIFT: Final = 2.8
MOST_DEPTH: Final = 0.4  # -0.2 (0.2), +0.1 (0.1)

#: A curve weighs by its likelihood over (its best mean squared error) to this power: a little
#: more than 1, so that nearly free precautions against heavy tails are taken.
FAIRNESS: Final = 1.15  # +8.5 (1.9), +1.2 (2.4)

#: The part of the expected excess beyond the clip point that is added back: bias against variance.
CORRECTION: Final = 0.65  # +0.1 (0.6), +4.6 (1.0)

#: How probable it is beforehand that both sides have the same tail.
ALIKE: Final = 0.05  # +1.1 (0.3), -0.6 (0.3)

#: Curves of less than this part of the largest weight are left out where it costs time.
NEGLIGIBLE: Final = 1e-7

# --- the pair of clip points (clip.py) ------------------------------------------------------------

#: If both sides have the same tail, what clipping takes away on one side still differs from that on
#: the other, by about this part: less is better for even laws, more for sides that only look alike.
ASYMMETRY: Final = 0.2

#: How many ranks the choice of the centre errs by, times its rate.
CHOICE: Final = 2.0  # -0.0 (0.0), -0.0 (0.1)

#: If an interval for the mean is wanted, the thin side is at least this part of the other: a little
#: noise against width.
THIN_SIDE: Final = 0.03

#: Where to clip if nothing stands out, over the distance where the worst bias and noise are least.
HIDDEN: Final = 0.75  # 0, 0

#: If nothing stands out between bounds, or on one side, the mean is expected so far from their
#: middle (or from where it seems to be), as a part of their width: it decides how much of the noise
#: the count gets, under add-remove. More is safer where the mean is at a bound, less in the middle.
UNTOLD: Final = 0.35

#: Between bounds records are seen from this part of the usual threshold on: a false alarm, one in
#: 30,000 releases, costs no more than the noise of records that are clamped to the bounds.
BETWEEN_BOUNDS: Final = 0.82

#: If one side of the centre shows nothing, its bound is a clip point up to so many times the other
#: one's distance: noise against what may hide there.
NOT_MUCH_FARTHER: Final = 8.0

#: Or records of that side that stand out by this part of the usual threshold: a false alarm costs
#: no more than the textbook's noise there.
HALF_AS_CLEARLY: Final = 0.5

#: Clip points that are together this part of the bounds' width apart, or more, are moved to them:
#: up to twice the noise against records that are cut off, which 18 noise scales of ones among zeros
#: were in one release of 350.
NEARLY_AS_WIDE: Final = 0.5

#: Clip points that serve an interval lie beyond its reference by this part of the scale: where the
#: mean is, counts tell roughly, and a record that is clipped costs more than noise.
BEYOND_REFERENCE: Final = 0.25

#: Noise of this part of the variance of the sum is worth a narrower interval between bounds. Beside
#: a scale the plan has seen to that (SMALL_NOISE_BY_SCALE allows for twice the variance), and a
#: quarter of the variance is enough for the counts to show.
AFFORDABLE: Final = 2.0
AFFORDABLE_BY_SCALE: Final = 8.0

# --- the sum (sums.py) ----------------------------------------------------------------------------

#: The mean is expected within this part of the offset (and its standard error) from the lattice's
#: centre, not nearer than the side over NEAREST: it decides how much of the noise the count gets.
OFFSET_DOUBT: Final = 0.25  # -0.2 (0.1), +0.3 (0.1)
NEAREST: Final = 1000  # +0.0 (0.0), +0.0 (0.0)

#: Under replace-one a count beside the sum that is below the rows by up to so many standard
#: deviations of its noise is taken to be that of the rows, and by more than so many as it is:
#: columns of which no cell is missing, against those that lack a few.
FEW_MISSING: Final = 2.0
CLEARLY_MISSING: Final = 5.5

# --- the second look (estimate.py, clip.py, sums.py) ----------------------------------------------

#: The part of the sum's budget that goes to the number of records: between these, so that its noise
#: is a SHARP_COUNT-th of it (decision 0211). None if an earlier count has less than twice of that.
SECOND_COUNT_SHARE: Final = 0.03  # 0, 0
MOST_SECOND_COUNT: Final = 0.3

#: Between bounds the first look may be cheap, so that little is lost if they are the best clip
#: points. If it has less than this part of what it usually has, and finds clip points that are less
#: than this part of the bounds' width apart, this part of the sum's budget is for a second look:
#: both are then as sharp as the one where nothing is told (decision 0223).
CUT_SHORT: Final = 0.7
LOOSE: Final = 0.25
CLOSER_LOOK: Final = 0.35

#: Two averaged Laplace noises have lighter tails: as safe at a threshold that is lower by so many
#: scales times 1 - p^2, if the larger has the part p of the variance. That bounds false alarms by
#: 3e-6, as at the first look (tests/estimators/test_false_alarms.py). Less would see less.
LOWER_THRESHOLD: Final = 4.0

#: What may hide beyond the top node counts as noise, of so small a probability.
HIDDEN_RISK: Final = 0.001

# --- the interval (interval.py, reference.py, beyond.py; inequalities/risk.py divides the risk) ---

#: Records that a plan expects beyond a clip point, times epsilon, the nodes beyond it, and the
#: risk at which it looks at their noise: they place the reference.
EXPECTED_BEYOND: Final = 9.0  # width: -1.8 (0.2), +1.4 (0.3)
EXPECTED_NODES: Final = 5  # width: -3.4 (0.4), +6.7 (0.5)
EXPECTED_RISK: Final = 0.001

#: The reference is this much wider than what would be best if that came true: a clip point
#: beyond the reference costs more than one that is closer.
WIDER: Final = 1.4  # width: +23.7 (1.1), +11.0 (2.3)

#: Noise up to this part of the standard error, by assumption, is bounded together with sampling.
#: The quantile of both together, in standard deviations, places the reference where clip points can
#: be beyond it.
SMALL_NOISE: Final = 0.7
SMALL_NOISE_BY_SCALE: Final = 1.0
USUAL_QUANTILE: Final = 2.5

#: The reference is the closest whose interval promises to be at most this much wider than the
#: narrowest: noise of clip points beyond it is part of the value's error (decision 0261).
NEARLY_NARROWEST: Final = 1.05

#: How often interval and variance improve each other, unless a round gains too little.
ROUNDS: Final = 30
ENOUGH: Final = 0.999

#: Where the risk of what lies beyond goes: to bounds that locate the mean and the shares outside
#: the reference, and, if the mean is located by the sum or not, to the counts; between bounds to
#: those of one look and of two (docs/explanation/interval-proofs.md).
LOCATING: Final = 1 / 40
OUTSIDE: Final = 1 / 20
LOCATED: Final = 0.75
UNLOCATED: Final = 0.1
EITHER_LOOK: Final = 0.5

#: The part of the spread's risk that its sampling has; the noise on the squares has the rest.
SQUARES_SAMPLED: Final = 0.75

#: Squares and cubes of distances as the soft counts have them are so many times too large if
#: distances are spread evenly on a log scale; the squares are raised by so many standard deviations
#: of their noise, and what their mean leaves of them is at least this part (calibrated.py).
SOFT_SQUARE: Final = 0.93
SOFT_CUBE: Final = 0.82
SQUARES_RAISED: Final = 1.0
LEAST_VARIANCE: Final = 0.05

#: Skewness of a mean that the correction can handle, and the least factor of the shorter side.
MOST_SKEWNESS: Final = 1.0
LEAST_SIDE: Final = 0.5

#: Points that stand for what may lie beyond a clip point, and the weight of the last: the curves
#: do not tell what is rarer, so that at higher confidence an end moves by noise and sampling alone
#: (posterior.py).
POINTS: Final = 24
LAST_POINT: Final = 0.01

#: A mean that is asked for exists, so an interval believes less in power laws without one, by these
#: factors for their slopes: far beyond what is seen they fall like T^-LAST_SLOPE. If they have more
#: than the part ENDLESS of the belief all the same, the interval has no end on that side
#: (decision 0260).
BELIEF: Final = {0.45: 0.1, 0.7: 0.1, 0.95: 0.3}
LAST_SLOPE: Final = 1.3
ENDLESS: Final = 0.25

#: A group of records across a gap: how likely it is beforehand at an n epsilon of GROUP_USUAL, the
#: power with which that grows, and how likely it is at most; how fast it falls with every octave
#: and how many of them are looked at; how many noise scales it may have, and which part of it
#: counts at the upper node. If the counts make it GROUP_LIKELY times likelier it is worth a
#: warning: less than 1 release in 50 has a false one.
GROUP_PRIOR: Final = 0.015
GROUP_USUAL: Final = 1e4
GROUP_MORE: Final = 0.3
MOST_GROUP: Final = 0.03
GROUP_FALL: Final = 0.4
GROUP_OCTAVES: Final = 24
GROUP_SIZES: Final = (1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 13.0, 20.0, 30.0)
GROUP_PARTS: Final = (0.15, 0.5, 0.85)
GROUP_LIKELY: Final = 6.0

#: A value that within= holds back by more than an error of this probability contradicts it.
HELD_BACK: Final = 1e-3

#: Records beyond what a moment allows that make it doubtful, in standard deviations of their count.
DOUBT: Final = 5.0

#: The probability of a false alarm at one octave, if a moment is compared with what was assumed:
#: less is surer, and sees less.
DOUBT_RISK: Final = 1e-4

# --- what else is shown (seen.py) -----------------------------------------------------------------

#: Octaves beyond which all but this part of the records of a side lie say nothing.
NEAREST_SHARE: Final = 0.02

#: A tail ends, rather than falls, if its power grows by this much from one octave to the next.
SUDDEN_END: Final = 3.0

# --- predictions (predict.py) ---------------------------------------------------------------------

#: Below this n * epsilon the steps before the sum often fail.
FEASIBLE: Final = 500.0

#: The part of usual records that lies within one window of octaves from their median.
IN_A_WINDOW: Final = 0.85

#: A plan says so if records beside a common value must be more than this part to be seen.
HIDDEN_SHARE: Final = 0.02

#: A group of far records that is this many noise scales of the octave counts may go unseen.
UNSEEN: Final = 9.0

#: What the prior of the median costs beside the digits of where it is, at most usually.
PRIOR_NATS: Final = 4.0

#: Noise on the count beside the sum, as a part of that on the sum.
COUNT_NOISE: Final = 0.1
