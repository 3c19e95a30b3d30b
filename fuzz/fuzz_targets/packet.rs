//! Any bytes as an SCTP packet: no panic, and writing what was read preserves its meaning.
//!
//! The checksum need not be right, since a fuzzer cannot guess it.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../stack/wire/tests/wire/reemit.rs"]
mod reemit;

fuzz_target!(|bytes: &[u8]| reemit::check_packet(bytes));
