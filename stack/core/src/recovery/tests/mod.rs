//! One scenario per algorithm, as a packet trace.
//!
//! The sender emits small messages, one packet each, over 15 ms one way; RTO is 200 ms at first
//! and 100 to 400 ms afterwards, SACKs are delayed by at most 40 ms (Hurtig & Brunstrom, Table 1).
//! A warm-up exchange settles RTO at its minimum. Times are milliseconds after the burst.

mod interplay;
mod kernel;
mod rack_tlp;
mod spurious;
mod story;
mod thin;

use std::fmt::Write as _;
use std::time::Duration;

use crate::endpoint::tests::{Pair, Side, profile};
use crate::event::TraceEvent;
use crate::time::Time;

const SIGNALLING: &str = "
[rto]
initial_ms = 200
min_ms = 100
max_ms = 400
[sack]
delay_ms = 40
";

/// A burst, what is lost of it, and what the recovery did.
struct Scenario<'a> {
    profile: &'a str,
    messages: usize,
    bytes: usize,
    /// Numbers of the DATA packets dropped, from 1.
    lost: &'a [u64],
    /// Messages sent when this many milliseconds have passed.
    later: Option<(u64, usize)>,
}

impl Scenario<'_> {
    fn trace(&self) -> String {
        let mut config = profile(self.profile, SIGNALLING);
        config.bundling = false;
        config.no_delay = true;
        let mut pair = Pair::new(&config, 1);
        pair.delay = Duration::from_millis(15);
        let (a, z) = pair.connect(&config);
        for _ in 0..4 {
            pair.send(Side::A, a, 0, vec![0; 200]);
            pair.run(Duration::from_millis(200));
        }
        let warm_up = traces(&mut pair);
        let mut sent = warm_up.iter().filter_map(|(_, e)| match e {
            TraceEvent::Sent { tsn, .. } => Some(tsn.0),
            _ => None,
        });
        let first = sent.next_back().expect("the warm-up sent something").wrapping_add(1);
        let mut lost: Vec<u32> =
            self.lost.iter().map(|n| first.wrapping_add(*n as u32 - 1)).collect();
        pair.drop = Box::new(move |packet| {
            let tsns = packet.tsns();
            let before = lost.len();
            lost.retain(|tsn| !tsns.contains(tsn));
            lost.len() < before
        });
        let start = pair.now;
        for _ in 0..self.messages {
            pair.send(Side::A, a, 0, vec![0; self.bytes]);
        }
        if let Some((after, messages)) = self.later {
            pair.run(Duration::from_millis(after));
            for _ in 0..messages {
                pair.send(Side::A, a, 0, vec![0; self.bytes]);
            }
        }
        pair.run(Duration::from_secs(2));
        let expected = 4 + self.messages + self.later.map_or(0, |(_, n)| n);
        assert_eq!(pair.recv_all(Side::Z, z).len(), expected);
        render(&traces(&mut pair), start, first)
    }
}

fn traces(pair: &mut Pair) -> Vec<(Time, TraceEvent)> {
    std::iter::from_fn(|| pair.end(Side::A).poll_trace()).map(|(_, at, e)| (at, e)).collect()
}

