"""What can go wrong, by who can put it right.

`InputError`: what was passed is not what was expected; the caller changes the call.
`BackendError`: a named backend cannot do this; the caller names another or leaves the choice open.
`MemoryBudgetError`: the answer would be quadratic in size; the caller asks a smaller question.

Every message says what came, what was expected and what to do next.
"""


class InputError(ValueError):
    """An argument has a value that cannot be used."""


class BackendError(RuntimeError):
    """The backend that was named cannot serve this call."""


class MemoryBudgetError(InputError):
    """An answer larger than the memory budget was asked for."""
