"""All tuned numbers of the winsorised mean, in the order of its pseudocode (docs/mathematics).

None of them touches privacy: they decide what is asked next and how answers are read. What each
one trades is said here; what halving it, doubling it or dropping its rule costs in the five cells
of ``benchmarks/accuracy.py`` was measured by ``benchmarks/constants.py`` and stands in
``docs/mathematics/constants.md``, with the date. Read them as ``tuned.NAME``: that script changes
them in place.
"""

from __future__ import annotations

from typing import Final

# --- the shares of the budget (shares.py) ---------------------------------------------------------

#: The private count of add-remove, when the caller gives no n: a better plan against less budget.
COUNT_SHARE: Final = 0.015

#: The share of the second moment for the interval is MOST_SPREAD up to n epsilon = SPREAD_FROM,
#: where its noise makes the interval wide, and falls with this power to LEAST_SPREAD.
LEAST_SPREAD: Final = 0.02
MOST_SPREAD: Final = 0.06
SPREAD_FROM: Final = 1e4
SPREAD_POWER: Final = 0.3

#: The reference law of the shares is lognormal with this sigma: between light and heavy tails.
SIGMA: Final = 1.5

#: Records are taken to be clipped at the rank of so many standard deviations of the noise on a
#: count: of Laplace noise, and of Gaussian noise, which is far smaller. More for the tail if large.
CLIP_RANK: Final = 0.8
GAUSSIAN_CLIP_RANK: Final = 1.4

#: Squared error when the centre fails, in squared medians, and nats per factor e: more for the
#: centre if large. Below an n epsilon of HOPELESS a failure is seldom noticed, or cannot be made
#: good, and costs more.
FAILURE: Final = 0.3
NATS: Final = 4.0
HOPELESS: Final = 500.0

#: The shares that are tried. With less than a quarter for the tail, real columns did worse than
#: predicted, and so did intervals.
LEAST_CENTRE: Final = 0.01
MOST_CENTRE: Final = 0.6
LEAST_TAIL: Final = 0.25
MOST_TAIL: Final = 0.5
LEAST_SUM: Final = 0.1

# --- the centre -----------------------------------------------------------------------------------

#: Records that the centre looks at; more are sampled down to between this and twice this. Of MANY
#: records half as many will do: their sample may spend far more. Speed against ranks.
CENTRE_SAMPLE: Final = 1024
MANY: Final = 1 << 17

#: Far beyond any data, and far within what the sampler can count.
MOST_HALVINGS: Final = 40

# --- the octave counts (counts.py) ----------------------------------------------------------------

#: Octaves of distances that are told apart; what lies beyond counts at the end nodes. If the caller
#: says how far records are spread, one in four billion at most lies beyond so many more octaves.
FIRST_OCTAVE: Final = -128
LAST_OCTAVE: Final = 127
OCTAVES_BEYOND: Final = 32

# --- a misplaced centre ---------------------------------------------------------------------------

#: If this part of the records lies at the same distance, on one side, the centre is misplaced.
#: Around a median it is a half: the nearer to 1, the more misplaced centres go unnoticed.
NEARLY_ALL: Final = 0.9

#: Noise scales that a window seldom exceeds where there are no records, among hundreds of nodes.
USUAL_NOISE: Final = 14.0

#: The new centre is looked for so far on either side of where the records seem to be, in octaves'
#: lower ends: a soft count tells distances to within a 32nd.
ELSEWHERE: Final = 0.125

#: A noisy count is that much too large with probability UNUSUAL; but it is not believed to be less
#: than the part CERTAIN of what it says.
UNUSUAL: Final = 0.001
CERTAIN: Final = 0.75

#: How the sum's budget is divided if the first centre was misplaced: then digits are what it takes.
NEW_CENTRE: Final = {"centre": 0.3, "tail": 0.28, "sum": 0.42}

# --- anchors: up to where records are seen (clip.py) ----------------------------------------------

#: Nodes that are looked at together, and the noise scales at which they stand out: false alarms
#: against sight. With THRESHOLD + (octaves from 2**LIKELY_OCTAVE) / OCTAVES_PER_SCALE the chance
#: of a false alarm in all octaves is 3e-6.
WINDOW: Final = 4
THRESHOLD: Final = 22.0
GAUSSIAN_THRESHOLD: Final = 16.0
LIKELY_OCTAVE: Final = 5
OCTAVES_PER_SCALE: Final = 12

#: An anchor moves up by less than GAP octaves if records stand out there by CLOSER noise scales,
#: and CLOSER_COST more for every factor e by which its noise would enlarge the variance: from where
#: the tail is seen less clearly, but nearer to its end. While that is in the body of the data (up
#: to n epsilon = CLOSER_UNTIL) it is worth it; with ever more records, ever less.
CLOSER: Final = 8.0
CLOSER_COST: Final = 2.0
CLOSER_UNTIL: Final = 1e4
CLOSER_POWER: Final = 0.4

#: From GAP to RAISE_OCTAVES above, records would be a group across a gap, which GROUP nodes hold.
#: It must stand out by RAISE noise scales, and by RAISE_COST for every factor e by which a clip
#: point at its far end, RAISE_REACH times as far, would enlarge the variance. One that could be
#: seen below n epsilon = RARE_FROM would be a large part of the data, for a group so far away, and
#: is believed the less: by up to RAISE_RARE more, a tenth of that n on.
GAP: Final = 4
RAISE_OCTAVES: Final = 8
GROUP: Final = 2
RAISE: Final = 5.0
RAISE_COST: Final = 3.6
RAISE_REACH: Final = 2.0
RAISE_RARE: Final = 3.0
RARE_FROM: Final = 1e5

