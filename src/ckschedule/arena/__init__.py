"""Arenas: where in memory the values of a schedule lie."""

from ckschedule.arena.arena import Arena as Arena
from ckschedule.arena.arena import Block as Block
from ckschedule.arena.arena import blocks_at as blocks_at
from ckschedule.arena.checking import fault_of as fault_of
from ckschedule.arena.checking import first_overlap as first_overlap
from ckschedule.arena.lifetimes import InPlace as InPlace
from ckschedule.arena.lifetimes import Lifetimes as Lifetimes
from ckschedule.arena.lifetimes import lifetimes_of as lifetimes_of
from ckschedule.arena.planning import plan_arena as plan_arena
from ckschedule.arena.sharing import Storages as Storages
from ckschedule.arena.sharing import share_storage as share_storage
