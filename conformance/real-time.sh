#!/usr/bin/env bash
# Two experiments in real time through `tresse emulate`, and in the simulator:
#
#   conformance/real-time.sh TRESSE SIGNALLING [SECONDS]
#
# TRESSE is the program, SIGNALLING the example of that name of tresse-interop. hurtig/fig2: 80 associations
# that lose one packet each. pedersen/table3.4: 24 thin streams at once take SECONDS (75); the simulator runs
# one for 20 times as long as all of them together, so that only reality's numbers scatter. Prints averages
# side by side; ends with status 1 if one of hurtig/fig2, or of the first retransmissions by timeout or fast
# retransmit, differs by more than 5 %. As root, with jq.
set -euo pipefail

[ $# -ge 2 ] || {
    echo "usage: $0 TRESSE SIGNALLING [SECONDS]" >&2
    exit 2
}
tresse=$(realpath "$1")
signalling=$(realpath "$2")
seconds=${3:-75}
status=0
associations=24
longer=20
experiment=$(dirname "$0")/../crates/lab/experiments/pedersen/table3.4.toml
profile=(--profile pedersen-original --set rto.granularity_ms=12 --set congestion.ssthresh_floor=4)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
command -v jq >/dev/null || {
    echo "jq is missing: apt-get install jq" >&2
    exit 2
}

"$signalling" >"$folder/real.signalling"
"$tresse" lab run hurtig/fig2 --out "$folder/lab" >"$folder/said"
jq -r '.comparisons[].ours.value' "$folder/lab/hurtig/fig2/summary.json" | sed -n '1p;4,7p' >"$folder/simulated.signalling"
echo '| hurtig/fig2 | real time | simulated | difference |'
echo '|---|---:|---:|---:|'
paste "$folder/simulated.signalling" "$folder/real.signalling" | awk '
    {
        difference = ($3 - $1) / $1 * 100
        printf "| %s | %.1f | %.1f | %+.1f %% |\n", $2, $3, $1, difference
        if (difference > 5 || difference < -5) failed = 1
    }
    END { exit failed }
' || status=1
echo

tasks=(-- right: "$tresse" perf server "${profile[@]}" --json)
for _ in $(seq $associations); do
    tasks+=(-- left: "$tresse" perf client 10.77.0.2 --thin 100:256 -t "$seconds" "${profile[@]}" --json)
done
"$tresse" emulate "$experiment" --realtime --capture "$folder/real" "${tasks[@]}" >"$folder/said" || {
    cat "$folder/said" >&2
    exit 1
}

# Of all first retransmissions of a class: how many, and their average.
rows() {
    "$tresse" trace --json --missing-reports 4 "$1" |
        jq -r '.totals.sctp.retransmissions[] | select(.number == 1) | "\(.class) \(.count) \(.avg_ms)"'
}
rows "$folder/real/link0-left.pcapng" >"$folder/real.rows"
sed "s/^duration_s = .*/duration_s = $((associations * seconds * longer))/; s/^count = 40/count = 1/" "$experiment" \
    >"$folder/simulated.toml"
"$tresse" lab run "$folder/simulated.toml" --capture "$folder/simulated" --out "$folder/lab" >"$folder/said" || true
capture=$(find "$folder/simulated" -name '*.pcapng' | grep 'pedersen-original.*sender')
[ -n "$capture" ] || {
    cat "$folder/said" >&2
    exit 1
}
rows "$capture" >"$folder/simulated.rows"

echo '| pedersen/table3.4, first retransmission | real time: number | average, ms | simulated: number in that time | average, ms | difference |'
echo '|---|---:|---:|---:|---:|---:|'
awk -v tolerance=5 -v longer=$longer '
    NR == FNR { count[$1] = $2 / longer; average[$1] = $3; next }
    {
        difference = (average[$1] && $3) ? ($3 - average[$1]) / average[$1] * 100 : 0
        printf "| %s | %d | %.1f | %d | %.1f | %+.1f %% |\n", $1, $2, $3, count[$1], average[$1], difference
        if ($1 == "timeout-or-fast" && (difference > tolerance || difference < -tolerance)) failed = 1
    }
    END { exit failed }
' "$folder/simulated.rows" "$folder/real.rows" || status=1
exit $status
