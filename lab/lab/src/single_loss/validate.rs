//! What the types of the schema cannot say: ranges, references and combinations.

use tresse_netem::LinkConfig;

use super::{Drop, Gap, Measure, Published, RandomGap, RandomSize, SingleLoss, Size};
use crate::common::{check_id, check_label, check_plot_files, check_profiles, check_replications};
use crate::mistake::{Checked, mistake, require};

/// Bytes of IPv4, SCTP common and DATA chunk header.
const HEADERS: usize = 20 + 12 + 16;

/// Checks everything that deserialisation has not.
pub(super) fn validate(e: &SingleLoss) -> Checked {
    check_id(&e.id)?;
    topology(e)?;
    require((68..=65_535).contains(&e.association.mtu), "association.mtu", "must be 68 to 65535")?;
    check_profiles(&e.profiles, &e.parameters)?;
    let instant = e.profiles.iter().all(|p| p.processor.is_empty());
    require(instant, "profile.processor", "is for flows")?;
    workload(e)?;
    check_replications(&e.replications)?;
    require(
        e.loss.drop != Drop::Nothing || e.loss.no_loss_run,
        "loss.no_loss_run",
        "nothing would be run: no loss, and no run without loss",
    )?;
    plots(e)?;
    e.published.iter().enumerate().try_for_each(|(i, p)| published(e, i, p))
}

fn topology(e: &SingleLoss) -> Checked {
    let t = &e.topology;
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

fn link(direction: &str, link: &LinkConfig, e: &SingleLoss) -> Checked {
    let key = |field: &str| format!("topology.{direction}.{field}");
    // Silently overwriting these would be worse than refusing them.
    let swept = "comes from the sweep in [topology]";
    require(link.bandwidth_kbps.is_none(), key("bandwidth_kbps"), swept)?;
    require(link.delay_ms == 0.0, key("delay_ms"), swept)?;
    require(link.drop_data.is_empty(), key("drop_data"), "comes from [loss]")?;
    for cell in e.cells() {
        e.topology.link(link, cell).validate().map_err(|err| mistake(key(err.key), err.reason))?;
    }
    Ok(())
}

fn workload(e: &SingleLoss) -> Checked {
    let b = e.bursts();
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
    if e.loss.drop == Drop::EachDataPacket {
        // Otherwise "the packet of a message" would mean nothing.
        let one = "must be false when each packet is dropped in turn: one packet per message";
        require(!e.association.bundling, "association.bundling", one)?;
        let room = e.association.mtu.saturating_sub(HEADERS);
        let message = format!("does not fit one packet: the MTU leaves room for {room} bytes");
        require(b.message_bytes <= room, key("message_bytes"), message)?;
    }
    Ok(())
}

fn plots(e: &SingleLoss) -> Checked {
    check_plot_files(e.plots.iter().map(|p| p.file.as_str()))?;
    for (i, plot) in e.plots.iter().enumerate() {
        let key = |field: &str| format!("plot[{i}].{field}");
        require(!plot.series.is_empty(), key("series"), "needs at least one label")?;
        for label in &plot.series {
            check_label(&e.profiles, &key("series"), label)?;
        }
        let replication_exists = (1..=e.replications.count).contains(&plot.replication);
        require(replication_exists, key("replication"), "no such replication")?;
        if let Some(y) = plot.y_max {
            require(y > 0.0 && y.is_finite(), key("y_max"), "must be above 0")?;
        }
    }
    Ok(())
}

/// Checks the published number `p`, which stands at index `i`.
pub(super) fn published(e: &SingleLoss, i: usize, p: &Published) -> Checked {
    let key = |field: &str| format!("published[{i}].{field}");
    p.check(&key("tolerance"))?;
    let (name, series, bandwidth, delay) = match &p.measure {
        Measure::Reduction(m) => ("reduction", &m.series, m.bandwidth_kbps, m.delay_ms),
        Measure::Mtt(m) => ("mtt", &m.series, m.bandwidth_kbps, m.delay_ms),
    };
    let at = |field: &str| key(&format!("measure.{name}.{field}"));
    check_label(&e.profiles, &at("series"), series)?;
    if let Measure::Reduction(_) = p.measure {
        let baseline = e.profile(series).and_then(|entry| e.baseline_of(entry));
        require(baseline.is_some(), at("series"), "is a baseline: nothing to compare it with")?;
    }
    for (field, value, values) in [
        ("bandwidth_kbps", bandwidth, &e.topology.bandwidth_kbps),
        ("delay_ms", delay, &e.topology.delay_ms),
    ] {
        match value {
            Some(v) => require(values.contains(&v), at(field), format!("{v} is not in the sweep"))?,
            None => require(values.len() == 1, at(field), "is needed: there are several")?,
        }
    }
    Ok(())
}
