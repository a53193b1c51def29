"""`python -m ingest <command>`: `serve`, or a command that runs once."""

if __name__ == "__main__":
    # Imported here, because worker processes import this module too and need nothing of the
    # service.
    from common.starting import uncollected

    with uncollected():
        from ingest.commands import main

    main()
