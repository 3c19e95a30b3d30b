//! What the types of the schema cannot say: ranges, references and combinations.

use std::collections::HashSet;

use super::plots::{Plot, PlotKind};
use super::{Cell, Flow, Measure, Processor, Workload, metric, scenario, tcp};
use crate::common::{check_label, check_profiles};
use crate::keys::nearest;
use crate::mistake::{Checked, mistake, require};
use crate::schema::Experiment;

/// Checks everything that deserialisation has not.
pub(super) fn validate(e: &Experiment<Flow>) -> Checked {
    axes(e)?;
    for cell in e.kind.cells() {
        let here = e.in_cell(&cell)?;
        in_cell(&here).map_err(|m| {
            let place: Vec<String> =
                e.kind.describe(&cell).iter().map(|(name, v)| format!("{name} = {v}")).collect();
            let place = if place.is_empty() {
                String::new()
            } else {
                format!(" (at {})", place.join(", "))
            };
            mistake(m.key, format!("{}{place}", m.message))
        })?;
    }
    for (i, table) in e.kind.tables.iter().enumerate() {
        for (k, name) in table.metrics.iter().enumerate() {
            known_metric(e, &format!("table[{i}].metrics[{k}]"), name)?;
        }
    }
    if let Some(matrix) = &e.kind.matrix {
        known_metric(e, "matrix.metric", &matrix.metric)?;
    }
    for (i, plot) in e.kind.plots.iter().enumerate() {
        self::plot(e, &|field: &str| format!("plot[{i}].{field}"), plot)?;
    }
    for (i, effect) in e.kind.effects.iter().enumerate() {
        let key = |field: &str| format!("effect[{i}].{field}");
        known_metric(e, &key("metric"), &effect.metric)?;
        check_label(&e.common.profiles, &key("series"), &effect.series)?;
        check_label(&e.common.profiles, &key("against"), &effect.against)?;
    }
    Ok(())
}

fn axes(e: &Experiment<Flow>) -> Checked {
    let mut cells = 1usize;
    for (i, axis) in e.kind.axes.iter().enumerate() {
        let key = |field: &str| format!("axis[{i}].{field}");
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let named = !axis.name.is_empty() && axis.name.chars().all(plain);
        require(named, key("name"), "must be a plain name of letters, digits, - and _")?;
        let twice = e.kind.axes[..i].iter().any(|a| a.name == axis.name);
        require(!twice, key("name"), format!("\"{}\" appears twice", axis.name))?;
        require(!axis.values.is_empty(), key("values"), "needs at least one value")?;
        require(!axis.keys.is_empty(), key("keys"), "needs at least one key")?;
        for k in &axis.keys {
            let known = ["topology.", "association.", "processor.", "parameters.", "workload."];
            let below = known.iter().any(|prefix| k.starts_with(prefix));
            let message = format!(
                "\"{k}\" is not below topology, association, processor, parameters or workload"
            );
            require(below, key("keys"), message)?;
        }
        let names = axis.names.is_empty() || axis.names.len() == axis.values.len();
        require(names, key("names"), "needs one name for each value")?;
        cells = cells.saturating_mul(axis.values.len());
        require(cells <= 10_000, key("values"), "make more than 10000 cells")?;
        let mut texts = HashSet::new();
        for v in 0..axis.values.len() {
            require(texts.insert(axis.text(v)), format!("axis[{i}].values[{v}]"), "appears twice")?;
        }
    }
    Ok(())
}

/// Checks the experiment in one cell.
fn in_cell(e: &Experiment<Flow>) -> Checked {
    e.kind.topology.validate()?;
    e.common.association.check_mtu(512)?;
    require(e.common.association.send_buffer > 0, "association.send_buffer", "must be above 0")?;
    let window = e.common.association.receive_buffer;
    require(window >= 4096, "association.receive_buffer", "must be at least 4096")?;
    let times = e.common.association.buffer_bdps;
    require((0.0..=1000.0).contains(&times), "association.buffer_bdps", "must be 0 to 1000")?;
    check_profiles(&e.common.profiles, &e.common.parameters)?;
    e.common
        .profiles
        .iter()
        .try_for_each(|entry| Processor::of(e.kind.processor.as_ref(), entry).map(|_| ()))?;
    workload(e)?;
    tcp::check(e)?;
    let bulk = matches!(&e.kind.workload, Workload::Bulk(b) if b.duration_s.is_some());
    let endless = e.kind.topology.shared.is_none() || bulk;
    require(endless, "topology.shared", "needs workload.bulk.duration_s")?;
    let aged = !e.kind.observe.age || matches!(e.kind.workload, Workload::Periodic(_));
    require(aged, "observe.age", "needs workload.periodic")?;
    let may_move = e.kind.topology.moves.is_empty() || e.common.association.asconf;
    require(may_move, "topology.moves", "needs association.asconf")?;
    let compared = !e.kind.observe.alone || e.kind.topology.shared.is_none();
    require(compared, "observe.alone", "excludes topology.shared")?;
    let mut topology_now = e.kind.topology.clone();
    for (i, change) in e.kind.changes.iter().enumerate() {
        let key = |field: &str| format!("change[{i}].{field}");
        require((0.0..=1e6).contains(&change.at_s), key("at_s"), "must be 0 to 1000000")?;
        topology_now = scenario::changed(&topology_now, change)
            .map_err(|message| mistake(key("key"), message))?;
        let added = topology_now.second.is_some() == e.kind.topology.second.is_some();
        require(added, key("key"), "cannot add a second path in the course of a run")?;
        let same = topology_now.moves == e.kind.topology.moves;
        require(same, key("key"), "cannot be topology.moves, which have their times")?;
        topology_now.validate().map_err(|m| mistake(key("value"), m.message))?;
    }
    Ok(())
}

