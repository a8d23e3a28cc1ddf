"""Multi-label classifiers: scores of rows and labels, with labels missing or not."""

from everypair.models.multilabel.mf import MultiLabelMF

__all__ = ["MultiLabelMF"]
