"""Interleaved rounds: each subject once a round, so that a noisy machine is noisy for all of them."""

import statistics
import sys


def rounds(subjects, count):
    """Calls each subject `count` times, in turns; {name: [what it returned]}."""
    taken = {name: [] for name in subjects}
    for number in range(1, count + 1):
        for name, measure in subjects.items():
            taken[name].append(measure(number))
        said = ", ".join(f"{name} {values[-1]:.4g}" for name, values in taken.items() if isinstance(values[-1], float))
        print(f"  round {number} of {count}: {said}" if said else f"  round {number} of {count}", file=sys.stderr, flush=True)
    return taken


class Ratio:
    """The median of the ratios of each round, with the least and the greatest."""

    def __init__(self, above, below):
        self.all = sorted(a / b for a, b in zip(above, below))
        self.median = statistics.median(self.all)

    def __str__(self):
        return f"{digits(self.median)} ({digits(self.all[0])} to {digits(self.all[-1])})"


def digits(value):
    """A figure as one reads it: two digits behind the point below 10, one below 100, then none."""
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


median = statistics.median
