"""Fixtures: a real Redis, and separate Python programs."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """Address of a Redis server on a free port, without persistence."""
    assert shutil.which("redis-server"), "apt-get install redis-server"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
    server = subprocess.Popen([*command, "--dir", str(tmp_path)], stdout=subprocess.DEVNULL)
    try:
        for _ in range(400):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/"
    finally:
        server.kill()
        server.wait()


Program = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program() -> Program:
    """Runs a separate program with a timeout of one minute."""

    def run(code: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    return run
