"""A wrapper, as npx and uv are: it starts the real server on its own pipes, and ends with its input, unlike that."""

import subprocess
import sys

code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
subprocess.Popen([sys.executable, "-S", "-E", "-c", code])
sys.stdin.read()