fn workload(e: &Experiment<Flow>) -> Checked {
    let bytes = |key: &str, bytes: usize| {
        require((1..=1 << 20).contains(&bytes), key, "must be 1 to 1048576")
    };
    let seconds =
        |key: &str, s: f64| require(s > 0.0 && s <= 1e6, key, "must be above 0, to 1000000");
    match &e.kind.workload {
        Workload::Periodic(p) => {
            bytes("workload.periodic.message_bytes", p.message_bytes)?;
            seconds("workload.periodic.duration_s", p.duration_s)?;
            let every = p.every_ms > 0.0 && p.every_ms <= 1e9;
            require(every, "workload.periodic.every_ms", "must be above 0")?;
            let bursts = p.duration_s * 1e3 / p.every_ms;
            let few = bursts * f64::from(p.burst) <= 1e7;
            require(few, "workload.periodic.every_ms", "makes more than 10 million messages")?;
            require(p.burst >= 1, "workload.periodic.burst", "must be at least 1")?;
            let spacing =
                p.spacing_ms >= 0.0 && p.spacing_ms * f64::from(p.burst - 1) <= p.every_ms;
            let message = "must not be negative, and a burst must end before the next";
            require(spacing, "workload.periodic.spacing_ms", message)?;
            if let Some(beside) = p.beside {
                let size = (1..=16 << 20).contains(&beside.message_bytes);
                let key = "workload.periodic.beside.message_bytes";
                require(size, key, "must be 1 to 16777216")?;
                let key = "workload.periodic.beside.every_ms";
                let some = beside.every_ms > 0.0 && beside.every_ms / 2e3 < p.duration_s;
                require(some, key, "must be above 0, to less than twice the time of all")?;
                let few = p.duration_s * 1e3 / beside.every_ms <= 1e5;
                require(few, key, "makes more than 100000 messages")?;
            }
            let one = p.service.lifetime_ms.is_none() || p.service.retransmissions.is_none();
            let key = "workload.periodic.service";
            require(one, key, "has either lifetime_ms or retransmissions")?;
            let lives = p.service.lifetime_ms.is_none_or(|ms| ms > 0.0 && ms <= 1e9);
            require(lives, "workload.periodic.service.lifetime_ms", "must be above 0")
        }
        Workload::Bulk(b) => {
            bytes("workload.bulk.message_bytes", b.message_bytes)?;
            if let Some(s) = b.duration_s {
                seconds("workload.bulk.duration_s", s)?;
            }
            let total = b.total_bytes.is_none_or(|n| (1..=1 << 40).contains(&n));
            require(total, "workload.bulk.total_bytes", "must be 1 to 1099511627776")?;
            let warm = b.warmup_s == 0.0
                || b.warmup_s > 0.0 && b.duration_s.is_some_and(|s| b.warmup_s < s);
            require(warm, "workload.bulk.warmup_s", "must be 0 to below duration_s")?;
            let one = b.duration_s.is_some() != b.total_bytes.is_some();
            require(one, "workload.bulk", "needs exactly one of duration_s and total_bytes")
        }
        Workload::Given(g) => {
            seconds("workload.given.duration_s", g.duration_s)?;
            require(!g.messages.is_empty(), "workload.given.messages", "needs at least one")?;
            for (i, m) in g.messages.iter().enumerate() {
                let key = |field: &str| format!("workload.given.messages[{i}].{field}");
                bytes(&key("bytes"), m.bytes)?;
                let early = m.at_ms >= 0.0 && m.at_ms < g.duration_s * 1e3;
                require(early, key("at_ms"), "must be 0 to the end of the run")?;
                require((1..=100_000).contains(&m.count), key("count"), "must be 1 to 100000")?;
            }
            Ok(())
        }
    }
}

