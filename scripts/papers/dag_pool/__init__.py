"""Jobs that are graphs of stages on one pool of several resources, as the papers on altruism and packing model it.

Masters launch by themselves (world *direct*); a task begins at once and takes exactly its time. What a policy is told
of times may be wrong; what happens is not. The kernels are those of `altruism`, as real queues use them.
"""

from scripts.papers.dag_pool.altruistic import AltruismSettings, AltruisticPolicy, Reach
from scripts.papers.dag_pool.greedy import GREEDY_ORDERS, GreedyPolicy
from scripts.papers.dag_pool.jobs import PoolJob
from scripts.papers.dag_pool.pool import PoolOutcome, run_pool

__all__ = [
    "GREEDY_ORDERS",
    "AltruismSettings",
    "AltruisticPolicy",
    "GreedyPolicy",
    "PoolJob",
    "PoolOutcome",
    "Reach",
    "run_pool",
]
