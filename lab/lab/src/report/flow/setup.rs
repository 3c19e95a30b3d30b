//! The set-up of a flow experiment in words.

use crate::flow::{Flow, GivenMessages, Processor, Workload};
use crate::report::outcome::describe_link;
use crate::schema::Experiment;

/// What a reader must know to build it: terms and what they are.
pub(super) fn describe(e: &Experiment<Flow>) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |term: &str, text: String| rows.push((term.to_owned(), text));
    row("Link to the receiver", describe_link(&e.kind.topology.forward));
    row("Link back", describe_link(&e.kind.topology.backward));
    if let Some(mtu) = e.kind.topology.mtu {
        let heard = if mtu.icmp { "the sender hears of it" } else { "without a word" };
        row(
            "Largest packet that passes",
            format!("{} bytes; larger ones are lost, {heard}", mtu.bytes),
        );
    }
    if let Some(second) = &e.kind.topology.second {
        row("Second path, to the receiver", describe_link(&second.forward));
        row("Second path, back", describe_link(&second.backward));
    }
    for moved in &e.kind.topology.moves {
        let pause = match moved.without_ms {
            ms if ms < 0.0 => format!("{} ms after the new one has come", -ms),
            ms => format!("the new one comes {ms} ms later"),
        };
        row(
            "Another address of the sender",
            format!("on path {}: the old one goes at {} ms, {pause}", moved.path, moved.at_ms),
        );
    }
    if let Some(shared) = &e.kind.topology.shared {
        let paths: Vec<String> = shared.paths.iter().map(u8::to_string).collect();
        row("Shared bottleneck", format!("behind path {}", paths.join(" and ")));
        row("Shared, to the receiver", describe_link(&shared.forward));
        row("Shared, back", describe_link(&shared.backward));
        let (n, profile) = (shared.competitors, &shared.competitor);
        row("Competing flows", format!("{n}, of one path and profile {profile}"));
    }
    for axis in &e.kind.axes {
        let values: Vec<String> = (0..axis.values.len()).map(|i| axis.text(i)).collect();
        let scale = axis.scale.map(|s| format!(" × {s}")).unwrap_or_default();
        row(
            &format!("Varied: {}", axis.name),
            format!("{} ({}{scale})", values.join(", "), axis.keys.join(", ")),
        );
    }
    for change in &e.kind.changes {
        row("Change", format!("after {} s {} = {}", change.at_s, change.key, change.value));
    }
    let a = &e.common.association;
    let traffic = match &e.kind.workload {
        Workload::Periodic(p) => {
            let burst = match p.burst {
                1 => "a message".to_owned(),
                n => format!("{n} messages, {} ms apart,", p.spacing_ms),
            };
            let beside = p.beside.map_or(String::new(), |beside| {
                let (size, every) = (beside.message_bytes, beside.every_ms);
                format!(", beside it one of {size} bytes every {every} ms on another stream")
            });
            format!(
                "{burst} of {} bytes every {} ms for {} s{}{beside}{}",
                p.message_bytes,
                p.every_ms,
                p.duration_s,
                p.service.describe(),
                a.describe()
            )
        }
        Workload::Bulk(b) => {
            let amount = match (b.duration_s, b.total_bytes) {
                (Some(s), _) => format!("for {s} s"),
                (None, bytes) => format!("until {} bytes have arrived", bytes.unwrap_or(0)),
            };
            let order = if b.unordered { "unordered " } else { "" };
            let warmup = match b.warmup_s {
                0.0 => String::new(),
                s => format!(", the first {s} s not counted"),
            };
            format!(
                "{order}messages of {} bytes as fast as possible {amount}{warmup}{}{}",
                b.message_bytes,
                if a.concurrent_transfer { ", over all paths at once" } else { "" },
                a.describe()
            )
        }
        Workload::Given(g) => {
            let messages = |m: &GivenMessages| match m.count {
                1 => format!("{} bytes at {} ms", m.bytes, m.at_ms),
                n => format!("{n} × {} bytes at {} ms", m.bytes, m.at_ms),
            };
            let all: Vec<String> = g.messages.iter().map(messages).collect();
            format!("{}{}", all.join(", "), a.describe())
        }
    };
    row("Traffic", traffic);
    for entry in &e.common.profiles {
        if let Ok(Some(processor)) = Processor::of(e.kind.processor.as_ref(), entry) {
            row(&format!("Processor, {}", entry.label), processor.describe());
        }
    }
    for (term, text) in a.describe_hosts() {
        row(term, text);
    }
    rows
}
