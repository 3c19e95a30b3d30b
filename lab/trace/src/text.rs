//! Summaries for people to read.

use std::fmt::Write as _;

use crate::sender::SenderSummary;
use crate::statistics::{DelaySummary, MOST_NUMBERED, RetransmissionRow};
use crate::summary::{Arrivals, DirectionSummary, StreamSummary, Summary};
use crate::terms::Until;
use crate::trace::Totals;

/// An association or connection.
#[must_use]
pub fn summary(summary: &Summary) -> String {
    let mut out = String::new();
    let identity = &summary.identity;
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "#{} {}  A {}  B {}  {}{:.3} s, {} packets, {}",
        identity.association,
        identity.protocol.to_uppercase(),
        identity.a,
        identity.b,
        if summary.from_the_beginning { "" } else { "from the middle, " },
        summary.duration_s,
        summary.packets,
        summary.ending.words(),
    );
    if summary.paths.len() > 2 {
        for path in &summary.paths {
            let rtt = path.rtt.map_or(String::new(), |rtt| format!(", RTT {}", range(&rtt)));
            let arrived = path.arrived.map_or(String::new(), |n| format!(", {n} arrived"));
            let _ = writeln!(
                out,
                "  path {} -> {}: {} packets{arrived}, {} chunks or segments{rtt}",
                path.source, path.destination, path.packets, path.data
            );
        }
    }
    for d in &summary.directions {
        if d.data > 0 || d.sacks > 0 {
            let _ = writeln!(out, "  {} to {}", d.from.name(), d.from.other().name());
            direction(&mut out, d);
        }
    }
    for unknown in &summary.unknown {
        let _ = writeln!(out, "  Note: {unknown}");
    }
    out
}

/// The whole capture.
#[must_use]
pub fn totals(totals: &Totals) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} packets in {:.3} s, {} of them analysed; associations and connections: {}",
        totals.frames, totals.duration_s, totals.analysed, totals.associations
    );
    if let Some(ahead) = totals.clock_ahead_ms.filter(|ahead| *ahead != 0.0) {
        let _ = writeln!(
            out,
            "  The clock of the other end was {ahead:.3} ms ahead, if both ways are as fast; that is taken off its times."
        );
    }
    if totals.associations > 1 {
        for (what, all) in [("SCTP associations", &totals.sctp), ("TCP connections", &totals.tcp)] {
            if all.data > 0 {
                let _ = writeln!(out, "  All {what}, both directions");
                direction(&mut out, all);
            }
        }
    }
    let mut skipped = totals.skipped.iter().peekable();
    if skipped.peek().is_some() {
        let _ = writeln!(out, "  Passed over:");
        for (reason, count) in skipped {
            let _ = writeln!(out, "    {reason}: {count}");
        }
    }
    out
}

fn range(d: &DelaySummary) -> String {
    format!("min {:.1}, avg {:.1}, p95 {:.1}, max {:.1} ms", d.min_ms, d.avg_ms, d.p95_ms, d.max_ms)
}

fn direction(out: &mut String, d: &DirectionSummary) {
    let _ = writeln!(
        out,
        "    data            {} chunks or segments, {} bytes; sent again {} ({} bytes), {} of them acknowledged already",
        d.data, d.data_bytes, d.retransmitted, d.retransmitted_bytes, d.retransmitted_after_ack
    );
    if let Some(goodput) = d.goodput_mbps {
        let _ = writeln!(
            out,
            "    acknowledged    {} bytes in {:.3} s, {goodput:.3} Mbit/s",
            d.acknowledged_bytes, d.duration_s
        );
    }
    let _ = writeln!(
        out,
        "    SACKs           {}, {} gap blocks, {} duplicates reported",
        d.sacks, d.gap_blocks, d.duplicates
    );
    if d.gap_blocks > 0 {
        let counts = |(blocks, count): (&u32, &u64)| format!("{blocks}: {count}");
        let list: Vec<String> = d.gap_block_counts.iter().take(12).map(counts).collect();
        let more = if d.gap_block_counts.len() > 12 { ", ..." } else { "" };
        let _ = writeln!(
            out,
            "    gap blocks      {}{more} (blocks in a SACK: SACKs)",
            list.join(", ")
        );
        let classes = d.gap_acked.iter().filter(|(_, count)| *count > 0);
        let list: Vec<String> = classes.map(|(name, count)| format!("{name}: {count}")).collect();
        let _ = writeln!(out, "    gap-acked TSNs  {} (TSNs in a SACK: SACKs)", list.join(", "));
    }
    if let Some(rtt) = &d.rtt {
        let _ = writeln!(out, "    RTT             {} ({} samples)", range(rtt), rtt.count);
    }
    if let Some(rto) = d.rto_ms {
        let _ = writeln!(out, "    RTO             {rto:.1} ms by the standard, at the end");
    }
    if let Some(timer) = &d.timer {
        let _ = writeln!(out, "    timer           {} before a timeout", range(timer));
    }
    let _ = writeln!(
        out,
        "    flight          {:.0} bytes on average, {} at most, {} chunks outstanding at the end",
        d.flight_mean, d.flight_max, d.outstanding
    );
    let spurious: Vec<String> =
        d.spurious.iter().map(|(proof, count)| format!("{count} by {proof}")).collect();
    if !spurious.is_empty() {
        let _ = writeln!(out, "    spurious        {}", spurious.join(", "));
    }
    if let Some((transfer, until)) = d.transfer.as_ref().zip(d.transfer_until) {
        let until = match until {
            Until::Delivery => "until they can be delivered",
            Until::Acknowledgement => "until they are acknowledged",
        };
        let _ = writeln!(out, "    messages        {}, {} {until}", d.messages, range(transfer));
    }
    if let Some(a) = &d.arrivals {
        arrivals(out, a);
    }
    streams(out, &d.streams);
    if let Some(s) = &d.sender {
        sender(out, s);
    }
    retransmissions(out, &d.retransmissions);
}

