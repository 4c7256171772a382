"""A release inside OpenDP, with the real library: maps, compositors, refusals, features."""

import gc
import inspect
import pickle
import re
import weakref
from fractions import Fraction
from math import e, exp, isclose
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import polars as pl
import pytest
from opendp.mod import GLOBAL_FEATURES

import tametail as tt
from tametail import interop
from tametail.errors import ParameterError
from tametail.privacy import opendp as _opendp
from tametail.release import Release

RECORDS = np.random.default_rng(7).lognormal(3, 1, 2_000)
UNITS = {"add-remove": dp.symmetric_distance(), "replace-one": dp.change_one_distance()}
BUDGETS = {
    "pure": (tt.pure(0.5), dp.max_divergence(), 0.5),
    "zcdp": (tt.zcdp(0.125), dp.zero_concentrated_divergence(), 0.125),
    "approx": (tt.approx(0.5, 1e-6), dp.approximate(dp.max_divergence()), (0.5, 1e-6)),
}


@pytest.fixture(autouse=True)
def contrib():
    """OpenDP's compositors need this; afterwards the features are as they were found."""
    before = set(GLOBAL_FEATURES)
    dp.enable_features("contrib")
    yield
    assert {*before, "contrib"} == GLOBAL_FEATURES
    GLOBAL_FEATURES.intersection_update(before)


@pytest.fixture(params=UNITS)
def adjacency(request):
    return request.param


@pytest.fixture(params=BUDGETS)
def definition(request):
    return request.param


def measurement(definition="pure", adjacency="add-remove", column=None):
    return tt.as_opendp(
        tt.plan(n=2_000, budget=BUDGETS[definition][0], neighbors=adjacency), column
    )


def vector_measurement(budget, adjacency="add-remove", column=None):
    return tt.as_opendp(tt.plan(budget=budget, n_columns=2, n=2_000, neighbors=adjacency), column)


def test_signature_is_the_contract():
    assert list(inspect.signature(tt.as_opendp).parameters) == [
        "plan", "column", "ledger", "dataset", "release_id",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ({"statistic": "sum", "target": "data"}, ["sum"]),
        ({"statistic": "count"}, ["count"]),
        ({"statistic": "quantile", "q": [0.5, 0.9]}, ["median", "90% quantile"]),
        ({"statistic": "describe"}, None),
    ],
)
def test_the_statistic_is_that_of_the_plan(definition, adjacency, said, labels):
    budget, measure, cost = BUDGETS[definition]
    plan = tt.plan(n=2_000, budget=budget, neighbors=adjacency, **said)
    made = tt.as_opendp(plan, "x")
    assert (made.input_metric, made.output_measure) == (UNITS[adjacency], measure)
    assert made.map(1) == cost
    release = made(pl.DataFrame({"x": RECORDS}))
    assert len(release) == (8 if labels is None else len(labels))
    assert labels is None or [row.label for row in release] == labels
    assert release.plan.request.statistic == said["statistic"]
    assert tt.replay(release.plan, release.answers) == release


def test_a_statistic_of_several_columns_is_refused():
    with pytest.raises(ParameterError, match="released for one column at a time"):
        tt.plan(n=2_000, epsilon=1, n_columns=2, statistic="sum")
    with pytest.raises(ParameterError, match="does not match the plan"):
        tt.as_opendp(tt.plan(n=2_000, epsilon=1, statistic="sum"), ["x", "y"])


def test_persons_are_counted_by_a_metric_of_their_own(adjacency):
    """A record costs twice what its person does: a metric of records would promise half of it."""
    made = tt.as_opendp(tt.plan(n=500, epsilon=0.5, neighbors=adjacency, person="who"), "x")
    assert made.input_metric not in UNITS.values()
    assert (made.map(1), made.map(2)) == (0.5, 1.0)
    frame = pl.DataFrame({"x": RECORDS, "who": np.arange(2_000) % 500})
    release = made(frame)
    assert release.guarantee.protects.person == "who"
    same = tt.as_opendp(tt.plan(n=500, epsilon=1, neighbors=adjacency, person="who"), "x")
    assert same.input_metric == made.input_metric
    for other in ({"person": "house"}, {}):
        plan = tt.plan(n=500, epsilon=0.5, neighbors=adjacency, **other)
        assert tt.as_opendp(plan, "x").input_metric != made.input_metric
        with pytest.raises(dp.OpenDPException, match=r"(?i)mismatch"):
            dp.c.make_composition([made, tt.as_opendp(plan, "x")])


