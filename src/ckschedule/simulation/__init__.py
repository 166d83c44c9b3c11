"""The simulator: the only definition of legality, time and memory of a schedule."""

from ckschedule.simulation.simulate import Model as Model
from ckschedule.simulation.simulate import as_graph as as_graph
from ckschedule.simulation.simulate import measure as measure
from ckschedule.simulation.simulate import simulate as simulate
from ckschedule.simulation.trace import Trace as Trace
