# Short names for what people run most. `just` lists them; .ci/run is the whole check.

_default:
    @just --list

# Every test; those that need a peer that is not installed say so.
test *ARGS:
    cargo test {{ARGS}}

# Format, clippy, dependencies.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo deny check

# API documentation, warnings are errors.
doc *ARGS:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps {{ARGS}}

# The header of the C library, made again (needs cbindgen).
header:
    cd sockets/capi && cbindgen --quiet --config cbindgen.toml --output include/tresse/sctp.h .

# The pages in docs/rfc/, made again from the citations in the code.
rfc:
    TRESSE_WRITE_PAGES=1 cargo test -q -p tresse-tidy --test rfc

# docs/links.md, docs/metrics.md and docs/profile-keys.md, made again from the code.
pages:
    TRESSE_WRITE_PAGES=1 cargo test -q -p tresse-tidy --test tidy keys
    TRESSE_WRITE_PAGES=1 cargo test -q -p tresse-netem --test page
    TRESSE_WRITE_PAGES=1 cargo test -q -p tresse-lab --lib metric

# The C library with its header: PREFIX=/usr/local DESTDIR= just install-c
install-c:
    sockets/capi/install.sh

# Benchmarks: just bench -p tresse-core scoreboard
bench *ARGS:
    cargo bench {{ARGS}}

# Ten minutes of fuzzing (needs cargo-fuzz and a nightly toolchain): just fuzz packet
fuzz TARGET SECONDS="600":
    cargo +nightly fuzz run {{TARGET}} -- -max_total_time={{SECONDS}}

# The laboratory: just lab run hurtig/fig2
lab *ARGS:
    cargo lab {{ARGS}}

# The matrix against independent stacks; a missing peer is a failure. just interop --quick
interop *ARGS:
    TRESSE_REQUIRE_PEERS=1 conformance/interop/run {{ARGS}}
