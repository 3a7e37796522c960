"""A package, so that its one browser is closed before the tests that come after it."""
