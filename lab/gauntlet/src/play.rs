//! Plays a world once.

mod cast;
mod network;

use std::time::Duration;

use crate::world::World;
pub use cast::{Cast, Played};
use network::Network;

/// Plays `world` once.
///
/// # Errors
/// The invariant that was broken: a message refused, damaged, repeated or out of order.
pub fn play(world: &World, cast: &Cast) -> Result<Played, String> {
    let mut network = Network::build(world, cast)?;
    let origin = network.begin(world)?;
    let from = origin + Duration::from_secs_f64(world.warmup_s);
    let to = origin + Duration::from_secs_f64(world.seconds);
    network.simulation.run(from);
    let mark = network.carried();
    network.simulation.run(to);
    network.check()?;
    Ok(network.measure(world, (from, to), &mark))
}
