"""`python -m lookup <command>`: `serve`, or a command that does one thing and ends."""

if __name__ == "__main__":
    # Not above: the processes that work for this one load this module, too, and nothing of that.
    from lookup.commands import main

    main()
