//! The messages of a workload, and when it is over.

use std::time::Duration;

use tresse_core::Time;
use tresse_sim::apps::{Bulk, Plan, ScheduledMessage};

use super::source::End;
use crate::flow::{Beside, Workload};

/// How long a run goes on after its last message, where not all need arrive: T3-rtx may expire some times in a row until what the
/// last ones wait for has come through.
const LAST_RECOVERY: Duration = Duration::from_secs(20);
/// The stream of what is sent beside periodic messages.
pub(super) const BESIDE: u16 = 1;

/// The messages of a workload.
pub(super) fn plan(workload: &Workload) -> (Plan, End) {
    match workload {
        Workload::Periodic(p) => {
            let size = p.message_bytes;
            let mut schedule = Vec::new();
            let mut n = 0u32;
            loop {
                let start = f64::from(n) * p.every_ms;
                if start >= p.duration_s * 1e3 {
                    break;
                }
                for position in 0..p.burst {
                    let ms = start + f64::from(position) * p.spacing_ms;
                    let unordered = p.service.unordered;
                    schedule.push(ScheduledMessage { unordered, ..message(ms, size) });
                }
                n += 1;
            }
            schedule.extend(p.beside.iter().flat_map(|beside| large(beside, p.duration_s)));
            let end = if p.service.is_partial() {
                let last = Duration::from_secs_f64(p.duration_s) + LAST_RECOVERY;
                End { after: Some(last), messages: None }
            } else {
                End { after: None, messages: Some(schedule.len() as u64) }
            };
            (Plan::Schedule(schedule), end)
        }
        Workload::Bulk(b) => {
            let bulk = Bulk { unordered: b.unordered, ..Bulk::of_size(b.message_bytes) };
            let after = b.duration_s.map(Duration::from_secs_f64);
            let messages = b.total_bytes.map(|total| total.div_ceil(b.message_bytes as u64));
            (Plan::Bulk(Bulk { messages, ..bulk }), End { after, messages })
        }
        Workload::Given(g) => {
            let mut schedule = Vec::new();
            for m in &g.messages {
                let message = message(m.at_ms, m.bytes);
                schedule.extend(std::iter::repeat_n(message, m.count as usize));
            }
            let messages = Some(schedule.len() as u64);
            let after = Some(Duration::from_secs_f64(g.duration_s));
            (Plan::Schedule(schedule), End { after, messages })
        }
    }
}

fn message(at_ms: f64, size: usize) -> ScheduledMessage {
    let at = Time::from_nanos((at_ms * 1e6).round() as u64);
    ScheduledMessage { at, stream: 0, size, unordered: false }
}

/// Large messages on a stream of their own.
fn large(beside: &Beside, duration_s: f64) -> Vec<ScheduledMessage> {
    let at = (0..).map(|n| (f64::from(n) + 0.5) * beside.every_ms);
    at.take_while(|ms| *ms < duration_s * 1e3)
        .map(|ms| ScheduledMessage { stream: BESIDE, ..message(ms, beside.message_bytes) })
        .collect()
}