fn arrivals(out: &mut String, a: &Arrivals) {
    let share = 100.0 * a.lost as f64 / a.sent.max(1) as f64;
    let _ = writeln!(
        out,
        "    on the way      {} chunks sent, {} arrived, {} lost ({share:.2} %), {} copies made by the network",
        a.sent, a.arrived, a.lost, a.copies
    );
    if a.under_way > 0 {
        let _ = writeln!(out, "    under way       {} at the end", a.under_way);
    }
    let _ = writeln!(
        out,
        "    sent again      {}, {} of them although an earlier transmission arrived; {} chunks never arrived",
        a.retransmitted, a.unnecessary, a.never_arrived
    );
    if let Some(d) = &a.one_way {
        let _ = writeln!(
            out,
            "    one way         {}; above the smallest: avg {:.3}, p95 {:.3}, max {:.3} ms",
            range(d),
            d.avg_ms - d.min_ms,
            (d.p95_ms - d.min_ms).max(0.0),
            d.max_ms - d.min_ms
        );
    }
    let _ = writeln!(out, "    longest pause   {:.1} ms in delivery", a.longest_gap_ms);
}

/// What the sender's log says.
fn sender(out: &mut String, s: &SenderSummary) {
    let times = if s.timeouts == 1 { "once".into() } else { format!("{} times", s.timeouts) };
    let window = s.cwnd_min.map_or(String::new(), |least| {
        // Until a loss there is no limit to slow start.
        let ssthresh = match s.ssthresh {
            u64::MAX => "never set".into(),
            bytes => format!("{bytes} bytes"),
        };
        format!("cwnd {least} to {}, at last {} bytes, ssthresh {ssthresh}; ", s.cwnd_max, s.cwnd)
    });
    let _ = writeln!(out, "    the sender says {window}T3-rtx expired {times}");
    if let Some(rto) = &s.rto {
        let _ = writeln!(out, "      RTO           {}", range(rto));
    }
    for (what, counts) in
        [("lost", &s.lost), ("sent again", &s.retransmitted), ("spurious", &s.spurious)]
    {
        let list: Vec<String> =
            counts.iter().map(|(cause, count)| format!("{count} by {cause}")).collect();
        if !list.is_empty() {
            let _ = writeln!(out, "      {what:<13} {}", list.join(", "));
        }
    }
    if s.mtu_probes > 0 || s.mtu.is_some() {
        let last = s.mtu.map_or("as it was".into(), |mtu| format!("{mtu} bytes at last"));
        let changes =
            s.mtu_changes.iter().map(|(cause, count)| format!(", {count} changes by {cause}"));
        let changes: String = changes.collect();
        let _ = writeln!(out, "      path MTU      {last}, {} probes{changes}", s.mtu_probes);
    }
}

/// This many streams are told, those that wait longest on average.
const MOST_STREAMS: usize = 16;

fn streams(out: &mut String, streams: &[StreamSummary]) {
    let mean = |s: &&StreamSummary| s.blocked.as_ref().map_or(0.0, |d| d.avg_ms);
    let mut longest: Vec<&StreamSummary> = streams.iter().collect();
    longest.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    for s in longest.iter().take(MOST_STREAMS) {
        if let Some(blocked) = &s.blocked {
            let _ = writeln!(
                out,
                "    stream {:<8} {} messages, {} bytes; head-of-line delay {}",
                s.stream,
                s.messages,
                s.bytes,
                range(blocked)
            );
        }
    }
    if streams.len() > MOST_STREAMS {
        let _ = writeln!(
            out,
            "    and {} more streams that wait less; all are in the JSON",
            streams.len() - MOST_STREAMS
        );
    }
}

/// The table of Pedersen's tables 3.2 to 3.5 and 5.1.
fn retransmissions(out: &mut String, rows: &[RetransmissionRow]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "    cumulative retransmission delay in ms\n    {:<5} {:<17} {:>7} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "no.", "class", "count", "min", "max", "avg", "p50", "p95", "p99"
    );
    for row in rows {
        let number = match row.number {
            0 => "all".to_owned(),
            n if n > MOST_NUMBERED => format!(">{MOST_NUMBERED}"),
            n => n.to_string(),
        };
        let d = &row.delays;
        let _ = writeln!(
            out,
            "    {number:<5} {:<17} {:>7} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {:>10.1}",
            row.class, d.count, d.min_ms, d.max_ms, d.avg_ms, d.p50_ms, d.p95_ms, d.p99_ms
        );
    }
}
