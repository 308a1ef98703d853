"""Waits for events of real programs."""

import os
import time

# The only limit of a wait, in seconds in which this process waited: the time in which a slow or stopped machine does not
# come to look again does not count.
LIMIT = float(os.environ.get("SWITCHBOARD_TEST_LIMIT") or 1200)


def wait(what, holds, pause=0.05):
    """Waits until `holds()`, and returns its value."""
    left = LIMIT
    while not (value := holds()):
        assert left > 0, f"{what}: not after {LIMIT:.0f} s"
        time.sleep(pause)
        left -= pause
    return value
