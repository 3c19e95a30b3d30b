//! What our association sends, and how much room it has.

use tresse_core::Time;
use tresse_sim::apps::Bulk;

use super::area::Area;
use super::{FULL, Family, MTU, Thin, World};

/// The least that buffers have, bytes.
const LEAST_BUFFER: usize = 64 << 10;

pub(super) fn messages(seed: u64, family: Family) -> Bulk {
    let mut d = Area::Messages.draw(seed);
    let drawn = match d.index(4) {
        0 | 1 => FULL,
        2 => d.log_whole(40, 1000) as usize,
        _ => d.log_whole(2000, 60_000) as usize,
    };
    let unordered = d.chance(1.0 / 3.0);
    let streams = if d.chance(0.25) { d.between(2, 10) as u16 } else { 1 };
    // What a flow gets is not a matter of its messages.
    let size = if matches!(family, Family::Shared | Family::Lossy) { FULL } else { drawn };
    Bulk { size, streams, unordered, messages: None, from: Time::ZERO, until: None }
}

/// Settles buffers and the thin stream.
pub(super) fn finish(world: &mut World) {
    world.buffer = buffer(world);
    world.bulk.size = world.bulk.size.min(world.buffer / 8);
    if world.family == Family::Thin {
        let mut d = Area::Thin.draw(world.seed);
        let size = d.log_whole(50, 500) as usize;
        world.thin = Some(Thin { size, every_ms: d.log(5.0, 30.0) });
    }
}

fn buffer(world: &World) -> usize {
    let mut d = Area::Buffers.draw(world.seed);
    let small = d.chance(1.0 / 6.0);
    let bdp = world.bdp_bytes();
    let bytes = match world.family {
        Family::Clean | Family::Lossy => bdp * d.log(2.0, 4.0),
        Family::Shared => {
            let queues: u32 = world.limits().filter_map(|(link, _)| link.queue_packets).sum();
            2.0 * (bdp + f64::from(queues) * MTU as f64)
        }
        Family::Open | Family::Dying | Family::Thin if small => return 256 << 10,
        Family::Open | Family::Dying | Family::Thin => bdp * d.log(1.0, 4.0),
    };
    (bytes as usize).max(LEAST_BUFFER)
}