def test_spaces_and_cost_of_one_record(definition, adjacency):
    made = measurement(definition, adjacency)
    _, measure, cost = BUDGETS[definition]
    assert isinstance(made, dp.Measurement)
    assert made.input_metric == UNITS[adjacency]
    assert made.output_measure == measure
    assert made.map(1) == cost
    assert made.map(0) in (0.0, (0.0, 0.0))
    assert made.check(1, cost)


def test_a_release_comes_out(definition, adjacency):
    release = measurement(definition, adjacency)(RECORDS)
    assert isinstance(release, Release)
    assert release.guarantee.protects == adjacency
    assert tt.replay(release.plan, release.answers) == release


def test_what_the_release_states_is_within_the_map(definition, adjacency):
    made = measurement(definition, adjacency)
    stated = made(RECORDS).guarantee
    mapped = made.map(1)
    if definition == "zcdp":
        assert stated.rho <= mapped
    else:
        epsilon, delta = mapped if definition == "approx" else (mapped, 0.0)
        assert stated.epsilon <= epsilon
        assert stated.delta <= delta


@pytest.mark.parametrize("size", [None, 2_000, 17])
def test_no_n_and_a_wrong_n_stay_within_the_map(size, adjacency):
    made = tt.as_opendp(tt.plan(n=size, epsilon=0.3, neighbors=adjacency))
    assert made(RECORDS).guarantee.epsilon <= made.map(1) == 0.3


@pytest.mark.parametrize("records", [0, 1, 2, 3, 17, 2**32 - 1])
def test_group_privacy_is_rounded_up(records):
    assert Fraction(measurement("pure").map(records)) >= records * Fraction(0.5)
    tenth = tt.as_opendp(tt.plan(n=10, epsilon=0.1))
    assert Fraction(tenth.map(records)) >= records * Fraction(0.1)
    assert isclose(tenth.map(records), 0.1 * records)
    rho = tt.as_opendp(tt.plan(n=10, rho=0.1))
    assert Fraction(rho.map(records)) >= records**2 * Fraction(0.1)
    assert isclose(rho.map(records), 0.1 * records**2)


@pytest.mark.parametrize("records", [1, 2, 3, 4, 5, 7, 8, 13])
def test_group_delta_is_the_sum_of_powers_and_no_less(records):
    made = vector_measurement(tt.approx(1.0, 1e-9))
    epsilon, delta = made.map(records)
    # A rational below e: the sum with it is below the true one.
    below_e = Fraction(2718281828459045235, 10**18)
    least = Fraction(1e-9) * sum(below_e**power for power in range(records))
    assert epsilon == records
    assert least <= Fraction(delta) <= least * (1 + Fraction(1, 10**14))


def test_delta_of_two_agrees_with_what_a_guarantee_says_of_a_replacement():
    release = vector_measurement(tt.approx(1.0, 1e-9))(RECORDS.reshape(-1, 2))
    implied = release.guarantee.for_replacement()
    epsilon, delta = interop.group_cost(tt.approx(1.0, 1e-9), 2)
    assert epsilon == pytest.approx(implied.epsilon, rel=1e-14)
    assert delta == pytest.approx(implied.delta, rel=1e-13)
    assert delta == pytest.approx((1 + e) * 1e-9)


@pytest.mark.parametrize(
    ("budget", "records"), [((1.0, 1e-6), 15), ((700.0, 1e-9), 3), ((720.0, 1e-9), 2)]
)
def test_what_has_no_bound_is_refused(budget, records):
    made = vector_measurement(tt.approx(*budget))
    assert made.map(1) == budget
    with pytest.raises(dp.OpenDPException, match=f"gives no guarantee for {records} records"):
        made.map(records)


