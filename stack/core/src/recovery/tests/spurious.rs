//! Spurious retransmissions (Ladha et al.), one trace for each detector. RTT is 100 ms.

use super::story::Story;
use crate::endpoint::tests::{Pair, Side, profile};
use crate::ids::LossCause;

const QUICK: &str = "
[rto]
min_ms = 200
[sack]
delay_ms = 50
";

/// Eight full packets; all of the data is held up for a while, so that T3-rtx expires.
fn spike(profile: &str) -> (Story, String) {
    let mut story = Story::new(profile, QUICK, 50);
    story.hold(0, 500);
    story.say(0, 4, 1000);
    story.say(510, 8, 1000);
    let trace = story.end(6000);
    (story, trace)
}

#[test]
fn plain_sctp_goes_back_n() {
    let (mut story, trace) = spike("rfc9260");
    insta::assert_snapshot!(trace);
    assert_eq!(story.stats().spurious_timeouts, 0);
}

#[test]
fn eifel_by_timestamp_resumes_with_new_data() {
    let (mut story, trace) = spike("rfc9260+eifel-timestamp");
    insta::assert_snapshot!(trace);
    assert_eq!(story.stats().spurious_timeouts, 1);
}

#[test]
fn eifel_by_retransmit_bit_resumes_with_new_data() {
    let (mut story, trace) = spike("rfc9260+eifel-retransmit-bit");
    insta::assert_snapshot!(trace);
    assert_eq!(story.stats().spurious_timeouts, 1);
}

#[test]
fn dup_tsn_knows_after_the_recovery() {
    let (mut story, trace) = spike("rfc9260+dup-tsn");
    insta::assert_snapshot!(trace);
    assert_eq!(story.stats().spurious_timeouts, 1);
}

#[test]
fn f_rto_sends_new_data_to_find_out() {
    let mut story = Story::new("rfc9260+f-rto", QUICK, 50);
    story.hold(0, 500);
    story.say(0, 12, 1000);
    insta::assert_snapshot!(story.end(6000));
    assert_eq!(story.stats().spurious_timeouts, 1);
}

#[test]
fn a_real_loss_is_not_called_spurious() {
    for profile in ["eifel-timestamp", "eifel-retransmit-bit", "dup-tsn", "f-rto"] {
        let mut story = Story::new(&format!("rfc9260+{profile}"), QUICK, 50);
        // All that the first window holds.
        story.lose(&(1..=8).map(|n| (n, 1)).collect::<Vec<_>>());
        story.say(0, 12, 1000);
        story.end(9000);
        let stats = story.stats();
        assert!(stats.timeouts > 0, "{profile}");
        assert_eq!(stats.spurious_timeouts, 0, "{profile}");
        assert_eq!(stats.spurious_fast_retransmits, 0, "{profile}");
    }
}

#[test]
fn the_first_data_of_an_association_is_echoed_too() {
    // No SACK was sent before that could tell what is in sequence.
    let mut config = profile("rfc9260+eifel-timestamp", QUICK);
    config.no_delay = true;
    let (mut pair, a, z) = Pair::connected(&config, 1);
    let mut lost = false;
    pair.drop = Box::new(move |packet| {
        let first = !lost && !packet.tsns().is_empty();
        lost |= first;
        first
    });
    pair.send(Side::A, a, 0, vec![0; 100]);
    pair.run(std::time::Duration::from_secs(5));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    let stats = pair.end(Side::A).stats(a).expect("it is open");
    assert_eq!((stats.timeouts, stats.spurious_timeouts), (1, 0));
}

/// A packet overtaken by four others.
fn reordered(profile: &str) -> (Story, String) {
    let mut story = Story::new(profile, QUICK, 50);
    story.delay_message(1, 45);
    for i in 0..6 {
        story.say(10 * i, 1, 1000);
    }
    let trace = story.end(6000);
    (story, trace)
}

#[test]
fn spurious_fast_retransmit_by_timestamp() {
    let (mut story, trace) = reordered("rfc9260+eifel-timestamp");
    insta::assert_snapshot!(trace);
    assert_eq!(story.stats().spurious_fast_retransmits, 1);
}

