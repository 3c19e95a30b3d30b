//! The set-up of a single-loss experiment in words.

use crate::report::outcome::describe_link;
use crate::schema::Experiment;
use crate::single_loss::{Drop, Gap, RandomGap, RandomSize, SingleLoss, Size};

/// What a reader must know to build it: terms and what they are.
pub(super) fn describe(e: &Experiment<SingleLoss>) -> Vec<(String, String)> {
    let b = e.kind.bursts();
    let numbers = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let size = match b.size {
        Size::Fixed(n) => format!("{n} messages"),
        Size::Random(RandomSize::Uniform([l, h])) => format!("{l} to {h} messages (uniform)"),
    };
    let gap = match b.gap_ms {
        Gap::Fixed(ms) => format!("{ms} ms"),
        Gap::Random(RandomGap::Exponential(mean)) => format!("exponential, mean {mean} ms"),
    };
    let loss = match e.kind.loss.drop {
        Drop::EachDataPacket => {
            "exactly one packet with data a run, at every measured position in turn"
        }
        Drop::Nothing => "none",
    };
    let a = &e.common.association;
    let rows = [
        ("Bandwidth", format!("{} kbit/s, both ways", numbers(&e.kind.topology.bandwidth_kbps))),
        ("One-way delay", format!("{} ms, both ways", numbers(&e.kind.topology.delay_ms))),
        ("Link to the receiver", describe_link(&e.kind.topology.forward)),
        ("Link back", describe_link(&e.kind.topology.backward)),
        (
            "Traffic",
            format!(
                "{} bursts (the first {} not measured) of {size}, gap {gap}, {} ms between the \
                 messages of a burst",
                b.count, b.ignore, b.spacing_ms
            ),
        ),
        ("Message", format!("{} bytes{}", b.message_bytes, a.describe())),
        ("Loss", loss.to_owned()),
    ];
    rows.into_iter().chain(a.describe_hosts()).map(|(term, text)| (term.to_owned(), text)).collect()
}