def test_many_records_at_a_tiny_epsilon_are_counted_in_an_instant():
    epsilon, delta = interop.group_cost(tt.approx(1e-9, 1e-30), 2**32 - 1)
    assert delta == pytest.approx((exp(epsilon) - 1) / 1e-9 * 1e-30, rel=1e-6)


def test_composes_with_itself_and_refuses_overspending(definition, adjacency):
    made, cost = measurement(definition, adjacency), BUDGETS[definition][2]
    ask = dp.c.make_adaptive_composition(
        *made.input_space, made.output_measure, d_in=1, d_mids=[cost, cost]
    )(RECORDS)
    assert {type(ask(made)) for _ in range(2)} == {Release}
    with pytest.raises(dp.OpenDPException, match="out of queries"):
        ask(made)


def test_a_dearer_question_than_promised_is_refused(definition, adjacency):
    made = measurement(definition, adjacency)
    small = BUDGETS[definition][2]
    half = (small[0] / 2, small[1]) if definition == "approx" else small / 2
    ask = dp.c.make_adaptive_composition(
        *made.input_space, made.output_measure, d_in=1, d_mids=[half]
    )(RECORDS)
    with pytest.raises(dp.OpenDPException, match="insufficient budget"):
        ask(made)


def test_two_records_cost_twice_in_a_compositor(adjacency):
    made = measurement("pure", adjacency)
    space = (*made.input_space, made.output_measure)
    ask = dp.c.make_adaptive_composition(*space, d_in=2, d_mids=[0.99])(RECORDS)
    with pytest.raises(dp.OpenDPException, match="insufficient budget"):
        ask(made)
    ask = dp.c.make_adaptive_composition(*space, d_in=2, d_mids=[1.0])(RECORDS)
    assert isinstance(ask(made), Release)


def test_sums_in_a_fixed_composition(definition, adjacency):
    made, cost = measurement(definition, adjacency), BUDGETS[definition][2]
    both = dp.c.make_composition([made, made])
    assert both.map(1) == ((2 * cost[0], 2 * cost[1]) if definition == "approx" else 2 * cost)
    assert [type(release) for release in both(RECORDS)] == [Release, Release]


def test_odometer_and_filter_count_it(definition, adjacency):
    made, cost = measurement(definition, adjacency), BUDGETS[definition][2]
    twice = (2 * cost[0], 2 * cost[1]) if definition == "approx" else 2 * cost
    odometer = dp.c.make_fully_adaptive_composition(*made.input_space, made.output_measure)
    ask = odometer(RECORDS)
    ask(made)
    ask(made)
    assert ask.privacy_loss(1) == twice
    limited = dp.c.make_privacy_filter(odometer, d_in=1, d_out=twice)(RECORDS)
    limited(made)
    limited(made)
    with pytest.raises(dp.OpenDPException, match="would exceed privacy budget"):
        limited(made)


def test_composes_with_a_measurement_of_somebody_else():
    """A count of OpenDP's own, over the same domain, under the same budget."""
    made = measurement()
    with _opendp.features("honest-but-curious"):
        size = dp.t.make_user_transformation(
            *made.input_space,
            dp.atom_domain(T="i32"),
            dp.absolute_distance(T="i32"),
            len,
            lambda d_in: d_in,
        )
    noisy_size = size >> dp.m.then_laplace(scale=4.0)
    both = dp.c.make_composition([made, noisy_size])
    assert both.map(1) == 0.5 + 0.25
    release, count = both(RECORDS)
    assert isinstance(release, Release)
    assert isinstance(count, int)


def test_columns_of_one_frame_compose():
    frame = pl.DataFrame({"paid": RECORDS, "open": RECORDS + 1e6})
    plan = tt.plan(n=2_000, epsilon=100)
    columns = [tt.as_opendp(plan, "paid"), tt.as_opendp(plan, "open")]
    paid, unpaid = dp.c.make_composition(columns)(frame)
    assert float(unpaid) > 5e5 > float(paid)


