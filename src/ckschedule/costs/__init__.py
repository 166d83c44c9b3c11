"""What is given: bytes and times of a model, as a chain or as a graph."""

from ckschedule.costs.chain import Chain as Chain
from ckschedule.costs.chain import Stage as Stage
from ckschedule.costs.chain import Variant as Variant
from ckschedule.costs.device import Device as Device
from ckschedule.costs.graph import Graph as Graph
from ckschedule.costs.graph import Mode as Mode
from ckschedule.costs.graph import Node as Node
from ckschedule.costs.graph import Value as Value
from ckschedule.costs.static import StaticMemory as StaticMemory
