//! From the captures of a cell to its numbers. Nothing else is asked, so every stack is measured alike.
//!
//! Both sides are captured by one clock: what goes into the links and what comes out of them. A
//! message is one DATA chunk, unless it is a large one. Where there is a schedule its payload protocol identifier says which
//! message it is: TSNs do not where messages are given up before they have one, or have several.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tresse_report::statistics::mean;
use tresse_trace::capture::CaptureError;
use tresse_trace::measure::{Loss, MessageTransfer, Retransmission, both_ends};
use tresse_trace::{Options, Side, Until};

use crate::metric::Metric;
use crate::samples;
use crate::scenario::{Large, Traffic};

/// Width of the steps of [`Measures::timeline_kbps`], in milliseconds.
pub const STEP_MS: f64 = 500.0;
/// How often the age of the newest message is looked at, in milliseconds.
const AGE_STEP_MS: f64 = 10.0;
/// A message is overdue if it takes so much more than twice the time of the fastest one.
const OVERDUE_MS: f64 = 100.0;

/// What the captures of a cell say, all associations together. Times are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measures {
    /// Associations that sent anything.
    pub associations: u64,
    /// Messages that were due, also those of associations that sent nothing; without a schedule those that
    /// were sent.
    pub offered: u64,
    /// Messages that could be delivered in order by the end.
    pub delivered: u64,
    /// Chunks that were sent again.
    pub retransmissions: u64,
    /// Those of them that were spurious: an earlier transmission arrived.
    pub spurious: u64,
    /// User data that could be delivered, over the time looked at, mean of the associations.
    /// `None`: there was a schedule, which the goodput would only repeat.
    pub goodput_kbps: Option<f64>,
    /// The longest time in which nothing could be delivered although something was on its way.
    pub longest_silence_ms: f64,
    /// With a schedule: for how long messages were on their way that are overdue, mean of the
    /// associations; 0 if none was. Overdue: more than twice the time of the fastest and 100 ms.
    pub disturbance_ms: Option<f64>,
    /// Messages were still missing at the end: everything here is too good.
    pub unfinished: bool,
    /// With a schedule, of each message: from handing over to delivery. That it was handed over on
    /// time is known from the schedule; when the schedule began, from the message that was sent with the
    /// least delay.
    pub transfer_ms: Vec<f32>,
    /// Of each message whose first packet was lost: from sending that to its delivery.
    pub repair_ms: Vec<f32>,
    /// Of each chunk that was sent again: from its first transmission to its second.
    pub retransmission_ms: Vec<f32>,
    /// Of messages that may be given up: every 10 ms, how old the newest one was that had been delivered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub age_ms: Vec<f32>,
    /// User data delivered in each half second, in kbit/s, all associations together.
    pub timeline_kbps: Vec<f32>,
}

impl Measures {
    /// What a verdict about `metric` judges, if the cell has it.
    #[must_use]
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Repair => samples::mean(&self.repair_ms),
            Metric::Transfer => samples::percentile(&self.transfer_ms, 99.0),
            Metric::Goodput => self.goodput_kbps,
            Metric::Disturbance => self.disturbance_ms,
            Metric::Age => samples::percentile(&self.age_ms, 99.0),
        }
    }
}

/// What side A of an association sent, and what became of it.
#[derive(Debug)]
struct Sent {
    /// Messages that were delivered.
    messages: Vec<MessageTransfer>,
    again: Vec<Retransmission>,
    losses: Vec<Loss>,
    /// Different chunks.
    chunks: u64,
    /// Until when it was captured, in nanoseconds.
    until: u64,
}

