//! Figures: what each side reports, as JSON and as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tresse::{AssociationStats, CarrierStats, LossCause};

use super::agreed::{Came, Probes};
use super::figures::{Percentiles, Volume};
use super::flow::FlowResult;
use super::test::{DelayKind, Test};
use tresse_console::units::{Si, Time};

/// What the sender saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SenderReport {
    #[serde(flatten)]
    pub(crate) volume: Volume,
    pub(crate) packets_sent: u64,
    /// Bytes of SCTP packets.
    pub(crate) bytes_sent: u64,
    pub(crate) data_chunks_sent: u64,
    /// By cause; causes that did not occur are left out.
    pub(crate) retransmitted_chunks: BTreeMap<String, u64>,
    /// By the cause of the first retransmitted chunk in it.
    pub(crate) retransmitted_packets: BTreeMap<String, u64>,
    /// Retransmissions that the receiver reported as duplicates.
    pub(crate) duplicates_reported: u64,
    pub(crate) fast_recoveries: u64,
    pub(crate) timeouts: u64,
    pub(crate) zero_window_probes: u64,
    /// Round-trip times that the association measured, looked up every few milliseconds.
    pub(crate) rtt: Option<Percentiles>,
    /// Round-trip times of messages, by the receiver's echoes.
    pub(crate) round_trip: Option<Percentiles>,
    /// Processor time of the process, seconds.
    pub(crate) cpu_s: f64,
    /// Datagrams lost on the way to the system: too large, or refused; probes of the path MTU not counted.
    pub(crate) datagrams_failed: u64,
    /// Probes of the path MTU that the system found too large: that is what they ask.
    #[serde(default)]
    pub(crate) mtu_probes_refused: u64,
}

/// What the receiver saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReceiverReport {
    #[serde(flatten)]
    pub(crate) volume: Volume,
    /// Every message arrived once, complete, in order where order was asked for, and with every
    /// byte as sent.
    pub(crate) verified: bool,
    /// Messages whose checksum or length was wrong.
    pub(crate) damaged: u64,
    /// Messages out of order on their stream.
    pub(crate) out_of_order: u64,
    /// One-way delays, if both sides share a clock.
    pub(crate) delay: Option<Percentiles>,
    pub(crate) packets_received: u64,
    pub(crate) duplicate_chunks: u64,
    /// Chunks dropped for want of room.
    pub(crate) dropped_chunks: u64,
    /// Processor time of the process, seconds.
    pub(crate) cpu_s: f64,
}

/// One live line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
    pub(crate) goodput_bit_s: f64,
    pub(crate) retransmitted_chunks: u64,
    pub(crate) srtt_us: Option<f64>,
    pub(crate) cwnd: Option<usize>,
}

/// Everything known at the end of a test, in JSON.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary<'a> {
    pub(crate) tresse: &'static str,
    pub(crate) side: &'static str,
    pub(crate) peer: String,
    pub(crate) profile: &'a str,
    pub(crate) test: Option<&'a Test>,
    pub(crate) delay_kind: Option<DelayKind>,
    /// Both sides agreed on I-DATA; `None` of an association that never was.
    pub(crate) interleaving: Option<bool>,
    /// Both sides agreed on ECN, likewise.
    pub(crate) ecn: Option<bool>,
    /// Up to which size this side looks for a larger path MTU.
    pub(crate) mtu_search: Option<u16>,
    #[serde(flatten)]
    pub(crate) came: Came,
    /// Ended by Ctrl-C on either side before all was sent.
    pub(crate) stopped: bool,
    pub(crate) error: Option<String>,
    pub(crate) sent: Option<&'a SenderReport>,
    pub(crate) received: Option<&'a ReceiverReport>,
    pub(crate) intervals: &'a [Interval],
    /// Both directions of every flow; empty without `--flow`.
    pub(crate) flows: &'a [FlowResult],
}

impl SenderReport {
    /// The figures of the protocol between two looks at it.
    pub(crate) fn new(
        volume: Volume,
        before: &AssociationStats,
        after: &AssociationStats,
        carrier: [CarrierStats; 2],
        probes: Probes,
        cpu: Duration,
    ) -> SenderReport {
        let [begin, end] = carrier;
        let too_large = end.send_too_large - begin.send_too_large;
        let mtu_probes_refused = too_large.min(probes.unanswered());
        SenderReport {
            volume,
            packets_sent: after.packets_sent - before.packets_sent,
            bytes_sent: after.bytes_sent - before.bytes_sent,
            data_chunks_sent: after.data_chunks_sent - before.data_chunks_sent,
            retransmitted_chunks: by_cause(&after.retransmitted_chunks),
            retransmitted_packets: by_cause(&after.retransmitted_packets),
            duplicates_reported: after.duplicates_reported,
            fast_recoveries: after.fast_recoveries,
            timeouts: after.timeouts,
            zero_window_probes: after.zero_window_probes,
            rtt: None,
            round_trip: None,
            cpu_s: cpu.as_secs_f64(),
            datagrams_failed: too_large - mtu_probes_refused + end.send_failed - begin.send_failed,
            mtu_probes_refused,
        }
    }
}

fn by_cause(counts: &[u64]) -> BTreeMap<String, u64> {
    let named = LossCause::ALL.iter().map(|cause| cause.name().to_owned()).zip(counts.iter());
    named.filter(|(_, n)| **n > 0).map(|(name, n)| (name, *n)).collect()
}

