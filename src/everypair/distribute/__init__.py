"""The same half-steps on a Dask cluster: shards of pairs and factors stay on workers (extra ``cluster``)."""

from everypair.distribute.cluster import Cluster

__all__ = ["Cluster"]