/// What the captures of the sender's and of the receiver's side say about `traffic`, one capture for
/// each path. SCTP is looked for at these UDP ports.
///
/// # Errors
/// One of them is no capture.
pub fn measure(
    sender: &[PathBuf],
    receiver: &[PathBuf],
    udp_ports: &[u16],
    traffic: &Traffic,
) -> Result<Measures, CaptureError> {
    let [here, there] =
        [sender, receiver].map(|files| files.iter().map(PathBuf::as_path).collect::<Vec<&Path>>());
    let options = Options { udp_ports: udp_ports.to_vec(), ..Options::default() };
    let (associations, _) = both_ends(&here, &there, options)?;
    let mut measures = Measures::default();
    let (mut goodputs, mut disturbances) = (Vec::new(), Vec::new());
    for association in associations {
        let side = Side::A.index();
        let counts = &association.summary.directions[side];
        let chunks = counts.data - counts.retransmitted;
        if chunks == 0 {
            continue;
        }
        let [of_a, _] = association.directions;
        let (mut messages, again, losses) = (of_a.messages, of_a.retransmissions, of_a.losses);
        messages.retain(|message| message.until == Until::Delivery);
        let end_s = association.summary.first_s + association.summary.duration_s;
        let until = (end_s * 1e9) as u64;
        let sent = Sent { messages, again, losses, chunks, until };
        match add(&mut measures, &sent, traffic) {
            Single::Goodput(kbps) => goodputs.push(kbps),
            Single::Disturbance(ms) => disturbances.push(ms),
        }
        measures.associations += 1;
    }
    for _ in measures.associations..u64::from(traffic.associations) {
        match never_came_up(&mut measures, traffic) {
            Single::Goodput(kbps) => goodputs.push(kbps),
            Single::Disturbance(ms) => disturbances.push(ms),
        }
    }
    if let Some(messages) = traffic.messages {
        measures.offered = messages * u64::from(traffic.associations);
    }
    measures.goodput_kbps = mean(&goodputs);
    measures.disturbance_ms = mean(&disturbances);
    Ok(measures)
}

/// Adds an association that no capture shows: it was to send as much as the others, and all of it is
/// missing.
fn never_came_up(measures: &mut Measures, traffic: &Traffic) -> Single {
    let nothing =
        Sent { messages: Vec::new(), again: Vec::new(), losses: Vec::new(), chunks: 0, until: 0 };
    measures.longest_silence_ms = measures.longest_silence_ms.max(traffic.seconds * 1e3);
    add(measures, &nothing, traffic)
}

/// What an association has for itself.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Single {
    /// Without a schedule, in kbit/s.
    Goodput(f64),
    /// With one, in milliseconds.
    Disturbance(f64),
}

/// Adds an association.
fn add(measures: &mut Measures, sent: &Sent, traffic: &Traffic) -> Single {
    measures.retransmissions += sent.again.len() as u64;
    measures.spurious += sent.again.iter().filter(|again| again.spurious.is_some()).count() as u64;
    let first_again = sent.again.iter().filter(|again| again.count == 1);
    measures.retransmission_ms.extend(first_again.map(|again| again.delay_ms as f32));
    let first = sent.losses.iter().filter(|loss| loss.count == 0);
    let lost: BTreeSet<i64> = first.map(|loss| loss.number).collect();

    measures.offered += sent.chunks;
    let start = sent.messages.iter().filter_map(|message| message.sent_at).min();
    let Some(start) = start else {
        measures.unfinished |= traffic.messages.is_some();
        if traffic.service.is_some() {
            let all = traffic.seconds * 1e3;
            let ages = std::iter::repeat_n(all as f32, (all / AGE_STEP_MS) as usize);
            measures.age_ms.extend(ages);
        }
        return match traffic.interval_ms {
            Some(_) => Single::Disturbance(traffic.seconds * 1e3),
            None => Single::Goodput(0.0),
        };
    };
    // Milliseconds from the first transmission on.
    let ms = |at: u64| (at as f64 - start as f64) / 1e6;
    let end = ms(sent.until).min(traffic.seconds * 1e3);
    let delivered: Vec<Delivered> = sent
        .messages
        .iter()
        .filter_map(|message| {
            let number = u64::try_from(message.number).ok()?;
            let index = traffic.index_of(message.ppid).unwrap_or(number);
            let (sent, at) = (ms(message.sent_at?), ms(message.done_at));
            let beside = traffic.large.is_some() && message.stream == Large::STREAM;
            Some(Delivered { number, index, sent, at, bytes: message.bytes, beside })
        })
        .filter(|message| message.at <= end)
        .collect();
    let repaired = delivered.iter().filter(|message| lost.contains(&(message.number as i64)));
    measures.repair_ms.extend(repaired.map(|message| (message.at - message.sent) as f32));
    // What may be given up need not come.
    let due = traffic.messages.filter(|_| traffic.service.is_none());
    let unfinished = due.is_some_and(|due| (delivered.len() as u64) < due);
    measures.delivered += delivered.len() as u64;
    measures.unfinished |= unfinished;
    let open = unfinished || traffic.messages.is_none();
    let mut before = 0.0;
    for at in delivered.iter().map(|message| message.at).chain(open.then_some(end)) {
        measures.longest_silence_ms = measures.longest_silence_ms.max(at - before);
        before = at;
    }
    for message in &delivered {
        let step = (message.at / STEP_MS) as usize;
        if measures.timeline_kbps.len() <= step {
            measures.timeline_kbps.resize(step + 1, 0.0);
        }
        measures.timeline_kbps[step] += (message.bytes as f64 * 8.0 / STEP_MS) as f32;
    }
    if traffic.interval_ms.is_some() {
        return Single::Disturbance(add_transfers(measures, &delivered, traffic, end));
    }
    let bits = delivered.iter().map(|message| message.bytes).sum::<u64>() as f64 * 8.0;
    Single::Goodput(bits / end.max(1.0))
}