def test_other_spaces_do_not_compose():
    with pytest.raises(dp.OpenDPException, match=r"[Mm]etric"):
        dp.c.make_composition([measurement(), measurement(adjacency="replace-one")])
    with pytest.raises(dp.OpenDPException, match=r"[Mm]easure"):
        dp.c.make_composition([measurement(), measurement("zcdp")])


@pytest.mark.parametrize(
    ("budget", "cost"),
    [(tt.pure(2.0), 2.0), (tt.zcdp(0.5), 0.5), (tt.approx(2.0, 1e-6), (2.0, 1e-6))],
    ids=str,
)
def test_vector_means(budget, cost, adjacency):
    rows = np.column_stack([RECORDS, RECORDS])
    made = vector_measurement(budget, adjacency)
    assert made.map(1) == cost
    release = made(rows)
    assert isinstance(release, Release)
    assert release.value.shape == (2,)
    named = vector_measurement(budget, adjacency, ["a", "b"])
    assert named(pl.DataFrame(rows, schema=["a", "b"])).columns == ("a", "b")


@pytest.mark.parametrize(
    "data",
    [
        list(RECORDS),
        tuple(RECORDS),
        RECORDS.astype(np.float32),
        pl.Series(RECORDS),
        [None, "x"],
        [],
    ],
    ids=["list", "tuple", "float32", "series", "nothing", "empty"],
)
def test_takes_what_mean_takes(data):
    assert isinstance(measurement()(data), Release)


def test_takes_a_file(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("amount\n" + "\n".join(map(str, RECORDS)))
    assert isinstance(measurement(column="amount")(str(path)), Release)


@pytest.mark.parametrize("data", [iter([1.0]), (x for x in [1.0]), {1.0}, 3, None])
def test_data_that_cannot_be_read_say_so(data):
    with pytest.raises(
        dp.OpenDPException, match=r"ParameterError: (An iterator|Unsupported data type)"
    ):
        measurement()(data)


@pytest.mark.parametrize("rows", [[], [[1.0, 2.0]], [[1.0, 2.0, 3.0]], ([1.0],)])
def test_a_list_of_rows_is_refused_whatever_it_holds(rows):
    """With no rows it has no columns: an error for none and a release for one would tell them."""
    with pytest.raises(dp.OpenDPException, match="has no columns"):
        vector_measurement(tt.pure(2.0))(rows)


def test_the_domain_knows_its_members():
    domain = measurement().input_domain
    assert domain.member(RECORDS)
    assert not domain.member(iter(RECORDS))


def test_a_matrix_does_not_pass_for_a_column():
    with pytest.raises(
        dp.OpenDPException, match="The plan is for 1 column, but the data have 2 columns"
    ):
        measurement()(RECORDS.reshape(-1, 2))


@pytest.mark.parametrize("plan", [None, "plan", tt.pure(1), tt.plan])
def test_no_plan(plan):
    with pytest.raises(ParameterError, match="Invalid plan="):
        tt.as_opendp(plan)


def test_columns_must_fit_the_plan():
    with pytest.raises(ParameterError, match="which is for 1 column"):
        measurement(column=["a", "b"])
    with pytest.raises(ParameterError, match="which is for 2 columns"):
        vector_measurement(tt.pure(1), column="a")


def test_a_release_does_not_carry_the_data_away():
    """OpenDP hangs the arguments of a call on its output, if the output lets it."""
    data = RECORDS.copy()
    kept = weakref.ref(data)
    made = measurement()
    for release in (made(data), vector_measurement(tt.pure(2.0))(data.reshape(-1, 2))):
        assert not hasattr(release, "__opendp_dict__")
        assert data.tobytes() not in pickle.dumps(release)
        with pytest.raises(AttributeError, match="a release is immutable"):
            release.__opendp_dict__ = {"arg": data}
    del data
    gc.collect()
    assert kept() is None


def test_the_page_runs_as_printed(capsys):
    page = Path(__file__).parents[1] / "docs" / "how-to" / "use-in-opendp.md"
    (block,) = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    exec(compile(block, str(page), "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "0.6"
    assert float(lines[1]) == pytest.approx(1.8)
    assert lines[-1] == "refused: out of queries"
