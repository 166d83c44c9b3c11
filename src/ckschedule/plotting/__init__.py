"""Pictures with matplotlib, which is imported when the first one is drawn."""

from ckschedule.plotting.backend import check_format as check_format
from ckschedule.plotting.backend import save_plot as save_plot
from ckschedule.plotting.front import plot_front as plot_front
