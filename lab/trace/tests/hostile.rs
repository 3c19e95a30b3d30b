//! No bytes stop an analysis.

use std::io::Cursor;

use proptest::prelude::*;
use tresse_trace::capture::Capture;
use tresse_trace::listing::Listing;
use tresse_trace::{Options, Skipped, Trace};

/// A simulated transfer with losses, as the sender's host captured it.
const SIMULATED: &[u8] = include_bytes!("captures/simulated.pcapng");

fn trace(bytes: &[u8]) -> (u64, u64, Skipped) {
    let mut trace = Trace::new(Options::default());
    let mut text = Vec::new();
    let mut listing = Listing::new(&mut text);
    if let Ok(capture) = Capture::read("test", Cursor::new(bytes.to_vec())) {
        trace.read(capture, &mut listing);
    }
    trace.finish(&mut listing);
    listing.finish().expect("memory");
    let totals = trace.totals();
    (totals.analysed, totals.sctp.data, totals.skipped)
}

#[test]
fn truncation_at_every_place_is_survived() {
    let (whole, data, skipped) = trace(SIMULATED);
    assert!(whole > 30 && data > 10 && skipped == Skipped::default(), "{skipped:?}");
    let mut before = 0;
    for length in 0..SIMULATED.len().min(6000) {
        let (analysed, _, _) = trace(&SIMULATED[..length]);
        assert!(analysed >= before, "{length} bytes");
        before = analysed;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_damage_is_survived(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut bytes = SIMULATED.to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        trace(&bytes);
    }
}
