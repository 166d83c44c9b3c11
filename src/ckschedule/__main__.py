"""``python -m ckschedule``: the command line."""

from ckschedule.cli import main

if __name__ == "__main__":
    main()
