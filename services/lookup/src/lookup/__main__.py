"""`python -m lookup serve` answers lookups until SIGTERM or SIGINT."""

from lookup.commands import main

if __name__ == "__main__":
    main()
