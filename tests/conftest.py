"""Settings for every test: how hard Hypothesis searches, here and in continuous integration."""

from __future__ import annotations

import os

from hypothesis import settings

# Deadlines are off: a shared machine is slow for reasons that no test is about.
settings.register_profile("dev", max_examples=100, deadline=None)
settings.register_profile("ci", max_examples=400, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
