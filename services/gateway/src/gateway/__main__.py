"""`python -m gateway <command>`: `serve`, or a one-shot command."""

from common.starting import uncollected

with uncollected():
    from gateway.commands import main

if __name__ == "__main__":
    main()
