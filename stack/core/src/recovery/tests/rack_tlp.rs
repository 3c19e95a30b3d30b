//! RACK, tail loss probes and Proportional Rate Reduction (RFC 8985, RFC 6937). RTT is 100 ms.

use super::story::Story;
use crate::ids::LossCause;

const QUICK: &str = "[sack]\ndelay_ms = 50\npeer_delay_ms = 50\n[tail_loss_probe]\n";

#[test]
fn rack_needs_one_sack_and_a_little_time() {
    let mut story = Story::new("rfc9260+rack", QUICK, 50);
    story.lose(&[(1, 1)]);
    story.say(0, 1, 100);
    story.say(10, 1, 100);
    insta::assert_snapshot!(story.end(5000));
}

#[test]
fn rack_waits_for_what_is_only_reordered() {
    let mut story = Story::new("rfc9260+rack", QUICK, 50);
    story.delay_message(1, 20);
    story.say(0, 1, 100);
    story.say(10, 1, 100);
    story.end(5000);
    assert_eq!(story.stats().retransmissions(), 0, "a quarter of the RTT is allowed");
}

/// RFC 8985 §6.2 step 4, and what differs from it: `count_while_app_limited`.
#[test]
fn after_reordering_three_sacks_prove_a_loss_if_that_is_asked_for() {
    let causes = |count: bool, messages: usize| {
        let more = format!("{QUICK}[rack]\ncount_while_app_limited = {count}\n");
        let mut story = Story::new("rfc9260+rack", &more, 50);
        story.delay_message(1, 20);
        story.lose(&[(3, 1)]);
        story.say(0, 1, 100);
        story.say(10, 1, 100);
        for i in 0..4 {
            story.say(1000 + 2 * i, messages, 1000);
        }
        story.end(5000);
        let lost = story.stats().lost_chunks;
        (lost[LossCause::FastRetransmit.index()], lost[LossCause::Rack.index()])
    };
    assert_eq!(causes(false, 1), (0, 1));
    assert_eq!(causes(true, 1), (1, 0));
    // What waits for the window is new data.
    assert_eq!(causes(true, 12), (0, 1));
}

#[test]
fn rack_finds_a_lost_retransmission() {
    let run = |profile: &str| {
        let mut story = Story::new(profile, QUICK, 50);
        story.lose(&[(1, 1), (1, 2)]);
        for i in 0..30 {
            story.say(10 * i, 1, 1000);
        }
        story.end(5000);
        story.stats().timeouts
    };
    assert_eq!(run("rfc9260"), 1);
    assert_eq!(run("rfc9260+rack"), 0);
}

/// RFC 5681 §4.3, RFC 8985 §9.3: behind a queue to half of RFC 9260's floor of ssthresh, else to that floor.
#[test]
fn the_loss_of_a_retransmission_lowers_the_window_again() {
    let lowered = |queue: bool, lost: &[(u32, u32)]| {
        let mut story = Story::new("rfc9260+rack", QUICK, 50);
        if queue {
            story.hold(0, 500);
        }
        story.lose(lost);
        story.say(0, 1, 1000);
        for i in 0..30 {
            story.say(1000 + 10 * i, 1, 1000);
        }
        let trace = story.end(9000);
        let by_loss = trace.lines().filter_map(|l| l[5..].strip_suffix(": Loss"));
        by_loss.map(|line| line.trim_start().to_owned()).collect::<Vec<_>>()
    };
    let once = "cwnd 5872 ssthresh 5872";
    for queue in [false, true] {
        assert_eq!(lowered(queue, &[(2, 1)]), [once]);
        assert_eq!(lowered(queue, &[(2, 1), (4, 1)]), [once], "of one window");
    }
    let (twice, three_times) = ([(2, 1), (2, 2)], [(2, 1), (2, 2), (2, 3)]);
    assert_eq!(lowered(false, &twice), [once; 2]);
    assert_eq!(lowered(false, &three_times), [once; 3]);
    let half = "cwnd 2936 ssthresh 2936";
    assert_eq!(lowered(true, &twice), [once, half]);
    assert_eq!(lowered(true, &three_times), [once, half, "cwnd 1468 ssthresh 2936"]);
}

/// RFC 4015 step 8: what the timer declared lost is in flight again, and may be lost indeed.
#[test]
fn rack_finds_what_was_lost_beside_a_spurious_timeout() {
    let mut story = Story::new("rfc9260+rack+eifel-retransmit-bit", QUICK, 50);
    story.hold(0, 1100);
    story.lose(&[(3, 1), (4, 1)]);
    story.say(0, 4, 1000);
    story.say(1250, 1, 1000);
    story.end(1500);
    let stats = story.stats();
    assert_eq!((stats.timeouts, stats.spurious_timeouts), (1, 1));
    assert_eq!(stats.retransmissions_by(LossCause::Rack), 2);
}

