"""Optimal activation checkpointing: exact schedules under a memory budget."""

from ckschedule.costs import Chain as Chain
from ckschedule.costs import Stage as Stage
from ckschedule.costs import Variant as Variant
