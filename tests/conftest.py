"""Settings for every test: how hard Hypothesis searches, here and in continuous integration; what SIGINT does."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

# Deadlines are off: a shared machine is slow for reasons that no test is about.
TIMELESS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", TIMELESS, max_examples=100)
settings.register_profile("ci", TIMELESS, max_examples=400, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))

# A shell lets what it starts in the background ignore SIGINT, and that would be inherited by all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
