"""The command as `python -m company_registry.cli`, where no scripts are installed."""

from company_registry.cli import main

main()
