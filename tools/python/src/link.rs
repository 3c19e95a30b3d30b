//! Link models: `tresse.Link`.

use pyo3::prelude::*;
use tresse_netem::{Class, Link, LinkConfig, Nanos};

use crate::errors::lab_error;

/// Number from 0, arrival in milliseconds, whether it is the second copy, whether it was corrupted.
type Arrival = (u64, f64, bool, bool);

/// Counters by name.
type Counts = Vec<(String, u64)>;

/// Sends packets, each with a time in milliseconds and a size in bytes, over a link (TOML): arrivals in their order, and
/// what was dropped for what cause.
#[pyfunction]
pub(crate) fn carry(
    link: &str,
    seed: u64,
    packets: Vec<(f64, u32)>,
) -> PyResult<(Vec<Arrival>, Counts)> {
    let config: LinkConfig = toml::from_str(link).map_err(|e| lab_error(e.message()))?;
    let mut link = Link::new(config, seed).map_err(lab_error)?;
    let mut arrivals = Vec::new();
    let mut before = 0.0;
    for (n, (time, size)) in packets.into_iter().enumerate() {
        if !(time >= before && time < 1e12) {
            return Err(lab_error(format!(
                "packet {n} is sent at {time} ms: times are finite, from 0 on, in ascending order"
            )));
        }
        before = time;
        let now = Nanos::from_millis_f64(time);
        take(&mut link, Some(now), &mut arrivals);
        link.offer(now, size, Class::NONE, ());
    }
    take(&mut link, None, &mut arrivals);
    let stats = serde_json::to_value(link.stats()).map_err(lab_error)?;
    let counts = stats.as_object().into_iter().flatten();
    let counts = counts.filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)));
    Ok((arrivals, counts.collect()))
}

/// Takes what arrives before `end`.
fn take(link: &mut Link<()>, end: Option<Nanos>, arrivals: &mut Vec<Arrival>) {
    while let Some(now) = link.next_wakeup().filter(|now| end.is_none_or(|end| *now < end)) {
        while let Some(delivery) = link.poll(now) {
            let at = delivery.at.as_secs_f64() * 1000.0;
            arrivals.push((delivery.number - 1, at, delivery.copy, delivery.corruption.is_some()));
        }
    }
}
