//! A world with all that it is compared with.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_core::Profile;

use crate::play::{Cast, Played, play};
use crate::world::World;

/// What the laws judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Number of the world.
    pub world: u64,
    /// Over all paths.
    pub ours: Played,
    /// Over each path alone.
    pub alone: Vec<Played>,
    /// What all paths could carry, Mbit/s of user data.
    pub ideal_mbps: f64,
    /// Whether no packet is lost but from full queues, and the buffers have room for twice the
    /// bandwidth–delay products.
    pub clean: bool,
    /// Whether messages are ordered.
    pub ordered: bool,
}

impl Measures {
    /// The path that alone has the highest goodput.
    pub fn best(&self) -> &Played {
        let best = self.alone.iter().max_by(|a, b| a.goodput_mbps.total_cmp(&b.goodput_mbps));
        best.unwrap_or(&self.ours)
    }
}

/// Plays `world` over all of its paths and over each alone.
///
/// # Errors
/// The invariant that was broken, and by which of them.
pub fn measure(world: &World, profile: &Arc<Profile>) -> Result<Measures, String> {
    let cast = |alone| Cast { profile, alone, replication: 0 };
    let ours = play(world, &cast(None))?;
    let mut alone = Vec::new();
    for path in 0..world.paths.len() {
        // One path is alone anyway.
        let played = if world.paths.len() == 1 {
            ours.clone()
        } else {
            play(world, &cast(Some(path))).map_err(|e| format!("path {} alone: {e}", path + 1))?
        };
        alone.push(played);
    }
    Ok(Measures {
        world: world.seed,
        ours,
        alone,
        ideal_mbps: world.ideal() / 1e6,
        clean: world.is_lossless() && world.buffer as f64 >= 2.0 * world.bdp_bytes(),
        ordered: !world.bulk.unordered,
    })
}
