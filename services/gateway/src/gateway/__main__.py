"""`python -m gateway <command>`: `serve`, or a one-shot command."""

from gateway.commands import main

if __name__ == "__main__":
    main()
