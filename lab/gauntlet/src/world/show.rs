//! A world in words.

use std::fmt;

use tresse_netem::LinkConfig;

use super::{Path, World};

fn link(f: &mut fmt::Formatter<'_>, link: &LinkConfig) -> fmt::Result {
    let mbps = link.bandwidth_kbps.unwrap_or(f64::INFINITY) / 1e3;
    write!(f, "{mbps:.2} Mbit/s {:.1}", link.delay_ms)?;
    if link.jitter_ms > 0.1 {
        write!(f, "±{:.1}", link.jitter_ms)?;
    }
    write!(f, " ms")?;
    if link.loss > 0.0 {
        write!(f, " loss {:.2} %", 100.0 * link.loss)?;
    }
    if let Some(bursts) = link.gilbert_elliott {
        let loss = 100.0 * bursts.p / (bursts.p + bursts.r);
        write!(f, " loss {loss:.2} % in bursts of {:.1}", 1.0 / bursts.r)?;
    }
    if link.reorder > 0.0 {
        write!(f, " reorders {:.2} %", 100.0 * link.reorder)?;
    }
    let discipline = match (link.red, link.codel) {
        (Some(_), _) => "RED",
        (_, Some(_)) => "CoDel",
        _ => "drop tail",
    };
    write!(f, " {discipline} {}", link.queue_packets.unwrap_or(0))?;
    let outages = link.changes.iter().filter(|c| c.up == Some(false)).count();
    match (link.changes.len(), outages) {
        (0, _) => Ok(()),
        (n, 0) => write!(f, ", {n} changes of capacity"),
        (_, n) => write!(f, ", goes down {n} times"),
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there ")?;
        link(f, &self.forward)?;
        write!(f, "; back ")?;
        link(f, &self.backward)
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bulk = &self.bulk;
        let order = if bulk.unordered { "unordered" } else { "ordered" };
        write!(
            f,
            "{}: {order} messages of {} bytes on {} streams, buffers {} KiB ({:.1} BDP), {:.1} of {:.1} s",
            self.family.name(),
            bulk.size,
            bulk.streams,
            self.buffer >> 10,
            self.buffer as f64 / self.bdp_bytes(),
            self.seconds - self.warmup_s,
            self.seconds,
        )?;
        for (number, path) in self.paths.iter().enumerate() {
            write!(f, "\n  path {}: {path}", number + 1)?;
        }
        Ok(())
    }
}