fn render(traces: &[(Time, TraceEvent)], start: Time, first: u32) -> String {
    let number = |tsn: tresse_wire::Tsn| tsn.0.wrapping_sub(first).wrapping_add(1).cast_signed();
    let mut text = String::new();
    for (at, event) in traces {
        let line = match event {
            TraceEvent::Sent { tsn, transmission, cause, .. } => match cause {
                None => format!("send {}", number(*tsn)),
                Some(cause) => {
                    format!("send {} again ({transmission}): {}", number(*tsn), cause.name())
                }
            },
            TraceEvent::Sacked { cumulative, gap_blocks, duplicates, .. } => {
                format!("sack {} gaps {gap_blocks} dups {duplicates}", number(*cumulative))
            }
            TraceEvent::Lost { tsn, cause, misses, .. } => {
                format!("lost {} after {misses} misses: {}", number(*tsn), cause.name())
            }
            TraceEvent::ExtraPacket { .. } => "limited transmit".to_owned(),
            TraceEvent::TimerExpired { rto, .. } => {
                format!("T3-rtx expired, RTO now {} ms", rto.as_millis())
            }
            TraceEvent::TimerArmed { at, .. } => {
                format!("T3-rtx set to {} ms", at.since(start).as_millis())
            }
            TraceEvent::Window { cwnd, ssthresh, cause, .. } => {
                format!("cwnd {cwnd} ssthresh {ssthresh}: {cause:?}")
            }
            TraceEvent::Reneged { tsn } => format!("reneged {}", number(*tsn)),
            TraceEvent::Spurious { timeout, by, .. } => {
                let what = if *timeout { "timeout" } else { "loss" };
                format!("spurious {what}: {}", by.name())
            }
            TraceEvent::RtoMin { rto_min } => format!("RTO.Min now {} ms", rto_min.as_millis()),
            TraceEvent::Abandoned { tsn, chunks } => {
                format!("abandoned {chunks} from {}", number(*tsn))
            }
            TraceEvent::Forwarded { tsn, streams, .. } => {
                format!("forward to {} on {streams} streams", number(*tsn))
            }
            TraceEvent::PassedOver { tsn, streams, dropped, .. } => {
                format!("passed over to {} on {streams} streams: {dropped} dropped", number(*tsn))
            }
            TraceEvent::PartialDeliveryAborted { tsn, .. } => {
                format!("the rest of {} does not come", number(*tsn))
            }
            TraceEvent::DropReport { helped, .. } => {
                format!("drop report{}", if *helped { "" } else { ", ignored" })
            }
            TraceEvent::EcnGivenUp { .. } => "ECN given up".to_owned(),
            TraceEvent::Mtu { new, cause, .. } => format!("path MTU {new}: {}", cause.name()),
            TraceEvent::Rtt { .. } | TraceEvent::MtuSearch { .. } | TraceEvent::MtuProbe { .. } => {
                continue;
            }
        };
        writeln!(text, "{:4} {line}", at.since(start).as_millis()).expect("a string grows");
    }
    text
}

fn burst(profile: &str, messages: usize, lost: &[u64]) -> String {
    Scenario { profile, messages, bytes: 200, lost, later: None }.trace()
}

#[test]
fn fast_retransmit_after_three_misses() {
    insta::assert_snapshot!(burst("rfc9260", 5, &[1]));
}

#[test]
fn fast_retransmit_needs_four_in_rfc2960() {
    insta::assert_snapshot!(burst("rfc2960", 6, &[2]));
}

#[test]
fn lksctp_retransmits_again_after_four_further_sacks() {
    insta::assert_snapshot!(burst("lksctp-2.6.15", 12, &[1]));
}

#[test]
fn timeout_when_too_few_sacks_can_come() {
    insta::assert_snapshot!(burst("rfc9260", 4, &[2]));
}

#[test]
fn timeout_of_the_last_message() {
    insta::assert_snapshot!(burst("rfc9260+early-retransmit-packets", 4, &[4]));
}

#[test]
fn early_retransmit_packets_needs_no_third_sack() {
    insta::assert_snapshot!(burst("early-retransmit-packets", 4, &[2]));
}

#[test]
fn early_retransmit_packets_on_the_kernel_profile() {
    insta::assert_snapshot!(burst("lksctp-2.6.15+early-retransmit-packets", 4, &[1]));
}

#[test]
fn early_retransmit_bytes_is_blind_to_small_packets() {
    insta::assert_snapshot!(burst("early-retransmit-bytes", 4, &[2]));
}

#[test]
fn early_retransmit_bytes_helps_full_packets() {
    let scenario = Scenario {
        profile: "early-retransmit-bytes",
        messages: 3,
        bytes: 1400,
        lost: &[1],
        later: None,
    };
    insta::assert_snapshot!(scenario.trace());
}

#[test]
fn limited_transmit_sends_new_data_beyond_cwnd() {
    // The window is three packets; without Limited Transmit two SACKs come and T3-rtx must expire.
    let scenario =
        Scenario { profile: "limited-transmit", messages: 6, bytes: 1400, lost: &[1], later: None };
    insta::assert_snapshot!(scenario.trace());
}

#[test]
fn the_next_burst_brings_the_missing_sacks() {
    let scenario = Scenario {
        profile: "lksctp-2.6.15",
        messages: 4,
        bytes: 200,
        lost: &[2],
        later: Some((60, 4)),
    };
    insta::assert_snapshot!(scenario.trace());
}
