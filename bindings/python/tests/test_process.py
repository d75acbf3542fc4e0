"""Signals, forks and threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from quillet_engine import Template

LOOP = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Runs a separate program with a timeout of one minute."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )


def test_control_c_ends_a_long_render() -> None:
    done = run(
        f"""
        import os, signal, threading
        from quillet_engine import Template
        template = Template({LOOP!r}, timeout=50, limits={{"steps": 10**12}})
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            template.render()
        except KeyboardInterrupt:
            print("interrupted", Template("{{{{ 1 + 1 }}}}").render())
        """
    )
    assert done.stdout == "interrupted 2\n", done.stderr


def test_signal_handler_runs_and_render_continues() -> None:
    done = run(
        f"""
        import os, signal, threading
        from quillet_engine import LimitError, Template
        heard = []
        signal.signal(signal.SIGUSR1, lambda *_: heard.append(Template("h").render()))
        template = Template({LOOP!r}, timeout=1, limits={{"steps": 10**12}})
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        try:
            template.render()
        except LimitError:
            print(*heard)
        """
    )
    assert done.stdout == "h\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_renders() -> None:
    template = Template("{% for i in items %}{{ i.name }}{% endfor %}")
    items = [{"name": "a"}] * 100
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            template.render(items=items)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                right = template.render(items=items) == "a" * 100
                os._exit(0 if right else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_the_interpreter_is_free_while_a_render_runs() -> None:
    template = Template(LOOP, timeout=0.5, limits={"steps": 10**12})
    turns = 0
    thread = threading.Thread(target=lambda: pytest.raises(Exception, template.render))
    thread.start()
    while thread.is_alive():
        turns += 1
    thread.join()
    # If the render held the lock, this loop would hardly run.
    assert turns > 1000


def test_exit_during_renders() -> None:
    done = run(
        f"""
        import threading
        from quillet_engine import Template
        template = Template({LOOP!r}, timeout=20, limits={{"steps": 10**12}})
        for _ in range(4):
            threading.Thread(target=template.render, daemon=True).start()
        print("bye")
        """
    )
    assert (done.returncode, done.stdout) == (0, "bye\n"), done.stderr


def test_name_of_another_package_is_reported() -> None:
    done = run(
        """
        import quillet_engine
        for name in ("Catalogue", "run", "run_async", "check_query"):
            try:
                getattr(quillet_engine, name)
            except ImportError as error:
                print(error, error.name)
        """
    )
    said = "comes with the package quillet-engine-service: pip install"
    name = "quillet_engine_service"
    assert done.stdout.splitlines() == [
        f'quillet_engine.Catalogue {said} "quillet-engine[redis]" {name}',
        f'quillet_engine.run {said} "quillet-engine[scripts]" {name}',
        f'quillet_engine.run_async {said} "quillet-engine[scripts]" {name}',
        f'quillet_engine.check_query {said} "quillet-engine[sql]" {name}',
    ], done.stderr