# --- the curves (curves.py) -----------------------------------------------------------------------

#: Nodes that are looked at, relative to the anchor: more evidence against more misfit.
NODES_BELOW: Final = 2
NODES_ABOVE: Final = 8

#: Clip points per octave, at equal distances: all on edges of sixteenths; and how many octaves
#: above the anchor they may lie, whatever the curves promise.
FINE: Final = 8
FARTHEST: Final = 6

#: The curves: slopes at the anchor, curvatures with their prior weights, and records beyond the
#: anchor, in units of the noise: 2^-3 to 2^32, coarser where it is clear.
START_SLOPES: Final = (0.45, 0.7, 0.95, 1.2, 1.6, 2.0, 2.6, 3.5, 5.0, 8.0)
CURVATURES: Final = {0: 0.3, 0.3: 0.2, 0.7: 0.15, 1.5: 0.1, 3: 0.08, 7: 0.07, 15: 0.05, 40: 0.05}
LEVELS: Final = ((-3, 7, 0.5), (7, 16, 1), (16, 34, 2))

#: Misfit of the curves to real tails, relative to the predicted count: trust in the counts near
#: the anchor against trust in the shape.
MISFIT: Final = 0.27

#: Tails are expected to be steeper where the counts end deep in them (n epsilon of 10,000 or more)
#: than where they end in the body (1,000): a curve with the start slope s has the prior weight
#: s^depth, depth = DEPTH log10(n epsilon) - DEPTH_SHIFT, at most MOST_DEPTH either way.
DEPTH: Final = 0.8
DEPTH_SHIFT: Final = 2.8
MOST_DEPTH: Final = 0.4

#: A curve weighs by its likelihood over (its best mean squared error) to this power: a little
#: more than 1, so that nearly free precautions against heavy tails are taken.
FAIRNESS: Final = 1.15

#: The part of the expected excess beyond the clip point that is added back: bias against variance.
CORRECTION: Final = 0.65

#: How probable it is beforehand that both sides have the same tail.
ALIKE: Final = 0.05

#: Curves of less than this part of the largest weight are left out where it costs time.
NEGLIGIBLE: Final = 1e-7

# --- the pair of clip points (clip.py) ------------------------------------------------------------

#: If both sides have the same tail, what clipping takes away on one side still differs from that on
#: the other, by about this part: less is better for even laws, more for sides that only look alike.
ASYMMETRY: Final = 0.2

#: How many ranks the choice of the centre errs by, times its rate.
CHOICE: Final = 2.0

#: If an interval for the mean is wanted, the thin side is at least this part of the other: a little
#: noise against width.
THIN_SIDE: Final = 0.03

#: Where to clip if nothing stands out, over the distance where the worst bias and noise are least.
HIDDEN: Final = 0.75

#: Noise of this part of the variance of the sum is worth a narrower interval.
AFFORDABLE: Final = 0.03

# --- the sum (sums.py) ----------------------------------------------------------------------------

#: The mean is expected within this part of the offset (and its standard error) from the lattice's
#: centre, not nearer than the side over NEAREST: it decides how much of the noise the count gets.
OFFSET_DOUBT: Final = 0.25
NEAREST: Final = 1000

# --- the second look (estimate.py, clip.py, sums.py) ----------------------------------------------

#: The part of the sum's budget that goes to the number of records.
SECOND_COUNT_SHARE: Final = 0.03

#: Two averaged Laplace noises have lighter tails: as safe at a lower threshold, by so many scales.
LOWER_THRESHOLD: Final = 4.0

#: What may hide beyond the top node counts as noise, of so small a probability.
HIDDEN_RISK: Final = 0.001

# --- the interval (interval.py, reference.py, beyond.py; inequalities/risk.py divides the risk) ---

#: Records that a plan expects beyond a clip point, times epsilon, the nodes beyond it, and the
#: risk at which it looks at their noise: they place the reference.
EXPECTED_BEYOND: Final = 9.0
EXPECTED_NODES: Final = 5
EXPECTED_RISK: Final = 0.001

#: The reference is this much wider than what would be best if that came true: a clip point
#: beyond the reference costs more than one that is closer.
WIDER: Final = 1.4

#: Noise up to this part of the standard error, by assumption, is bounded together with sampling.
SMALL_NOISE: Final = 0.15

#: How often interval and variance improve each other, unless a round gains too little.
ROUNDS: Final = 30
ENOUGH: Final = 0.999

#: Where the risk of what lies beyond goes: to bounds that locate the mean and the shares outside
#: the reference, and, if the mean is located by the sum or not, to the counts (docs/interval.md).
LOCATING: Final = 1 / 40
OUTSIDE: Final = 1 / 20
LOCATED: Final = 0.75
UNLOCATED: Final = 0.1

#: The part of the spread's risk that its sampling has; the noise on the squares has the rest.
SQUARES_SAMPLED: Final = 0.75

#: Records beyond what a moment allows that make it doubtful, in standard deviations of their count.
DOUBT: Final = 5.0

# --- predictions (predict.py) ---------------------------------------------------------------------

#: Below this n * epsilon the steps before the sum often fail.
FEASIBLE: Final = 500.0

#: A group of far records that is this many noise scales of the octave counts may go unseen.
UNSEEN: Final = 9.0

#: Noise on the count beside the sum, as a part of that on the sum.
COUNT_NOISE: Final = 0.1
