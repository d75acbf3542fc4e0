"""Signals, forks, threads, and the end of a process."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from quillet_engine import Catalogue, OptionError, run

INTERRUPT = """
    import os, signal, threading, time
    from quillet_engine import Catalogue, run
    catalogue = Catalogue("memory:", timeout=50)
    catalogue.put("one", "[{{ f() }}]")
    catalogue.put("loop", "{% for i in range(9999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}")
    def interrupt():
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    def hang(*_):
        time.sleep(50)
"""

LONG = [
    'run("user: q\\n", model=hang)',
    'run("$tool: {name: hang}\\n", model=str, tools={"hang": hang})',
    'catalogue.render("one", tools={"f": hang})',
    'asyncio.run(run_async("user: q\\n", model=hang))',
    'asyncio.run(catalogue.render_async("one", tools={"f": hang}))',
]


@pytest.mark.parametrize("long", LONG)
def test_control_c_ends_a_wait(program, long: str) -> None:
    done = program(
        f"""{INTERRUPT}
    import asyncio
    from quillet_engine import run_async
    began = time.monotonic()
    interrupt()
    try:
        {long}
    except KeyboardInterrupt:
        fine = run("user: q\\n", model=lambda m: "again")
        print("interrupted", fine, time.monotonic() - began < 25)
        """
    )
    assert done.stdout == "interrupted again True\n", done.stderr


def test_signal_handler_runs_and_script_continues(program) -> None:
    done = program(
        f"""{INTERRUPT}
    heard = threading.Event()
    def handler(*_):
        assert run("user: q\\n", model=lambda m: "inner") == "inner"
        heard.set()
    signal.signal(signal.SIGINT, handler)
    interrupt()
    print(run("user: q\\n", model=lambda m: heard.wait(25) and "went on"))
        """
    )
    assert done.stdout == "went on\n", done.stderr


def test_a_process_ends_while_something_hangs(program) -> None:
    done = program(
        f"""{INTERRUPT}
    for work in (
        lambda: run("user: q\\n", model=hang),
        lambda: catalogue.render("one", tools={{"f": hang}}),
        lambda: catalogue.render("loop"),
    ):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.3)
    print("bye")
        """
    )
    assert (done.returncode, done.stdout) == (0, "bye\n"), done.stderr


def test_an_import_starts_no_thread(program) -> None:
    done = program(
        """
        import os
        import quillet_engine_service
        print(len(os.listdir("/proc/self/task")))
        """
    )
    assert done.stdout == "1\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("kind", ["dir", "sqlite", "redis"])
def test_a_forked_process_opens_the_store_for_itself(kind: str, tmp_path: Path, redis: str) -> None:
    (tmp_path / "p").mkdir()
    places = {"dir": f"dir:{tmp_path}/p", "sqlite": f"sqlite:{tmp_path}/p.db", "redis": redis}
    catalogue = Catalogue(places[kind])
    catalogue.put("hello", "Hello {{ name }}!")
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            catalogue.render("hello", name="A")

    def reopen() -> None:
        # SQLite locks mutexes of the whole process when a file is opened or closed.
        while not stop.is_set():
            other = Catalogue(f"sqlite:{tmp_path}/other.db")
            other.put("hello", "Hi")
            other.close()

    threads = [threading.Thread(target=target) for target in (work, work, reopen)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                try:
                    right = catalogue.render("hello", name="Ada") == "Hello Ada!"
                    right &= catalogue.put(f"from-{turn:02}", "x") == 1
                    right &= run("user: q\n", model=lambda messages: "m") == "m"
                finally:
                    os._exit(0 if right else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    catalogue.sync()
    assert catalogue.ids() == [f"from-{turn:02}" for turn in range(20)] + ["hello"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_store_in_memory_is_not_forked() -> None:
    catalogue = Catalogue("memory:")
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            catalogue.ids()
        except OptionError as error:
            os._exit(0 if "process" in str(error) else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_threads_share_a_catalogue() -> None:
    catalogue = Catalogue("memory:")
    catalogue.put("hello", "Hello {{ name }} {{ f(1) }}!")
    wrong: list[object] = []

    def work(number: int) -> None:
        for turn in range(20):
            name = f"{number}-{turn}"
            text = catalogue.render("hello", name=name, tools={"f": lambda n: name})
            answer = run('user: "{{x}}"\n', {"x": name}, model=lambda m: m[-1]["content"])
            if (text, answer) != (f"Hello {name} {name}!", name):
                wrong.append((text, answer))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_interpreter_lock_is_free_during_a_wait() -> None:
    loop = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    catalogue = Catalogue("memory:", timeout=0.5)
    catalogue.put("long", loop)
    turns = 0

    def work() -> None:
        with pytest.raises(Exception, match="limit|longer|time"):
            catalogue.render("long")

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        turns += 1
    thread.join()
    # If the render held the lock, this loop would hardly run.
    assert turns > 1000
