"""Plain-Python twins of the array kernels: slow, obvious, and the oracle of their tests."""

from fractions import Fraction


def dominant_share(used, capacity):
    """Twin of `fairness.dominant_share`."""
    return [max((u / c for u, c in zip(row, capacity, strict=True) if c > 0), default=0.0) for row in used]


def weighted_max_min(demand, weights, capacity, guaranteed):
    """Twin of `fairness.weighted_max_min` for positive weights: bisect the level."""

    def given(level):
        return [min(max(w * level, min(g, d)), d) for d, w, g in zip(demand, weights, guaranteed, strict=True)]

    floors = given(0.0)
    if sum(floors) >= capacity:
        return [f * capacity / sum(floors) for f in floors] if sum(floors) > 0 else floors
    low, high = 0.0, 1.0
    while sum(given(high)) < min(capacity, sum(demand)) * (1 - 1e-12) and high < 1e18:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(given(middle)) < capacity else (low, middle)
    return given(high)


def dominant_resource_fairness(demand, capacity, weights, max_tasks):
    """Twin of `fairness.dominant_resource_fairness` in exact fractions, one job or resource at a time."""
    demand = [[Fraction(x) for x in row] for row in demand]
    free = [Fraction(x) for x in capacity]
    total = list(free)
    weights = [Fraction(x) for x in weights]
    n_jobs, n_resources = len(demand), len(free)
    tasks = [Fraction(0)] * n_jobs
    dominant = [max((row[r] / total[r] for r in range(n_resources) if total[r]), default=Fraction(0)) for row in demand]
    rising = {
        j
        for j in range(n_jobs)
        if dominant[j] and weights[j] and not any(demand[j][r] and not total[r] for r in range(n_resources))
    }
    limit = [None if m is None else Fraction(m) for m in max_tasks]
    while rising:
        pace = {j: weights[j] / dominant[j] for j in rising}
        steps = [(limit[j] - tasks[j]) / pace[j] for j in rising if limit[j] is not None]
        for r in range(n_resources):
            rate = sum(pace[j] * demand[j][r] for j in rising)
            if rate:
                steps.append(free[r] / rate)
        step = min(steps)
        for j in rising:
            tasks[j] += step * pace[j]
            for r in range(n_resources):
                free[r] -= step * pace[j] * demand[j][r]
        rising = {
            j
            for j in rising
            if (limit[j] is None or tasks[j] < limit[j])
            and not any(demand[j][r] and not free[r] for r in range(n_resources))
        }
    return [float(t) for t in tasks]


def hierarchical_entitlement(parent, weight, guaranteed, maximum, demand, capacity):
    """Twin of `fairness.hierarchical_entitlement` for one resource."""
    n_queues = len(parent)
    children = {q: [c for c in range(n_queues) if parent[c] == q] for q in range(-1, n_queues)}

    def wanted(queue):
        own = sum(wanted(c) for c in children[queue]) if children[queue] else demand[queue]
        return min(own, maximum[queue])

    entitled = [0.0] * n_queues

    def divide(queue, amount):
        rows = children[queue]
        if not rows:
            return
        parts = weighted_max_min(
            [wanted(c) for c in rows], [weight[c] for c in rows], amount, [guaranteed[c] for c in rows]
        )
        for row, part in zip(rows, parts, strict=True):
            entitled[row] = part
            divide(row, part)

    divide(-1, capacity)
    return entitled
