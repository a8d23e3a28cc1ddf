"""Asserts of the contract kit show their values, wherever it is imported first."""

import pytest

pytest.register_assert_rewrite("everypair.testing")
