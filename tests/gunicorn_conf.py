"""Gunicorn's settings for tests: no files of its own elsewhere, quick to stop, says when it is ready."""

from __future__ import annotations

import os
from typing import Any

# Unknown names are ignored by the releases that open no control socket.
control_socket_disable = True
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
graceful_timeout = 3
loglevel = "info"
errorlog = "-"


def post_worker_init(worker: Any) -> None:
    """Say that a worker has loaded the application; tests.servers counts these lines."""
    worker.log.info("Worker is ready")
