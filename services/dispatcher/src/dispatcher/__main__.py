"""`python -m dispatcher` serves; `python -m dispatcher <command>` does one thing and ends."""

from dispatcher.commands import main

if __name__ == "__main__":
    main()
