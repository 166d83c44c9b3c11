"""The command line ``ckschedule``."""

import io
import signal
import sys
import traceback


def main() -> None:
    """Run the command line and end the process.

    Exit codes are 0 for a solved question, 1 if no schedule keeps the budget, 2 for
    wrong use, 3 for a fault of ckschedule itself and 130 after Ctrl-C.
    """
    # A shell that starts us in the background leaves SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal's encoding lacks must not end the program.
            stream.reconfigure(errors="replace")
    from ckschedule.cli.exits import FAULT, INTERRUPTED

    try:
        from ckschedule.cli.app import app

        app(prog_name="ckschedule")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception:
        # Python's own exit code for this is 1, which here means "nothing fits".
        traceback.print_exc()
        print("Error: this is a fault of ckschedule: report it", file=sys.stderr)
        sys.exit(FAULT)
