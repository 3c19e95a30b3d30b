//! What the sender tells of its decisions, in sentences.

use tresse_core::wire::Tsn;
use tresse_core::{
    LossCause, LossEvidence, LossPurpose, SpuriousCause, Time, TraceEvent, WindowCause,
};

use crate::story::{Decision, DecisionKind, millis};

/// The most that are listed.
const MAX_DECISIONS: usize = 20_000;

/// Decisions in order.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    list: Vec<Decision>,
    left_out: u64,
    /// The last one, if it is about chunks and more of them may follow.
    open: Option<Open>,
    /// When T3-rtx was started.
    armed: Option<Time>,
    cwnd: Option<usize>,
    pub(crate) timeouts: u64,
}

/// The same decision about several chunks.
#[derive(Debug)]
struct Open {
    at: Time,
    cause: LossCause,
    /// Of chunks that are declared lost: the misses of the first one.
    lost: Option<u32>,
    tsns: Vec<u32>,
}

impl Decisions {
    /// The sender tells something at `now`; `relative` counts TSNs from 1.
    pub(crate) fn note(&mut self, now: Time, event: &TraceEvent, relative: impl Fn(Tsn) -> u32) {
        match *event {
            TraceEvent::Lost { tsn, cause, misses, .. } => {
                self.of_chunk(now, cause, Some(misses), relative(tsn));
            }
            TraceEvent::Sent { tsn, cause: Some(cause), .. }
                if cause.evidence() == LossEvidence::InFlight =>
            {
                self.of_chunk(now, cause, None, relative(tsn));
            }
            TraceEvent::TimerArmed { .. } => self.armed = Some(now),
            TraceEvent::TimerExpired { rto, .. } => {
                self.timeouts += 1;
                let since = self.armed.take();
                let waited = since.map(|since| now.since(since).as_secs_f64() * 1e3);
                let why = waited.map_or_else(String::new, |ms| {
                    format!("nothing was acknowledged for {}", duration(ms))
                });
                let next = duration(rto.as_secs_f64() * 1e3);
                let what = format!("T3-rtx expired, the RTO is {next} now");
                self.push(Decision {
                    since_ms: since.map(millis),
                    ..decision(now, DecisionKind::Timeout, what, why)
                });
            }
            TraceEvent::Window { cwnd, ssthresh, cause, .. } => {
                self.on_window(now, cwnd, ssthresh, cause);
            }
            TraceEvent::Spurious { timeout, by, .. } => {
                let what = if timeout { "The timeout was needless" } else { "The loss was none" };
                self.say(now, DecisionKind::Spurious, what, found_by(by));
            }
            TraceEvent::ExtraPacket { .. } => {
                let why = "a packet may have left the network, or it asks for a SACK (Limited Transmit, RFC 3042, and others)";
                self.say(now, DecisionKind::Other, "One packet beyond cwnd may leave", why);
            }
            TraceEvent::Reneged { tsn } => {
                let what = format!("TSN {} is missing again", relative(tsn));
                self.say(now, DecisionKind::Other, &what, "the receiver took it back");
            }
            TraceEvent::Abandoned { tsn, chunks } => {
                let what = format!("Gives up the message from TSN {} on", relative(tsn));
                self.say(
                    now,
                    DecisionKind::Other,
                    &what,
                    &format!("{chunks} chunks of it were sent"),
                );
            }
            TraceEvent::RtoMin { rto_min } => {
                let what = format!("RTO.Min is {}", duration(rto_min.as_secs_f64() * 1e3));
                self.say(now, DecisionKind::Other, &what, "it follows what is in flight");
            }
            _ => {}
        }
    }

    /// All of them, and how many are left out.
    pub(crate) fn finish(&mut self) -> (Vec<Decision>, u64) {
        self.close();
        (std::mem::take(&mut self.list), self.left_out)
    }

    fn of_chunk(&mut self, now: Time, cause: LossCause, lost: Option<u32>, tsn: u32) {
        if let Some(open) = &mut self.open
            && (open.at, open.cause, open.lost.is_some()) == (now, cause, lost.is_some())
        {
            open.tsns.push(tsn);
            return;
        }
        self.close();
        self.open = Some(Open { at: now, cause, lost, tsns: vec![tsn] });
    }

    fn on_window(&mut self, now: Time, cwnd: usize, ssthresh: usize, cause: WindowCause) {
        let before = self.cwnd.replace(cwnd);
        let why = match cause {
            WindowCause::Loss => "SACKs showed a loss: fast recovery begins",
            WindowCause::Timeout => "T3-rtx expired",
            WindowCause::Undo => "the loss was none",
            WindowCause::Idle => "nothing was sent for a while",
            _ => return,
        };
        let before = before.map_or_else(String::new, |before| format!("{before} → "));
        let threshold = match ssthresh {
            // Before the first loss it is unlimited.
            1_000_000_000.. => String::new(),
            bytes => format!(", ssthresh {bytes}"),
        };
        let what = format!("cwnd {before}{cwnd} bytes{threshold}");
        self.say(now, DecisionKind::Window, &what, why);
    }

