"""Pictures with matplotlib, which is imported when the first one is drawn."""

from ckschedule.plotting.arena import plot_arena as plot_arena
from ckschedule.plotting.backend import check_format as check_format
from ckschedule.plotting.backend import save_plot as save_plot
from ckschedule.plotting.fidelity import Pair as Pair
from ckschedule.plotting.fidelity import pair_of as pair_of
from ckschedule.plotting.fidelity import pairs_of_rows as pairs_of_rows
from ckschedule.plotting.fidelity import plot_fidelity as plot_fidelity
from ckschedule.plotting.front import plot_front as plot_front
from ckschedule.plotting.memory import plot_memory as plot_memory
from ckschedule.plotting.plan import plot_plan as plot_plan
from ckschedule.plotting.schedule import plot_schedule as plot_schedule
