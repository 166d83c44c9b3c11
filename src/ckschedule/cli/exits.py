"""Exit codes of the command line."""

from typing import Final

NO_SCHEDULE: Final = 1
"""No schedule keeps the budget, or a plan did not hold on its model."""

WRONG_USE: Final = 2
"""The command cannot be meant; the message says what to change."""

FAULT: Final = 3
"""A fault of ckschedule."""

INTERRUPTED: Final = 130
"""Ctrl-C, as shells count it."""
