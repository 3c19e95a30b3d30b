//! A world in words.

use std::fmt;

use tresse_netem::LinkConfig;

use super::{Path, Shared, World};

fn link(f: &mut fmt::Formatter<'_>, link: &LinkConfig) -> fmt::Result {
    if let Some(kbps) = link.bandwidth_kbps {
        write!(f, "{:.2} Mbit/s, ", kbps / 1e3)?;
    }
    write!(f, "{:.1}", link.delay_ms)?;
    if link.jitter_ms > 0.1 {
        write!(f, " ± {:.1}", link.jitter_ms)?;
    }
    write!(f, " ms")?;
    if link.loss > 0.0 {
        write!(f, ", loss {:.2} %", 100.0 * link.loss)?;
    }
    if let Some(bursts) = link.gilbert_elliott {
        let loss = 100.0 * bursts.p / (bursts.p + bursts.r);
        write!(f, ", loss {loss:.2} % in bursts of {:.1}", 1.0 / bursts.r)?;
    }
    if link.reorder > 0.0 {
        let late = link.reorder_delay_ms.unwrap_or(0.0);
        write!(f, ", {:.2} % late by {late:.1} ms", 100.0 * link.reorder)?;
    }
    if let Some(packets) = link.queue_packets {
        let discipline = match (link.red, link.codel) {
            (Some(_), _) => "RED",
            (_, Some(_)) => "CoDel",
            _ => "drop tail",
        };
        write!(f, ", {packets} packets {discipline}")?;
    }
    if link.changes.len() > 8 {
        return write!(f, ", like a cellular link");
    }
    for change in &link.changes {
        write!(f, ", at {:.2} s ", change.at_ms / 1e3)?;
        match (change.up, change.bandwidth_kbps) {
            (Some(up), _) => write!(f, "{}", if up { "up" } else { "down" })?,
            (_, kbps) => write!(f, "{:.2} Mbit/s", kbps.unwrap_or(0.0) / 1e3)?,
        }
    }
    Ok(())
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there ")?;
        link(f, &self.forward)?;
        write!(f, "; back ")?;
        link(f, &self.backward)
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<String> = self.paths.iter().map(|path| (path + 1).to_string()).collect();
        write!(f, "bottleneck behind path {}: ", paths.join(" and "))?;
        link(f, &self.forward)?;
        for competitor in &self.competitors {
            let delays = [competitor.there_ms, competitor.back_ms].map(|ms| format!("{ms:.1}"));
            write!(f, "\n  competitor {}: {} ms", self.profile, delays.join(" and "))?;
        }
        Ok(())
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bulk = &self.bulk;
        let order = if bulk.unordered { "unordered" } else { "ordered" };
        write!(
            f,
            "world {}, {}: {order} messages of {} bytes on {} streams, buffers of {} KiB ({:.1} BDP), \
             {:.1} of {:.1} s",
            self.seed,
            self.family.name(),
            bulk.size,
            bulk.streams,
            self.buffer >> 10,
            self.buffer as f64 / self.bdp_bytes(),
            self.seconds - self.warmup_s,
            self.seconds,
        )?;
        if let Some(thin) = self.thin {
            write!(f, ", beside {} bytes every {:.1} ms", thin.size, thin.every_ms)?;
        }
        for (number, path) in self.paths.iter().enumerate() {
            write!(f, "\n  path {}: {path}", number + 1)?;
        }
        self.shared.as_ref().map_or(Ok(()), |shared| write!(f, "\n  {shared}"))
    }
}