fn known_metric(e: &Experiment<Flow>, key: &str, name: &str) -> Checked {
    if metric::describe(name).is_none() {
        let names = metric::names();
        let hint = match nearest(name, &names) {
            Some(near) => format!("did you mean {near}?"),
            None => "`tresse lab metrics` lists all".to_owned(),
        };
        return Err(mistake(key, format!("there is no metric \"{name}\"; {hint}")));
    }
    let observed = match metric::needs(name) {
        Some("retransmissions") => e.kind.observe.retransmissions,
        Some("series") => e.kind.observe.series,
        Some("transfer") => e.kind.observe.transfer,
        Some("alone") => e.kind.observe.alone,
        Some("age") => e.kind.observe.age,
        _ => true,
    };
    let needed = metric::needs(name).unwrap_or_default();
    require(observed, key, format!("\"{name}\" needs observe.{needed} = true"))?;
    let timed = !metric::needs_processor(name) || e.kind.processor.is_some();
    require(timed, key, format!("\"{name}\" needs [processor]"))
}

fn plot(e: &Experiment<Flow>, key: &dyn Fn(&str) -> String, plot: &Plot) -> Checked {
    place(e, key, plot)?;
    if let Some([from, to]) = plot.span_s {
        require(from < to && to.is_finite(), key("span_s"), "must end after its beginning")?;
    }
    match plot.kind {
        PlotKind::ByAxis => {
            known_metric(e, &key("metric"), &plot.metric)?;
            plot.curves.iter().try_for_each(|name| known_metric(e, &key("curves"), name))?;
            let known = e.kind.axes.iter().any(|a| a.name == plot.axis);
            require(known, key("axis"), format!("there is no axis \"{}\"", plot.axis))
        }
        PlotKind::ByProfile => known_metric(e, &key("metric"), &plot.metric),
        PlotKind::ByMetric => {
            require(!plot.metrics.is_empty(), key("metrics"), "needs at least one metric")?;
            plot.metrics.iter().try_for_each(|name| known_metric(e, &key("metrics"), name))
        }
        PlotKind::ByRetransmission => {
            let known = metric::RETRANSMISSION_TYPES.contains(&plot.metric.as_str());
            let types = metric::RETRANSMISSION_TYPES.join(", ");
            require(known, key("metric"), format!("must be one of: {types}"))?;
            require(
                e.kind.observe.retransmissions,
                key("kind"),
                "needs observe.retransmissions = true",
            )
        }
        PlotKind::Series => {
            require(e.kind.observe.series, key("kind"), "needs observe.series = true")?;
            require(!plot.names.is_empty(), key("names"), "needs at least one series")?;
            plot.names.iter().try_for_each(|name| {
                let plain = name.strip_suffix(".2").unwrap_or(name);
                let known = metric::SERIES.iter().any(|(series, _)| *series == plain);
                require(known, key("names"), format!("there is no series \"{name}\""))
            })
        }
        PlotKind::Sequence => {
            require(e.kind.observe.sequence, key("kind"), "needs observe.sequence = true")
        }
    }
}

/// Checks where a plot looks.
pub(super) fn place(e: &Experiment<Flow>, key: &dyn Fn(&str) -> String, plot: &Plot) -> Checked {
    known_places(e, &key("at"), &plot.at)?;
    let shown = e.kind.cells().iter().any(|cell: &Cell| e.kind.fits(cell, &plot.at));
    require(shown, key("at"), "names no cell")
}

fn known_places(e: &Experiment<Flow>, key: &str, at: &toml::Table) -> Checked {
    for (name, value) in at {
        let axis = e.kind.axes.iter().find(|a| a.name == *name);
        let message = format!("there is no axis \"{name}\"");
        let axis = axis.ok_or_else(|| mistake(key, message))?;
        let known = axis.find(value).is_some();
        require(known, key, format!("{value} is not a value of the axis \"{name}\""))?;
    }
    Ok(())
}

/// Checks what a published number is compared with.
pub(super) fn measure(e: &Experiment<Flow>, key: &str, m: &Measure) -> Checked {
    known_metric(e, &format!("{key}.metric"), &m.metric)?;
    check_label(&e.common.profiles, &format!("{key}.series"), &m.series)?;
    let others = [("relative_to", &m.relative_to), ("above", &m.above)];
    for (field, label) in others {
        if let Some(label) = label {
            check_label(&e.common.profiles, &format!("{key}.{field}"), label)?;
        }
    }
    let both = m.relative_to.is_some() && m.above.is_some();
    require(!both, format!("{key}.above"), "excludes relative_to")?;
    let cells = [("at", Some(&m.at)), ("relative_at", m.relative_at.as_ref())];
    for (field, at) in cells {
        let Some(at) = at else { continue };
        let key = format!("{key}.{field}");
        known_places(e, &key, at)?;
        let whole = e.kind.cell_at(at).is_some() || m.over.is_some();
        require(whole, key, "must name a value of every axis")?;
    }
    Ok(())
}
