//! The mechanisms for thin streams (Pedersen 2006 §4), one trace each. RTT is 100 ms.

use super::story::Story;

/// Three messages 50 ms apart, the first one lost.
fn first_of_three(profile: &str) -> String {
    let mut story = Story::new(profile, "", 50);
    story.lose(&[(1, 1)]);
    for i in 0..3 {
        story.say(50 * i, 1, 100);
    }
    story.end(5000)
}

/// A single message, lost twice.
fn single(profile: &str) -> String {
    let mut story = Story::new(profile, "", 50);
    story.lose(&[(1, 1), (1, 2)]);
    story.say(0, 1, 100);
    story.end(9000)
}

#[test]
fn without_any_of_them_the_timer_must_expire() {
    insta::assert_snapshot!(first_of_three("rfc9260"));
}

#[test]
fn fast_retransmit_after_one_sack() {
    insta::assert_snapshot!(first_of_three("rfc9260+thin-fast-retransmit"));
}

#[test]
fn fast_retransmit_after_one_sack_with_the_estimate() {
    insta::assert_snapshot!(first_of_three("rfc9260+thin-estimate+thin-fast-retransmit"));
}

#[test]
fn fast_retransmissions_carry_what_is_outstanding() {
    // Message 3 is lost too; it needs no SACK of its own.
    let mut story = Story::new("rfc9260+thin-fast-retransmit+thin-bundle-fast-retransmit", "", 50);
    story.lose(&[(1, 1), (3, 1)]);
    for i in 0..3 {
        story.say(50 * i, 1, 100);
    }
    insta::assert_snapshot!(story.end(5000));
}

#[test]
fn new_data_carries_what_is_outstanding() {
    insta::assert_snapshot!(first_of_three("rfc9260+thin-bundle-new"));
}

#[test]
fn full_packets_carry_nothing_else() {
    let mut story = Story::new("rfc9260+thin-bundle-new", "", 50);
    story.say(0, 1, 1000);
    story.say(50, 1, 1000);
    story.end(5000);
    assert_eq!(story.stats().retransmissions(), 0);
}

#[test]
fn the_timer_of_a_thin_stream_expires_sooner() {
    insta::assert_snapshot!(single("rfc9260+thin-rto-min"));
}

#[test]
fn the_timer_of_a_thin_stream_does_not_back_off() {
    insta::assert_snapshot!(single("rfc9260+thin-rto-min+thin-no-backoff"));
}

#[test]
fn the_timer_counts_from_the_transmission() {
    // Pedersen Figure 4.3: the SACK of message 1 restarts the timer of message 2.
    let run = |profile: &str| {
        let mut story = Story::new(profile, "", 50);
        story.lose(&[(2, 1)]);
        story.say(0, 1, 100);
        story.say(80, 1, 100);
        story.end(5000)
    };
    insta::assert_snapshot!("restarted_with_the_whole_rto", run("rfc9260"));
    insta::assert_snapshot!("restarted_with_what_is_left", run("rfc9260+rto-restart"));
}

#[test]
fn sacks_are_not_delayed() {
    let run = |profile: &str| {
        let mut story = Story::new(profile, "", 50);
        story.say(0, 1, 100);
        story.end(1000)
    };
    insta::assert_snapshot!("a_delayed_sack", run("rfc9260"));
    insta::assert_snapshot!("a_sack_at_once", run("rfc9260+no-sack-delay"));
}

#[test]
fn dynamic_rto_min_follows_the_ratio() {
    let mut story = Story::new("gonzalez-dynamic", "", 50);
    story.lose(&[(3, 1), (12, 1), (13, 1)]);
    for i in 0..16 {
        story.say(40 * i, 1, 100);
    }
    insta::assert_snapshot!(story.end(9000));
}

#[test]
fn a_bulk_transfer_is_not_thin() {
    let mut story = Story::new(
        "rfc9260+thin-fast-retransmit+thin-bundle-fast-retransmit+thin-bundle-new",
        "[limits]\nmax_burst = 0\n",
        50,
    );
    story.say(0, 200, 1400);
    story.until(90);
    let sent = story.stats().data_chunks_sent;
    assert!(sent > 2, "{sent}");
    story.end(9000);
    // Only while the window of the beginning is smaller than five packets is anything bundled,
    // and full packets have no room.
    assert_eq!(story.stats().retransmissions(), 0);
}
