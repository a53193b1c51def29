"""`python -m webhook_registry <command>`: `serve`, or a command that does one thing and ends."""

from webhook_registry.commands import main

if __name__ == "__main__":
    main()
