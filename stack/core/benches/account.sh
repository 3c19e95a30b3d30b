#!/bin/bash
# What the account of memory costs: instructions that the benchmark `pair` takes with it and without it, for each
# round of its exchange. Instructions, as times differ by more than that. Fails above 1 %. Needs valgrind.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
target=${CARGO_TARGET_DIR:-../../target}

# build NAME FLAGS: the benchmark as $folder/NAME.
build() {
  RUSTFLAGS=$2 cargo bench -q -p tresse-core --bench pair --no-run --target-dir "$target/account-$1" \
    --message-format json 2>/dev/null | grep -o '"executable":"[^"]*/pair-[^"]*"' | cut -d'"' -f4 |
    xargs -I{} cp {} "$folder/$1"
}

. benches/instructions.sh

build with ""
build without "--cfg tresse_without_account"
too_much=0
for size in 50 1200 65536; do
  with=$(count "$folder/with" $size) without=$(count "$folder/without" $size)
  awk -v s=$size -v w="$with" -v o="$without" \
    'BEGIN { printf "%5d bytes: %d instructions, %d without, %+.2f %%\n", s, w, o, (w / o - 1) * 100
      exit w / o > 1.01 }' || too_much=1
done
exit $too_much
