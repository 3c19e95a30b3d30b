"""What tests share."""

import pytest

SMALL = """
id = "test/small"
title = "Small"
summary = "For tests."

[topology]
bandwidth_kbps = [1000, 2000]
delay_ms = [10]

[[profile]]
name = "rfc9260"
label = "RFC 9260"

[workload.bursts]
count = 4
ignore = 2
size = 3
gap_ms = 300
message_bytes = 200

[loss]
drop = "each-data-packet"

[metric]
kind = "mtt"
"""


@pytest.fixture
def small() -> str:
    return SMALL
