"""`python -m lookup serve` answers lookups until SIGTERM or SIGINT."""

from common.starting import uncollected

with uncollected():
    from lookup.commands import main

if __name__ == "__main__":
    main()
