"""`python -m dispatcher <command>`: `serve`, or a one-off command."""

from common.starting import uncollected

with uncollected():
    from dispatcher.commands import main

if __name__ == "__main__":
    main()
