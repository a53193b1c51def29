"""`python -m webhook_registry` serves; with a command it does one thing and ends."""

from webhook_registry.commands import main

if __name__ == "__main__":
    main()