/// A message, with times in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Delivered {
    /// Of its first chunk.
    number: u64,
    /// Which message it is.
    index: u64,
    sent: f64,
    at: f64,
    bytes: u64,
    /// On the stream of the large message.
    beside: bool,
}

/// Adds the transfer times of messages that were handed over on a schedule, up to `end`. Returns for how
/// long overdue messages were on their way.
fn add_transfers(
    measures: &mut Measures,
    delivered: &[Delivered],
    traffic: &Traffic,
    end: f64,
) -> f64 {
    let due = |number: u64| traffic.due_ms(number).unwrap_or(0.0);
    let starts = delivered.iter().map(|message| message.sent - due(message.index));
    let start = starts.fold(f64::INFINITY, f64::min);
    let handed_over = |number: u64| start + due(number);
    let transfer = |message: &Delivered| message.at - handed_over(message.index);
    let judged = || delivered.iter().filter(|message| !message.beside);
    let fastest = judged().map(transfer).fold(f64::INFINITY, f64::min);
    let overdue = judged()
        .filter(|message| transfer(message) > 2.0 * fastest + OVERDUE_MS)
        .map(|message| (message.index, message.at));
    // In order: those that are missing come after those that are there.
    let all = traffic.messages.filter(|_| traffic.service.is_none()).unwrap_or(0);
    let missing = Some(delivered.len() as u64).filter(|n| *n < all);
    let mut lasted = 0.0;
    // Until when that is counted already.
    let mut counted = 0.0;
    for (number, at) in overdue.chain(missing.map(|number| (number, end))) {
        lasted += (at - handed_over(number).max(counted)).max(0.0);
        counted = at.max(counted);
    }
    measures.transfer_ms.extend(judged().map(|message| transfer(message) as f32));
    if traffic.service.is_some() {
        let last = handed_over(traffic.messages.unwrap_or(1) - 1);
        add_ages(measures, delivered, last.min(end), &handed_over);
    }
    lasted
}

/// Adds how old the newest delivered message was, every so often from the first delivery to `end`.
fn add_ages(
    measures: &mut Measures,
    delivered: &[Delivered],
    end: f64,
    handed_over: &dyn Fn(u64) -> f64,
) {
    let mut by_time: Vec<(f64, u64)> = delivered.iter().map(|m| (m.at, m.index)).collect();
    by_time.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(first) = by_time.first().map(|(at, _)| *at) else { return };
    let (mut next, mut newest) = (0, 0);
    for step in 0.. {
        let at = first + f64::from(step) * AGE_STEP_MS;
        if at > end {
            break;
        }
        while let Some((_, index)) = by_time.get(next).filter(|(then, _)| *then <= at) {
            newest = newest.max(*index);
            next += 1;
        }
        measures.age_ms.push((at - handed_over(newest)) as f32);
    }
}

#[cfg(test)]
mod tests;
