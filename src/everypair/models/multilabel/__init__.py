"""Multi-label classifiers: scores of rows and labels, with labels missing or not."""

from everypair.models.multilabel.kernel_labels import KernelLabels
from everypair.models.multilabel.mf import MultiLabelMF
from everypair.models.multilabel.parameters import Kernel

__all__ = ["Kernel", "KernelLabels", "MultiLabelMF"]
