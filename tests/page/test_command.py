"""``tametail page`` as it is started: what it prints, whom it answers, how it ends."""

import builtins
import http.client
import os
import re
import signal
import subprocess
import sys

import pytest

from tametail.cli import main
from tametail.cli.signals import Terminated
from tametail.page.guard import HEADERS
from tametail.page.jobs import Job


@pytest.fixture
def started(data):
    """Start the command in the folder with the planted values; yield it and its address."""
    command = [sys.executable, "-W", "error", "-m", "tametail", "page", "--no-browser"]
    process = subprocess.Popen(
        command, cwd=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    lines = []
    while not any("http://" in line for line in lines):
        lines.append(process.stdout.readline())
        assert process.poll() is None, process.stderr.read()
    found = re.search(r"http://(127\.0\.0\.1:\d+)(/[\w-]{43}/)", lines[-1])
    yield process, found[1], found[2]
    process.kill()
    process.communicate()


def get(host, path, headers=None):
    line = http.client.HTTPConnection(host, timeout=30)
    line.request("GET", path, headers=headers or {})
    answer = line.getresponse()
    text = answer.read().decode()
    line.close()
    return answer, text


def test_the_command_serves_and_ends_quietly(started):
    process, host, path = started
    answer, text = get(host, path)
    assert answer.status == 200
    assert "Plan a release" in text
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "server" not in answer.headers
    assert get(host, "/")[0].status == 404
    assert get(host, path, {"Host": "evil.example"})[0].status == 421
    assert get(host, f"{path}release?path=../secret.csv")[0].status == 404
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert path not in out + err  # no log holds the token
    assert "Traceback" not in err
    assert process.returncode in (0, 130)


@pytest.mark.parametrize(("end", "code"), [(KeyboardInterrupt, 130), (Terminated, 143)])
@pytest.mark.parametrize("is_under_way", [False, True])
def test_a_page_that_is_stopped_speaks_of_a_budget_only_if_a_release_was_under_way(
    end, code, is_under_way, monkeypatch, capsys, tmp_path
):
    def serve(*arguments):
        if is_under_way:
            arguments[-1].jobs["one"] = Job("one", None)
        raise end

    monkeypatch.setattr("tametail.page.serve.serve", serve)
    assert main(["page", str(tmp_path), "--no-browser"]) == code
    said = capsys.readouterr().err
    assert said.startswith("The page was stopped.")
    assert ("budget" in said) is is_under_way


def test_a_folder_that_is_not_there(capsys):
    assert main(["page", "nowhere", "--no-browser"]) == 4
    assert "No folder 'nowhere'" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("tametail.cli.page.find_spec", lambda name: None)
    assert main(["page", "--no-browser"]) == 1
    assert "'starlette>=" in capsys.readouterr().err


def test_the_library_does_not_need_the_extra(monkeypatch):
    """Nothing but the page imports what the page needs."""
    kept = builtins.__import__

    def refuse(name, *arguments, **named):
        if name.partition(".")[0] in ("starlette", "jinja2", "uvicorn"):
            raise ImportError(name)
        return kept(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    for name in [name for name in sys.modules if name.startswith("tametail.report")]:
        monkeypatch.delitem(sys.modules, name)
    import tametail as tt

    assert "<svg" in tt.mean([1.0, 2.0] * 500, epsilon=1)._repr_html_()