/// RFC 8985 §6.3 spares what is too young to be lost. T3-rtx may expire within the reordering window; then
/// the earliest chunk is lost, and all that was in its packet.
#[test]
fn a_timeout_repeats_the_whole_packet() {
    let quick = format!("{QUICK}[rto]\nmin_ms = 110\n");
    let mut story = Story::new("rfc9260+rack", &quick, 50);
    for i in 0..30 {
        story.say(200 * i, 1, 100);
    }
    story.lose(&[(31, 1), (32, 1), (33, 1)]);
    story.say(6000, 3, 100);
    story.end(9000);
    assert_eq!(story.stats().timeouts, 1);
    assert_eq!(story.stats().retransmissions_by(LossCause::Timeout), 3);
}

#[test]
fn a_probe_finds_the_loss_of_the_tail() {
    let mut story = Story::new("rfc9260+rack-tlp", QUICK, 50);
    story.lose(&[(3, 1), (4, 1)]);
    for i in 0..4 {
        story.say(10 * i, 1, 100);
    }
    insta::assert_snapshot!(story.end(5000));
    assert_eq!(story.stats().timeouts, 0);
}

#[test]
fn a_probe_does_not_wait_for_a_sack_that_was_asked_for() {
    let mut story = Story::new("rfc9260+prompt-probe", "", 50);
    story.lose(&[(1, 1)]);
    story.say(0, 1, 100);
    insta::assert_snapshot!(story.end(5000));
}

/// RFC 9002 §6.2.1: chunk 1, which is sent three times, is lost twice with all that might tell of it.
#[test]
fn a_probe_that_is_lost_is_sent_again_after_twice_the_time() {
    let mut story = Story::new("rfc9260+rack-tlp+probe-again", QUICK, 50);
    story.say(0, 1, 100);
    story.lose(&[(2, 1), (2, 2)]);
    story.say(1000, 1, 100);
    insta::assert_snapshot!(story.end(5000));
    let stats = story.stats();
    assert_eq!((stats.tail_loss_probes, stats.timeouts), (2, 0));
}

/// They stop at their number, and at T3-rtx, which expires when it would have with a single probe.
#[test]
fn probes_in_a_row_leave_the_timer_as_it_is() {
    let run = |probes: u32, rto_ms: u64| {
        let more = format!("{QUICK}in_a_row = {probes}\n[rto]\nmin_ms = {rto_ms}\n");
        let mut story = Story::new("rfc9260+rack-tlp", &more, 50);
        story.lose(&[(1, 1), (1, 2), (1, 3), (1, 4), (1, 5)]);
        story.say(0, 1, 100);
        // The first probe leaves after some 310 ms, and starts the timer again.
        story.until(rto_ms + 400);
        (story.stats().tail_loss_probes, story.stats().timeouts)
    };
    assert_eq!(run(1, 10_000), (1, 1));
    assert_eq!(run(2, 10_000), (2, 1));
    assert_eq!(run(4, 10_000), (4, 1));
    assert_eq!(run(4, 1000), (2, 1), "the third would be later than T3-rtx");
}

/// A chunk that was sent twice more and is reported once as a duplicate was lost once: that was congestion.
#[test]
fn two_probes_and_one_report_of_a_duplicate_cut_the_window() {
    let cuts = |lost: &[(u32, u32)], delay: u64| {
        let mut story = Story::new("rfc9260+rack-tlp+probe-again", QUICK, 50);
        story.lose(lost);
        story.delay_message(2, delay);
        story.say(0, 1, 100);
        story.say(10, 1, 100);
        story.say(3000, 1, 100);
        let told = story.end(6000);
        (story.stats().tail_loss_probes, told.matches("cwnd").count())
    };
    assert_eq!(cuts(&[(2, 1)], 0), (1, 1), "one lost, one probe");
    assert_eq!(cuts(&[(2, 2)], 1200), (2, 1), "late, one of two probes lost");
    assert_eq!(cuts(&[], 1200), (1, 0), "late, and the probe is reported");
}

#[test]
fn a_probe_that_repairs_the_only_loss_cuts_the_window() {
    let mut story = Story::new("rfc9260+rack-tlp", QUICK, 50);
    story.lose(&[(2, 1)]);
    story.say(0, 1, 100);
    story.say(10, 1, 100);
    story.say(1500, 1, 100);
    insta::assert_snapshot!(story.end(5000));
}

#[test]
fn a_probe_sends_new_data_first() {
    // The window is full; the probe is the one packet beyond it.
    let mut story = Story::new("rfc9260+rack-tlp", QUICK, 50);
    story.lose(&[(1, 1), (2, 1), (3, 1), (4, 1)]);
    story.say(0, 12, 1400);
    insta::assert_snapshot!(story.end(9000));
}

#[test]
fn rate_reduction_has_no_pause() {
    let run = |profile: &str| {
        let mut story = Story::new(profile, "[limits]\nmax_burst = 0\n[sack]\npackets = 1\n", 50);
        story.say(0, 60, 1400);
        story.until(400);
        story.lose(&[(70, 1)]);
        story.say(400, 120, 1400);
        story.end(9000)
    };
    insta::assert_snapshot!("halved_at_once", run("rfc9260"));
    insta::assert_snapshot!("halved_in_proportion", run("rfc9260+prr"));
}
