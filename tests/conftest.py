"""Settings that every test runs under."""

from __future__ import annotations

import os

from hypothesis import settings

# Tests read only what the repository holds or what they make themselves. Set here, before any
# test file imports a library that looks at it.
os.environ["HF_HUB_OFFLINE"] = "1"

# A shared machine is slow at times, which says nothing about the code. In continuous integration
# the examples are the same on every run; by hand, new ones are drawn each time.
settings.register_profile("regard", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("regard")