    fn say(&mut self, now: Time, kind: DecisionKind, what: &str, why: &str) {
        self.push(decision(now, kind, what.to_owned(), why.to_owned()));
    }

    fn push(&mut self, decision: Decision) {
        self.close();
        if self.list.len() < MAX_DECISIONS {
            self.list.push(decision);
        } else {
            self.left_out += 1;
        }
    }

    /// Writes the decision about chunks down.
    fn close(&mut self) {
        let Some(Open { at, cause, lost, mut tsns }) = self.open.take() else { return };
        tsns.sort_unstable();
        let chunks = ranges(&tsns);
        let (kind, what, why) = match lost {
            Some(misses) => {
                let verb = if tsns.len() == 1 { "is" } else { "are" };
                (DecisionKind::Lost, format!("TSN {chunks} {verb} lost"), declared(cause, misses))
            }
            None => (DecisionKind::Guess, format!("TSN {chunks} again"), guessed(cause)),
        };
        self.push(decision(at, kind, what, why));
    }
}

fn decision(now: Time, kind: DecisionKind, what: String, why: String) -> Decision {
    Decision { at_ms: millis(now), kind, what, why, since_ms: None }
}

/// Why chunks count as lost.
fn declared(cause: LossCause, misses: u32) -> String {
    let sacks = match misses {
        1 => "one SACK reported what was sent later".to_owned(),
        n => format!("{n} SACKs reported what was sent later"),
    };
    match cause.evidence() {
        LossEvidence::Counted => format!("{sacks} (fast retransmit, RFC 9260 §7.2.4)"),
        LossEvidence::FewerCounted => {
            format!("{sacks}, and too little is in flight for three (Early Retransmit, RFC 5827)")
        }
        LossEvidence::OneSack => format!("{sacks}, and the stream is thin"),
        LossEvidence::TimedOut => "T3-rtx expired".to_owned(),
        LossEvidence::Overtaken => {
            "what was sent later has arrived, and the reordering window is over (RACK, RFC 8985)"
                .to_owned()
        }
        LossEvidence::Reported => {
            "the peer got it damaged, and said so (packet drop report)".to_owned()
        }
        LossEvidence::Void if cause.purpose() == LossPurpose::WindowProbe => {
            "it was a probe of a closed window, which is open now".to_owned()
        }
        LossEvidence::Void => "its path failed".to_owned(),
        LossEvidence::InFlight => cause.name().to_owned(),
    }
}

/// Why chunks are sent again that are not known to be lost.
fn guessed(cause: LossCause) -> String {
    let why = match cause.purpose() {
        LossPurpose::TailProbe => {
            "no SACK came in time: one is asked for (tail loss probe, RFC 8985 §7)"
        }
        LossPurpose::WindowProbe => "the window of the peer is closed, and may have opened",
        LossPurpose::Filling => "there is room in a packet that leaves anyway",
        LossPurpose::Detour => "it holds up the buffers",
        LossPurpose::Copy => "a thin stream goes over all paths",
        LossPurpose::Repair => cause.name(),
    };
    why.to_owned()
}

fn found_by(cause: SpuriousCause) -> &'static str {
    match cause {
        SpuriousCause::EifelTimestamp => {
            "the timestamp that came back is that of the original (Eifel)"
        }
        SpuriousCause::EifelRetransmitBit => "the SACK does not answer a retransmission (Eifel)",
        SpuriousCause::DupTsn => "every retransmission was reported as a duplicate (RFC 3708)",
        SpuriousCause::FRto => {
            "SACKs acknowledge what was sent before the timeout (F-RTO, RFC 5682)"
        }
        other => other.name(),
    }
}

/// `3, 5–9` for sorted numbers.
fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *number <= last.saturating_add(1) => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let text = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    };
    parts.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// `230 ms`, `1.5 s`.
fn duration(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{} s", (ms / 10.0).round() / 100.0),
        ms if ms >= 10.0 => format!("{} ms", ms.round()),
        ms => format!("{} ms", (ms * 10.0).round() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[1, 3, 4, 6, 7, 8, 8]), "1, 3, 4, 6–8");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn durations_are_short() {
        let said = [0.25, 12.4, 999.0, 1234.0, 60_000.0].map(duration);
        assert_eq!(said, ["0.3 ms", "12 ms", "999 ms", "1.23 s", "60 s"]);
    }
}
