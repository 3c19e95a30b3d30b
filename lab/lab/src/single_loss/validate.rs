//! What the types of the schema cannot say: ranges, references and combinations.

use tresse_netem::LinkConfig;

use super::{Drop, Gap, Measure, RandomGap, RandomSize, SingleLoss, Size};
use crate::common::{ProfileEntry, check_label};
use crate::mistake::{Checked, mistake, require};
use crate::schema::Experiment;

/// Bytes of IPv4, SCTP common and DATA chunk header.
const HEADERS: usize = 20 + 12 + 16;

/// Checks everything that deserialisation has not.
pub(super) fn validate(e: &Experiment<SingleLoss>) -> Checked {
    topology(e)?;
    e.common.association.check_mtu(68)?;
    let tcp = e.common.profiles.iter().position(ProfileEntry::is_tcp);
    let key = format!("profile[{}].name", tcp.unwrap_or_default());
    require(tcp.is_none(), key, "TCP is for flows")?;
    let instant = e.common.profiles.iter().all(|p| p.processor.is_empty());
    require(instant, "profile.processor", "is for flows")?;
    require(e.common.association.buffer_bdps == 0.0, "association.buffer_bdps", "is for flows")?;
    workload(e)?;
    require(
        e.kind.loss.drop != Drop::Nothing || e.kind.loss.no_loss_run,
        "loss.no_loss_run",
        "nothing would be run: no loss, and no run without loss",
    )?;
    for (i, plot) in e.kind.plots.iter().enumerate() {
        let exists = (1..=e.common.replications.count).contains(&plot.replication);
        require(exists, format!("plot[{i}].replication"), "no such replication")?;
    }
    Ok(())
}

fn topology(e: &Experiment<SingleLoss>) -> Checked {
    let t = &e.kind.topology;
    for (key, values, low, high) in [
        ("topology.bandwidth_kbps", &t.bandwidth_kbps, 1.0, 1e9),
        ("topology.delay_ms", &t.delay_ms, 0.0, 1e6),
    ] {
        require(!values.is_empty(), key, "needs at least one value")?;
        for (i, v) in values.iter().enumerate() {
            let range = format!("{v} is out of range: {low} to {high}");
            require(*v >= low && *v <= high, format!("{key}[{i}]"), range)?;
            require(!values[..i].contains(v), format!("{key}[{i}]"), "appears twice")?;
        }
    }
    link("forward", &t.forward, e)?;
    link("backward", &t.backward, e)
}

fn link(direction: &str, link: &LinkConfig, e: &Experiment<SingleLoss>) -> Checked {
    let key = |field: &str| format!("topology.{direction}.{field}");
    // Silently overwriting these would be worse than refusing them.
    let swept = "comes from the sweep in [topology]";
    require(link.bandwidth_kbps.is_none(), key("bandwidth_kbps"), swept)?;
    require(link.delay_ms == 0.0, key("delay_ms"), swept)?;
    require(link.drop_data.is_empty(), key("drop_data"), "comes from [loss]")?;
    for cell in e.kind.cells() {
        e.kind
            .topology
            .link(link, cell)
            .validate()
            .map_err(|err| mistake(key(err.key), err.reason))?;
    }
    Ok(())
}

fn workload(e: &Experiment<SingleLoss>) -> Checked {
    let b = e.kind.bursts();
    let key = |field: &str| format!("workload.bursts.{field}");
    require((1..=10_000).contains(&b.count), key("count"), "must be 1 to 10000")?;
    require(b.ignore < b.count, key("ignore"), "must be less than count")?;
    let (low, high) = match b.size {
        Size::Fixed(n) => (n, n),
        Size::Random(RandomSize::Uniform([low, high])) => (low, high),
    };
    require(
        low >= 1 && low <= high && high <= 10_000,
        key("size"),
        "must be 1 to 10000, low before high",
    )?;
    let gap = match b.gap_ms {
        Gap::Fixed(ms) | Gap::Random(RandomGap::Exponential(ms)) => ms,
    };
    require((0.0..=1e6).contains(&gap), key("gap_ms"), "must be 0 to 1000000")?;
    require((0.0..=1e6).contains(&b.spacing_ms), key("spacing_ms"), "must be 0 to 1000000")?;
    // The first four bytes of a message carry its number.
    require(
        (4..=1 << 20).contains(&b.message_bytes),
        key("message_bytes"),
        "must be 4 to 1048576",
    )?;
    if e.kind.loss.drop == Drop::EachDataPacket {
        // Otherwise "the packet of a message" would mean nothing.
        let one = "must be false when each packet is dropped in turn: one packet per message";
        require(!e.common.association.bundling, "association.bundling", one)?;
        let room = e.common.association.mtu.saturating_sub(HEADERS);
        let message = format!("does not fit one packet: the MTU leaves room for {room} bytes");
        require(b.message_bytes <= room, key("message_bytes"), message)?;
    }
    Ok(())
}

/// Checks what a published number is compared with.
pub(super) fn measure(e: &Experiment<SingleLoss>, key: &str, measure: &Measure) -> Checked {
    let (name, series, bandwidth, delay) = match measure {
        Measure::Reduction(m) => ("reduction", &m.series, m.bandwidth_kbps, m.delay_ms),
        Measure::Mtt(m) => ("mtt", &m.series, m.bandwidth_kbps, m.delay_ms),
    };
    let at = |field: &str| format!("{key}.{name}.{field}");
    check_label(&e.common.profiles, &at("series"), series)?;
    if let Measure::Reduction(_) = measure {
        let baseline = e.common.profile(series).and_then(|entry| e.baseline_of(entry));
        require(baseline.is_some(), at("series"), "is a baseline: nothing to compare it with")?;
    }
    for (field, value, values) in [
        ("bandwidth_kbps", bandwidth, &e.kind.topology.bandwidth_kbps),
        ("delay_ms", delay, &e.kind.topology.delay_ms),
    ] {
        match value {
            Some(v) => require(values.contains(&v), at(field), format!("{v} is not in the sweep"))?,
            None => require(values.len() == 1, at(field), "is needed: there are several")?,
        }
    }
    Ok(())
}
