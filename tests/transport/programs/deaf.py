"""A server that never reads."""

import time

while True:
    time.sleep(1)
