#!/usr/bin/env bash
# Makes pages of every kind and asks them in headless Chromium what they show:
#
#   conformance/pages.sh TRESSE [PAGE]...
#
# TRESSE is the program. Every further PAGE is asked, too. PICTURES=DIR keeps pictures of all of them.
# Needs chromium and chromium-driver (Debian).
set -euo pipefail

[ $# -ge 1 ] || {
    echo "usage: $0 TRESSE [PAGE]..." >&2
    exit 2
}
tresse=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")")
pages=()
for page in "$@"; do
    pages+=("$(realpath "$page")")
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
pictures=()
if [ -n "${PICTURES:-}" ]; then
    mkdir -p "$PICTURES"
    pictures=(--pictures "$(realpath "$PICTURES")")
fi
cd "$folder"

"$tresse" lab run hurtig/fig2 hurtig/fig3 >log 2>&1 || { cat log; exit 1; }
"$tresse" lab run mechanisms/rack-tlp --capture captures >log 2>&1 || { cat log; exit 1; }
"$tresse" lab run hurtig/fig2 --set 'topology.delay_ms=[30]' --out other >log 2>&1 || { cat log; exit 1; }
# Its exit status says that results differ.
"$tresse" lab compare hurtig/fig2 results other --page compared/index.html >log 2>&1 || [ $? -eq 1 ] || { cat log; exit 1; }
"$tresse" lab report >log 2>&1 || { cat log; exit 1; }
"$tresse" trace --out traced captures/rfc9260_*.sender.pcapng --receiver captures/rfc9260_*.receiver.pcapng \
    --against captures/rfc9260+rack-tlp_*.sender.pcapng --against-receiver captures/rfc9260+rack-tlp_*.receiver.pcapng >log 2>&1 || { cat log; exit 1; }

"$here/pages.py" "${pictures[@]}" results/index.html results/hurtig/index.html results/hurtig/fig2/index.html \
    results/hurtig/fig3/index.html results/mechanisms/rack-tlp/index.html compared/index.html traced/index.html traced/compared.html \
    "${pages[@]}"
