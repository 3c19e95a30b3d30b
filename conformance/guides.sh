#!/usr/bin/env bash
# Plays each block of the guides and of the pages beside them, with the command that is installed (`tresse` in PATH).
#
#     conformance/guides.sh [OPTION OF blocks.py...]
set -euo pipefail
cd "$(dirname "$0")/.."
# Two only say how something is written; others take many minutes.
conformance/blocks.py --installed --leave-out PROGRAM --leave-out 9464 --leave-out run.pcapng \
    --leave-out "lab run pedersen" --leave-out "--worlds 0..300" --leave-out "--example precision" --leave-out table3.4 \
    "$@" docs/guides/*.md docs/experiments.md docs/emulate.md