impl Interval {
    pub(crate) fn line(&self) -> String {
        let mut line = format!(
            "[{:7.2} -{:7.2} s] {:>9} {:>12} {:>13}",
            self.from_s,
            self.to_s,
            Si(self.bytes as f64, "B"),
            Si(self.goodput_bit_s, "bit/s"),
            Si(self.messages as f64 / (self.to_s - self.from_s).max(1e-9), "msg/s"),
        );
        if let (Some(srtt), Some(cwnd)) = (self.srtt_us, self.cwnd) {
            let srtt = Time(Duration::from_secs_f64(srtt / 1e6));
            let _ = write!(
                line,
                "  {:>4} retransmitted  RTT {srtt:>8}  cwnd {:>8}",
                self.retransmitted_chunks,
                Si(cwnd as f64, "B"),
            );
        }
        line
    }
}

/// The lines at the end of a test.
pub(crate) fn text(
    sent: Option<&SenderReport>,
    received: Option<&ReceiverReport>,
    shared_clock: Option<DelayKind>,
) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(sent) = sent {
        lines.push(volume("sent", &sent.volume, sent.cpu_s, ""));
    }
    if let Some(received) = received {
        let verdict = if received.verified { ", every byte verified" } else { ", NOT VERIFIED" };
        lines.push(volume("received", &received.volume, received.cpu_s, verdict));
    }
    if let Some(sent) = sent {
        lines.push(retransmissions(sent));
        lines.extend(sent.rtt.map(|rtt| times("RTT (sampled)", &rtt)));
        lines.extend(sent.round_trip.map(|t| times("message round trip (send to echo)", &t)));
    }
    if let Some(delay) = received.and_then(|r| r.delay)
        && shared_clock == Some(DelayKind::OneWay)
    {
        lines
            .push(times("delivery delay (one way, send to recv; both sides on one clock)", &delay));
    }
    lines
}

fn volume(what: &str, v: &Volume, cpu_s: f64, note: &str) -> String {
    format!(
        "{what:<9} {} in {:.2} s, {} messages: {} ({}), {}; CPU {cpu_s:.2} s{note}",
        Si(v.bytes as f64, "B"),
        v.seconds,
        v.messages,
        Si(v.goodput_bit_s, "bit/s"),
        Si(v.goodput_bit_s / 8.0, "B/s"),
        Si(v.messages_per_s, "msg/s"),
    )
}

fn retransmissions(sent: &SenderReport) -> String {
    let total: u64 = sent.retransmitted_chunks.values().sum();
    let share = 100.0 * total as f64 / (sent.data_chunks_sent.max(1)) as f64;
    let mut line = format!("retransmitted {total} of {} chunks", sent.data_chunks_sent);
    if total > 0 {
        let causes: Vec<String> =
            sent.retransmitted_chunks.iter().map(|(cause, n)| format!("{cause} {n}")).collect();
        let _ = write!(
            line,
            " ({share:.3} %): {}; {} reported as duplicates, {} timeout{}",
            causes.join(", "),
            sent.duplicates_reported,
            sent.timeouts,
            if sent.timeouts == 1 { "" } else { "s" }
        );
    }
    match sent.datagrams_failed {
        0 => {}
        1 => line.push_str("; 1 datagram was refused by the system"),
        n => {
            let _ = write!(line, "; {n} datagrams were refused by the system");
        }
    }
    line
}

fn times(what: &str, p: &Percentiles) -> String {
    let time = |us: f64| Time(Duration::from_secs_f64(us / 1e6));
    format!(
        "{what}: min {}, median {}, mean {}, 90 % {}, 99 % {}, 99.9 % {}, max {} ({} samples)",
        time(p.min_us),
        time(p.p50_us),
        time(p.mean_us),
        time(p.p90_us),
        time(p.p99_us),
        time(p.p999_us),
        time(p.max_us),
        p.samples
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> SenderReport {
        let mut after = AssociationStats::default();
        after.data_chunks_sent = 1_000;
        after.retransmitted_chunks[0] = 9;
        after.retransmitted_chunks[3] = 1;
        let volume = Volume::new(1_000, 1_200_000, Duration::from_secs(2));
        let carrier = [CarrierStats::default(); 2];
        let before = AssociationStats::default();
        let cpu = Duration::from_millis(70);
        SenderReport::new(volume, &before, &after, carrier, Probes::default(), cpu)
    }

    #[test]
    fn the_text_names_causes_and_the_kind_of_delay() {
        let received = ReceiverReport {
            volume: Volume::new(1_000, 1_200_000, Duration::from_secs(2)),
            verified: true,
            damaged: 0,
            out_of_order: 0,
            delay: Some(Percentiles {
                samples: 5,
                min_us: 1.0,
                mean_us: 2.0,
                p50_us: 2.0,
                p90_us: 3.0,
                p99_us: 3.0,
                p999_us: 3.0,
                max_us: 4_000.0,
            }),
            packets_received: 0,
            duplicate_chunks: 0,
            dropped_chunks: 0,
            cpu_s: 0.5,
        };
        let lines = text(Some(&sender()), Some(&received), Some(DelayKind::OneWay)).join("\n");
        for part in [
            "1.20 MB in 2.00 s",
            "4.80 Mbit/s (600 kB/s)",
            "every byte verified",
            "retransmitted 10 of 1000 chunks (1.000 %): fast-retransmit 9, timeout 1",
            "one way",
            "max 4.00 ms (5 samples)",
        ] {
            assert!(lines.contains(part), "{part} is not in\n{lines}");
        }
        let json = serde_json::to_value(&received).unwrap();
        assert_eq!(json["goodput_bit_s"], 4_800_000.0);
        assert_eq!(serde_json::from_value::<ReceiverReport>(json).unwrap(), received);
    }

    #[test]
    fn no_time_is_no_rate() {
        assert_eq!(Volume::new(1, 1, Duration::ZERO).goodput_bit_s, 0.0);
    }
}
