"""Facts about Spark jobs: stages and their counts by the driver's web service, their edges by its event log.

A driver runs one job after the other, and asks for executors, not for tasks. Nothing of it is on the path of an
allocate call.
"""

from adapters.spark.driver import SparkStages
from adapters.spark.event_logs import SparkEventLogs

__all__ = ["SparkEventLogs", "SparkStages"]
