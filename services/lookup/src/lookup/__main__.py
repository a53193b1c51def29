"""`python -m lookup` serves; `python -m lookup <command>` does one thing and ends."""

from lookup.commands import main

if __name__ == "__main__":
    main()
