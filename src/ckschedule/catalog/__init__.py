"""Known networks as chains, by formula: no framework, no measurement.

Times are rooflines of a device, bytes are what PyTorch's autograd would keep; see
`ckschedule.catalog.liveness` for how a stage's transients are found. Workspaces of
convolution libraries and the allocator's rounding are not counted.
"""

from ckschedule.catalog.entries import CATALOG as CATALOG
from ckschedule.catalog.entries import Entry as Entry
from ckschedule.catalog.entries import build as build
from ckschedule.catalog.entries import entry as entry
from ckschedule.catalog.lstm import lstm as lstm
from ckschedule.catalog.optimizer import OPTIMIZERS as OPTIMIZERS
from ckschedule.catalog.optimizer import Optimizer as Optimizer
from ckschedule.catalog.optimizer import static_memory as static_memory
from ckschedule.catalog.resnet import resnet as resnet
from ckschedule.catalog.training_path import training_path as training_path
from ckschedule.catalog.transformer import gpt as gpt
from ckschedule.catalog.transformer import llama as llama
from ckschedule.catalog.uniform import uniform as uniform
from ckschedule.catalog.vgg import vgg as vgg
