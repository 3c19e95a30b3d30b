"""Tresse: SCTP whose speciality is recovering from loss, and the laboratory that proves it.

The laboratory: `Experiment` runs what a TOML file or a dictionary describes, `campaign` runs several, on this machine or
on a Dask cluster; results are tables with units. `Link` is a model of a network link, `read_capture` analyses captures.

The stack: `Endpoint` and `Association` are SCTP (RFC 9260) on asyncio, in UDP datagrams (RFC 6951) or on raw IP.

>>> import tresse
>>> tresse.Experiment("hurtig/fig2").title  # doctest: +ELLIPSIS
'...'
"""

import atexit
import os

from . import _native
from ._native import ClosedError, LabError, TresseError, version
from ._tables import units
from .aio import Association, Endpoint, Message
from .campaigns import campaign
from .captures import Capture, read_capture
from .lab import Experiment, Result, experiments, sweep
from .links import Link
from .profiles import Profile, profiles

# No thread may call Python once the interpreter ends.
atexit.register(_native.shut_down)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_native.forked)

__all__ = [
    "Association",
    "Capture",
    "ClosedError",
    "Endpoint",
    "Experiment",
    "LabError",
    "Link",
    "Message",
    "Profile",
    "Result",
    "TresseError",
    "campaign",
    "experiments",
    "profiles",
    "read_capture",
    "sweep",
    "units",
    "version",
]
