"""`python -m webhook_registry <command>`: `serve`, or a one-off command."""

from common.starting import uncollected

with uncollected():
    from webhook_registry.commands import main

if __name__ == "__main__":
    main()
