#!/usr/bin/env bash
# unchanged.sh COMMIT [SEEDS]: whether what is checked out does what COMMIT did, for changes that shall move nothing. The packets
# of random fault worlds, which draw every profile, mechanism and extension, are compared one by one (the first SEEDS of each of
# seven families, 500 by default); and the instructions of the benchmark `pair`, which may be 3 % more. Needs valgrind.
# It takes some ten minutes. Worlds draw among the profiles that there are: a commit that adds one shifts them all, and shows nothing.
# Worlds that differ are named with their seeds, twenty of them: `TRESSE_SEED=n` replays one (docs/faults.md).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -lt 1 ]; then
    echo "usage: conformance/unchanged.sh COMMIT [SEEDS]" >&2
    exit 2
fi
base=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "no commit $1" >&2; exit 2; }
for tool in valgrind callgrind_annotate; do
    command -v $tool >/dev/null || { echo "needs $tool: apt install valgrind" >&2; exit 2; }
done
export TRESSE_DIGESTS=${2:-500} CARGO_TERM_COLOR=never
scratch=$(mktemp -d)
trap 'git worktree remove --force "$scratch/then"; rm -rf "$scratch"' EXIT
git worktree add --quiet --detach "$scratch/then" "$base"
# The worlds of today in both, as far as they compile there.
rm -r "$scratch/then/lab/sim/tests/faults"
cp -r lab/sim/tests/faults "$scratch/then/lab/sim/tests/"

# Digests of the worlds, by what is in the folder $1.
digests() {
    (cd "$1" && cargo test -q -p tresse-sim --test faults packets_of_many_seeds -- --nocapture) | grep '^digest '
}

# The benchmark of the folder $1 as $scratch/$2.
build() {
    (cd "$1" && cargo bench -q -p tresse-core --bench pair --no-run --message-format json) |
        grep -o '"executable":"[^"]*/pair-[^"]*"' | cut -d'"' -f4 | xargs -I{} cp {} "$scratch/$2"
}

. stack/core/benches/instructions.sh

failed=0
digests "$scratch/then" >"$scratch/then.txt"
digests . >"$scratch/now.txt"
differ=$(comm -13 <(sort "$scratch/then.txt") <(sort "$scratch/now.txt") | cut -d' ' -f2,3)
echo "$(wc -l <"$scratch/now.txt") worlds, $(grep -c . <<<"$differ" || true) of them with other packets"
if [ -n "$differ" ]; then
    head -n 20 <<<"$differ"
    failed=1
fi
build "$scratch/then" pair-then
build . pair-now
for size in 50 1200 65536; do
    was=$(count "$scratch/pair-then" $size) is=$(count "$scratch/pair-now" $size)
    awk -v s=$size -v n="$is" -v t="$was" 'BEGIN {
        printf "%5d bytes: %d instructions, %d then, %+.2f %%\n", s, n, t, (n / t - 1) * 100
        exit n / t > 1.03 }' || failed=1
done
exit $failed
