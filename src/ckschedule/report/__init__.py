"""One page of HTML that shows the front of a model and each of its schedules."""

from ckschedule.report.page import render as render
from ckschedule.report.page import render_all as render_all
from ckschedule.report.points import result_at as result_at
from ckschedule.report.subject import Subject as Subject
