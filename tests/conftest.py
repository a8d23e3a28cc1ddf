"""Ctrl-C reaches every test as KeyboardInterrupt, whoever started this process and whatever it has loaded since.

A shell starts background jobs with SIGINT ignored, which Python and its children inherit.
"""

import signal

import pytest


@pytest.fixture(autouse=True)
def python_handles_ctrl_c():
    signal.signal(signal.SIGINT, signal.default_int_handler)
