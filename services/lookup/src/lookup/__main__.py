"""`python -m lookup <command>`: `serve`, or a command that runs once."""

if __name__ == "__main__":
    # Imported here, because worker processes import this module too and need nothing of the
    # service.
    from lookup.commands import main

    main()
