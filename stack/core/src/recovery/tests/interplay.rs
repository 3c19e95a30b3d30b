//! Where one mechanism could hurt another, as the papers warn.

use super::story::Story;
use crate::endpoint::tests::Side;
use crate::profile::Profile;

#[test]
fn delayed_sacks_do_not_make_a_storm_of_the_low_rto_min() {
    // Pedersen §4.3.2: RTO.Min of 200 ms against a SACK delay of 200 ms, 20 ms RTT.
    let timeouts = |profile: &str, overrides: &str| {
        let sack = "[sack]\ndelay_ms = 200\nno_sack_delay = 'never'\n";
        let mut story = Story::new(profile, &format!("{sack}{overrides}"), 10);
        for i in 0..40 {
            story.say(250 * i, 1, 100);
        }
        story.end(15_000);
        story.stats().timeouts
    };
    // Without backoff, Karn's rule never lets the sender measure how long SACKs take.
    let papers = "[thin_no_backoff]\nbacks_off_if_spurious = false\n";
    let profile = "rfc9260+thin-rto-min+thin-no-backoff+rto-restart";
    assert!(timeouts(profile, papers) >= 40, "the storm");
    // Two spurious timeouts without a measurement in between are enough to learn.
    assert!(timeouts(profile, "") <= 2);
    assert!(timeouts("rfc9260+thin-rto-min+rto-restart", "") <= 1);
}

#[test]
fn the_default_profile_neither() {
    // The peer is a plain one, which delays its SACKs.
    let mut story = Story::between("tresse", "rfc9260", "[sack]\ndelay_ms = 200\n", 10, 1);
    for i in 0..40 {
        story.say(250 * i, 1, 100);
    }
    story.end(15_000);
    let stats = story.stats();
    assert!(stats.timeouts <= 2, "{} timeouts", stats.timeouts);
    assert!(stats.duplicates_reported <= 3, "{} duplicates", stats.duplicates_reported);
}

#[test]
fn reordering_fools_early_retransmit_once_at_most() {
    for (profile, most) in
        [("rfc9260+early-retransmit-packets+early-retransmit-switch-off", 1), ("tresse", 2)]
    {
        let mut story = Story::new(profile, "", 50);
        for burst in 0..10u64 {
            let n = 1 + 3 * burst as u32;
            story.delay_message(n, 15);
            for i in 0..3 {
                story.say(3000 * burst + 6 * i, 1, 100);
            }
        }
        story.end(60_000);
        let duplicates = story.stats().duplicates_reported;
        assert!(duplicates <= most, "{profile}: {duplicates} in ten bursts");
    }
}

#[test]
fn every_mechanism_survives_a_receiver_that_reneges() {
    // A full receiver drops what it has acknowledged (RFC 9260 §6.2).
    for mechanism in Profile::mechanisms().chain(["tresse"]) {
        let name = format!("rfc9260+{mechanism}");
        let mut story = Story::new(&name, "[sack]\ndelay_ms = 50\n", 50);
        story.lose(&[(2, 1), (5, 1), (2, 2)]);
        story.say(0, 30, 1000);
        story.until(300);
        let highest = story.pair.sent(Side::Z, tresse_wire::ChunkType::SACK).len();
        assert!(highest > 0);
        story.end(30_000);
    }
}
