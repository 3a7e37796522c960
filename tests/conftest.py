"""Settings that every test runs under."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

# Tests read only what the repository holds or what they make themselves. Set here, before any
# test file imports a library that looks at it.
os.environ["HF_HUB_OFFLINE"] = "1"

# A run that a shell started in the background ignores Ctrl-C, and so would every command it tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A shared machine is slow at times, which says nothing about the code. In continuous integration
# the examples are the same on every run; by hand, new ones are drawn each time.
settings.register_profile("regard", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("regard")
