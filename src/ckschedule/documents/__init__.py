"""One JSON format for chains, graphs, schedules, results, fronts and arenas."""

from ckschedule.documents.fitting import check_fits as check_fits
from ckschedule.documents.json_text import MAX_BYTES as MAX_BYTES
from ckschedule.documents.reading import Documented as Documented
from ckschedule.documents.reading import from_json as from_json
from ckschedule.documents.reading import read_json as read_json
from ckschedule.documents.reading import read_model as read_model
from ckschedule.documents.schema import json_schema as json_schema
from ckschedule.documents.writing import to_json as to_json
from ckschedule.documents.writing import write_json as write_json
