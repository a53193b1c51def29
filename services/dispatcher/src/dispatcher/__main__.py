"""`python -m dispatcher <command>`: `serve`, or a one-off command."""

from dispatcher.commands import main

if __name__ == "__main__":
    main()
