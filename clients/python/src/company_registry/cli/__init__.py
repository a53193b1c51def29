"""The command `company-registry`: needs the extra `cli` (`pip install company-registry[cli]`)."""

import gc
import io
import sys


def main() -> None:
    """Runs the command; exits with the status that README.md lists."""
    try:
        import rich  # noqa: F401 (is it installed?)
        import typer  # noqa: F401
    except ImportError:
        sys.exit("company-registry needs its extra: pip install 'company-registry[cli]'")
    from company_registry.cli.app import app

    # Modules are no garbage: looking for some among them takes a third of a short command.
    gc.freeze()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a letter shows a question mark.
            stream.reconfigure(errors="replace")
    app()