#[test]
fn spurious_fast_retransmit_by_each_detector() {
    for profile in ["eifel-retransmit-bit", "dup-tsn", "eifel-retransmit-bit+dup-tsn"] {
        let (mut story, trace) = reordered(&format!("rfc9260+{profile}"));
        assert_eq!(story.stats().spurious_fast_retransmits, 1, "{profile}\n{trace}");
    }
}

#[test]
fn early_retransmit_stops_when_it_was_wrong() {
    let mut story =
        Story::new("rfc9260+early-retransmit-packets+early-retransmit-switch-off", QUICK, 50);
    story.delay_message(1, 45);
    for i in 0..3 {
        story.say(10 * i, 1, 100);
    }
    story.until(2000);
    let early = |s: &mut Story| s.stats().retransmissions_by(LossCause::EarlyRetransmitPackets);
    assert_eq!(early(&mut story), 1, "it is fooled once");
    story.delay_message(4, 45);
    for i in 0..3 {
        story.say(2000 + 10 * i, 1, 100);
    }
    story.end(6000);
    assert_eq!(early(&mut story), 1, "and not again");
}

/// Ladha et al., Figure 5: DATA 11 is lost and DATA 12 late; both are retransmitted in one packet.
/// The SACK of the late DATA 12... is answered before that packet arrives.
fn figure_5(overrides: &str) -> (u64, u64) {
    // Messages 1 and 2 are "11" and "12". 2 is reordered, 1 is lost, so that the SACK which
    // acknowledges 2 first is an acceptable ack only for those that do not wait for the cover.
    let mut story = Story::new("rfc9260+eifel-timestamp", &format!("{QUICK}{overrides}"), 50);
    story.lose(&[(2, 1)]);
    story.delay_message(1, 45);
    for i in 0..6 {
        story.say(10 * i, 1, 100);
    }
    story.end(6000);
    let stats = story.stats();
    (stats.retransmissions(), stats.spurious_fast_retransmits)
}

#[test]
fn bundled_retransmissions_fool_plain_eifel_and_not_the_cover_ack() {
    let (retransmitted, spurious) = figure_5("[eifel_timestamp]\ncover_ack = false\n");
    assert_eq!((retransmitted, spurious), (2, 1), "the loss of message 2 is called spurious");
    let (retransmitted, spurious) = figure_5("");
    assert_eq!((retransmitted, spurious), (2, 0));
}

#[test]
fn what_the_peer_does_not_offer_is_silently_off() {
    for extension in ["eifel-timestamp", "eifel-retransmit-bit"] {
        let ours = format!("rfc9260+{extension}");
        let mut story = Story::between(&ours, "rfc9260", QUICK, 50, 1);
        story.hold(0, 500);
        story.say(0, 4, 1000);
        story.end(6000);
        assert_eq!(story.stats().spurious_timeouts, 0);
        for packet in &story.pair.log {
            assert!(!packet.carries(tresse_wire::ChunkType::TIMESTAMP));
            assert!(packet.data().iter().all(|d| !d.flags.retransmission));
            assert!(packet.sack().is_none_or(|s| !s.flags.retransmission));
        }
        assert!(!story.pair.saw(Side::A, |e| matches!(e, crate::Event::PeerError { .. })));
    }
}

#[test]
fn a_dead_alternate_path_does_not_let_its_window_grow() {
    // Ladha et al. §4, Figure 3: the spike is on the primary path, retransmissions go to the
    // alternate, which is dead; acks of the originals are credited to it.
    let overgrowth = |profile: &str| {
        let mut story = Story::between(profile, profile, QUICK, 50, 2);
        let primary = crate::ids::PathId(0);
        story.hold(350, 1000);
        story.lose_if(move |packet| {
            let second = packet.from == Side::A && packet.to.path != Some(primary);
            second && !packet.data().is_empty()
        });
        story.say(0, 300, 1000);
        story.end(20_000);
        let a = story.a;
        let paths = story.pair.end(Side::A).path_stats(a);
        let initial = 4404;
        (paths[1].cwnd.saturating_sub(initial), story.stats().spurious_timeouts)
    };
    let (plain, _) = overgrowth("ladha-plain");
    let (eifel, found) = overgrowth("ladha-eifel-rbit");
    assert!(found >= 1);
    assert!(eifel <= plain, "{eifel} bytes too many with Eifel, {plain} without");
}
