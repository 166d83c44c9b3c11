"""Models from the files of other tools."""

from ckschedule.importers.coarsening import coarsen as coarsen
from ckschedule.importers.forward_dag import ForwardDag as ForwardDag
from ckschedule.importers.forward_dag import Layer as Layer
from ckschedule.importers.node_link import import_node_link as import_node_link
from ckschedule.importers.node_link import (
    import_node_link_chain as import_node_link_chain,
)
from ckschedule.importers.pipedream import import_pipedream as import_pipedream
from ckschedule.importers.pipedream import read_pipedream as read_pipedream
from ckschedule.importers.registry import FORMATS as FORMATS
from ckschedule.importers.registry import import_model as import_model
from ckschedule.importers.stage_table import import_stage_table as import_stage_table
