import sys

from register_samples.command import run

sys.exit(run())
