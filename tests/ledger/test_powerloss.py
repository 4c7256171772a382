"""No power loss corrupts a ledger or undoes a charge that was acknowledged."""

import pytest

pytest.importorskip("apsw", reason="apsw is not installed")

from .powerloss import NAME, Disk, examine, record


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return record(tmp_path_factory.mktemp("power"), charges=2)


def test_no_acknowledged_charge_is_lost(recorded):
    outcome = examine(*recorded, draws=2)
    assert outcome.disks > 150
    assert (outcome.corrupt, outcome.lost) == (0, 0)


def test_the_model_rebuilds_the_disk_that_was(recorded, tmp_path):
    """With nothing lost, the rebuilt ledger is the one that was written, byte for byte."""
    start, steps = record(tmp_path, charges=1)
    disk = Disk(start)
    for step in steps:
        if step.kind != "returned":
            disk.do(step)
    found = disk.after_power_loss(lambda: True, lambda count: count - 1)
    assert found == {NAME: (tmp_path / NAME).read_bytes()}
    kinds = {step.kind for step in steps}
    assert kinds == {"create", "write", "sync", "delete", "returned"}


def test_a_folder_that_is_not_synced_is_noticed(recorded):
    """As with synchronous = FULL: a deleted journal comes back and undoes what was promised."""
    start, steps = recorded
    careless = [
        type(step)(step.kind, step.name, step.offset, step.data, directory_synced=False)
        for step in steps
    ]
    assert examine(start, careless, draws=0).lost > 0


def test_a_file_that_is_not_synced_is_noticed(recorded):
    start, steps = recorded
    careless = [step for step in steps if step.kind != "sync" or step.name != NAME]
    outcome = examine(start, careless, draws=2)
    assert outcome.lost + outcome.corrupt > 0
