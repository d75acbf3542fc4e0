# Runs Python functions for a script. Reads one JSON request per line from standard input and writes
# one JSON answer per line. The answer contains the output of the function, which has no input.
import asyncio
import contextlib
import inspect
import io
import json
import os
import sys
import traceback

requests = os.fdopen(os.dup(0), "rb")
answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
os.dup2(os.open(os.devnull, os.O_RDWR), 0)
os.dup2(2, 1)
sys.stdin = io.StringIO()

scopes = {}
functions = {}


def plain(value):
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError(f"a {type(value).__name__} cannot leave Python")


def serve(request):
    if "code" in request:
        file = request["file"]
        scope = scopes.setdefault(file, {"__name__": "script", "__file__": file})
        exec(compile(request["code"], "<function>", "exec"), scope)
        functions[request["id"]] = scope[request["name"]]
        return None
    value = functions[request["id"]](*request["arguments"])
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def place(error):
    if isinstance(error, SyntaxError):
        return error.lineno, error.offset
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == "<function>"]
    return (lines[-1] if lines else None), None


for line in requests:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            value = serve(json.loads(line))
            answer = json.dumps({"value": value, "printed": printed.getvalue()}, allow_nan=False, default=plain)
    except BaseException as error:
        row, column = place(error)
        words = str(error) if isinstance(error, SyntaxError) is False else error.msg
        failure = {
            "error": f"{type(error).__name__}: {words}" if words else type(error).__name__,
            "line": row,
            "column": column,
            "syntax": isinstance(error, SyntaxError),
            "printed": printed.getvalue(),
        }
        answer = json.dumps(failure)
    answers.write(answer + "\n")
    answers.flush()
