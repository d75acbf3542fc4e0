"""Labels and versions in Redis; other processes see the changes."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from quillet_engine import Catalogue, StoreError, TemplateNotFound


def redis_cli(address: str, *command: str) -> None:
    """A write by another program."""
    port = address.rstrip("/").rsplit(":", 1)[1]
    subprocess.run(["redis-cli", "-p", port, *command], check=True, stdout=subprocess.DEVNULL)


def test_writes_of_other_programs_take_effect(redis: str) -> None:
    key = "shenma:templates:greet:hello"
    redis_cli(redis, "set", key, '{"prompt": "Hello {{ name }}!", "format": "jinja"}')
    catalogue = Catalogue(redis)
    assert catalogue.ids() == ["greet.hello"]
    assert catalogue.render("greet.hello", name="Ada") == "Hello Ada!"
    redis_cli(redis, "set", key, '{"prompt": "Bye {{ name }}, {{ city }}!", "format": "jinja"}')
    redis_cli(redis, "set", "shenma:environs:city", '"Oslo"')
    catalogue.sync()
    assert catalogue.render("greet.hello", name="Ada") == "Bye Ada, Oslo!"
    redis_cli(redis, "del", key)
    catalogue.sync()
    with pytest.raises(TemplateNotFound):
        catalogue.render("greet.hello", name="Ada")


def test_labels_and_versions(redis: str) -> None:
    with Catalogue(redis) as one, Catalogue(redis) as other:
        assert one.put("greet", "Hello {{ n }}", labels=["production"]) == 1
        assert one.put("greet", "Hi {{ n }}", labels=["next"]) == 2
        other.sync()
        assert other.labels("greet") == {"next": 2, "production": 1}
        assert other.render("greet", n="A") == "Hello A"
        assert other.render("greet", n="A", label="next") == "Hi A"
        assert other.render("greet", n="A", version=2) == "Hi A"
        one.set_label("greet", "production", 2)
        other.sync()
        assert other.render("greet", n="A") == "Hi A"
        assert [version["number"] for version in other.versions("greet")] == [2, 1]


def test_a_change_is_seen_by_another_process(redis: str) -> None:
    with Catalogue(redis) as catalogue:
        catalogue.put("greet", "one", labels=["production"])
        code = f"""
            import time
            from quillet_engine import Catalogue
            catalogue = Catalogue({redis!r})
            before = None
            deadline = time.monotonic() + 50
            while time.monotonic() < deadline:
                text = catalogue.render("greet")
                if text != before:
                    print(text, flush=True)
                    before = text
                if text == "three":
                    break
                time.sleep(0.001)
        """
        command = [sys.executable, "-c", textwrap.dedent(code)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
            assert follower.stdout is not None
            assert follower.stdout.readline() == "one\n"
            # Without `sync`: the catalogue follows the store automatically.
            catalogue.put("greet", "two", labels=["production"])
            assert follower.stdout.readline() == "two\n"
            assert catalogue.put("greet", "three") == 3
            catalogue.set_label("greet", "production", 3)
            assert follower.stdout.readline() == "three\n"
        assert follower.returncode == 0


def test_a_server_that_goes_away(redis: str) -> None:
    catalogue = Catalogue(redis)
    catalogue.put("greet", "Hello {{ n }}")
    # The server ends before it responds.
    port = redis.rstrip("/").rsplit(":", 1)[1]
    subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], capture_output=True)
    # Cached prompts still render; operations that need the store report that it is unavailable.
    assert catalogue.render("greet", n="A") == "Hello A"
    with pytest.raises(StoreError) as raised:
        catalogue.put("greet", "x")
    assert raised.value.code == "store.unavailable"
