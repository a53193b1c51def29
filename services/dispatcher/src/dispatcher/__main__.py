"""`python -m dispatcher <command>`: `serve`, or a command that does one thing and ends."""

from dispatcher.commands import main

if __name__ == "__main__":
    main()
