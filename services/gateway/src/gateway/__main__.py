"""`python -m gateway` serves; `python -m gateway <command>` does one thing and ends."""

from gateway.commands import main

if __name__ == "__main__":
    main()
