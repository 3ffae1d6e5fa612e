"""Real YARN clusters behind Heddle for the tests of whoever writes jobs: a pytest plugin, and what it is made of.

The extra `testing` of the package brings the fixtures `yarn_federation` (clusters as processes of this machine) and
`yarn_containers` (clusters in containers). Both are a `Federation`.
"""

from heddle.testing.engines import hadoop_fs, hadoop_jar, spark_submit, tez_program
from heddle.testing.federation import Application, Cluster, Federation, FederationError, MissingProgramError, Settings
from heddle.testing.local import LocalFederation

__all__ = [
    "Application",
    "Cluster",
    "Federation",
    "FederationError",
    "LocalFederation",
    "MissingProgramError",
    "Settings",
    "hadoop_fs",
    "hadoop_jar",
    "spark_submit",
    "tez_program",
]
