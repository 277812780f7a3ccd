"""Whether two sets of measurements differ: medians, spread, and Mann and Whitney's rank test."""

import functools
import math

LEVEL = 0.05  # below this a difference is called one
EXACT_MOST = 400  # product of the sample sizes up to which the distribution is counted out


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def spread(values):
    """Half the distance between the extremes, as a share of the median."""
    centre = median(values)
    return (max(values) - min(values)) / 2 / centre if centre else 0.0


def _ranks(values):
    """Ranks from 1, ties with their average; and the sizes of the groups of ties."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    ties = []
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for place in range(at, end):
            ranks[order[place]] = (at + end + 1) / 2
        ties.append(end - at)
        at = end
    return ranks, ties


@functools.lru_cache(maxsize=None)
def _arrangements(first, second, statistic):
    """How many orders of `first` and `second` values have exactly this U (without ties)."""
    if statistic < 0:
        return 0
    if first == 0 or second == 0:
        return 1 if statistic == 0 else 0
    return (_arrangements(first - 1, second, statistic - second)
            + _arrangements(first, second - 1, statistic))


def _exact(first, second, statistic):
    at_most = sum(_arrangements(first, second, u) for u in range(int(statistic) + 1))
    return min(1.0, 2 * at_most / math.comb(first + second, first))


def _normal(first, second, statistic, ties):
    count = first + second
    tied = sum(t ** 3 - t for t in ties)
    variance = first * second / 12 * (count + 1 - tied / (count * (count - 1)))
    if variance <= 0:
        return 1.0
    distance = max(0.0, abs(statistic - first * second / 2) - 0.5)  # continuity
    return math.erfc(distance / math.sqrt(2 * variance))


def mann_whitney(one, other):
    """U of the first sample, and the two-sided probability of such a U were there no difference."""
    if not one or not other:
        raise ValueError("both samples need at least one value")
    first, second = len(one), len(other)
    ranks, ties = _ranks(list(one) + list(other))
    statistic = sum(ranks[:first]) - first * (first + 1) / 2
    smaller = min(statistic, first * second - statistic)
    if max(ties) == 1 and first * second <= EXACT_MOST:
        return statistic, _exact(first, second, smaller)
    return statistic, _normal(first, second, smaller, ties)


def least_rounds(level=LEVEL):
    """The fewest rounds of each with which complete separation is below the level."""
    rounds = 1
    while 2 / math.comb(2 * rounds, rounds) >= level:
        rounds += 1
    return rounds


def verdict(name, one, other_name, other, higher_is_better=True):
    """A sentence: which is better and by how much, or that nothing can be said."""
    _, p = mann_whitney(one, other)
    here, there = median(one), median(other)
    ratio = f"{here / there:.2f} times" if there else "no ratio to"
    if p >= LEVEL:
        more = "" if min(len(one), len(other)) >= least_rounds() else \
            f" (at least {least_rounds()} rounds are needed to tell)"
        return f"{name} {ratio} {other_name}: no significant difference, p={p:.3f}{more}"
    better = (here > there) == higher_is_better
    return f"{name} {ratio} {other_name}: {'better' if better else 'worse'}, p={p:.3f}"
