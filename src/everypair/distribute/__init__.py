"""The same half-steps on a Dask cluster: shards of pairs and factors stay on workers (extra ``cluster``)."""

from everypair.distribute.cluster import Cluster
from everypair.distribute.solving.shard_checkpoint import ShardCheckpoint

__all__ = ["Cluster", "ShardCheckpoint"]
