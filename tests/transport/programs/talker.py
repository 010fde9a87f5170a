"""A server for tests that does, request by request, what it is told; run by `python -S -E`."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

LOCK = threading.Lock()
NOTES = []


def write(data):
    with LOCK:
        while data:
            data = data[os.write(1, data) :]


def say(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def later(seconds, **message):
    threading.Timer(seconds, say, kwargs=message).start()


def spawn(stubborn=False, detached=False, holds=True):
    code = "import time; time.sleep(60)"
    if stubborn:
        code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + code
    pipe = None if holds else subprocess.DEVNULL
    child = subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=detached
    )
    return {"pid": child.pid}


def handle(method, params, request_id):
    if request_id is None:
        NOTES.append(method)
    elif method == "echo":
        say(id=request_id, result=params)
    elif method == "later":
        later(params["seconds"], id=request_id, result={"late": request_id})
    elif method == "progress":
        for step in range(params["steps"]):
            say(method="notifications/progress", params={"progressToken": request_id, "progress": step})
            time.sleep(params.get("pause", 0))
        if params.get("answer", True):
            say(id=request_id, result={"steps": params["steps"]})
    elif method == "raw":
        for chunk in params["chunks"]:
            write(bytes.fromhex(chunk))
    elif method == "die":
        os.write(2, params.get("stderr", "").encode())
        if "signal" in params:
            os.kill(os.getpid(), params["signal"])
        os._exit(params.get("status", 0))
    elif method == "close":
        os.close(params["descriptor"])
        if params["descriptor"] != 1:
            say(id=request_id, result={})
        while True:
            time.sleep(1)
    elif method == "busy":
        while not os.path.exists(params["until"]):
            time.sleep(0.01)
        say(id=request_id, result={})
    elif method == "about":
        facts = {"env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid(), "group": os.getpgrp(), "notes": NOTES}
        say(id=request_id, result=facts)
    elif method == "spawn":
        say(id=request_id, result=spawn(**params))
    elif method == "orphan":
        # What it has started holds its pipes.
        spawn(**params)
        os._exit(3)


if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin.buffer:
    message = json.loads(line)
    handle(message["method"], message.get("params", {}), message.get("id"))
while "stubborn" in sys.argv:
    time.sleep(1)
