# For scripts that count instead of timing, since times differ by more than what they look for. Needs valgrind.

# count BINARY SIZE: instructions of one exchange of messages of SIZE bytes, by the benchmark `pair` that was built as BINARY.
count() {
  local profile
  profile=$(mktemp)
  valgrind -q --tool=callgrind --callgrind-out-file="$profile" "$1" --bench --profile-time 1 "pair/$2\$" > /dev/null 2>&1
  callgrind_annotate --inclusive=yes --tree=calling --threshold=100 "$profile" 2> /dev/null | tr -d , |
    sed -nE 's/^ *([0-9]+) .*=> .*Pair::exchange .*\(([0-9]+)x\).*/\1 \2/p' | sort -n -k2 | tail -1 |
    awk '{ printf "%.0f", $1 / $2 }'
  rm "$profile"
}
