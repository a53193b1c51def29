"""`python -m gateway <command>`: `serve`, or a command that does one thing and ends."""

from gateway.commands import main

if __name__ == "__main__":
    main()
