"""`python -m portal serve` runs the service."""

from portal.commands import main

if __name__ == "__main__":
    main()
