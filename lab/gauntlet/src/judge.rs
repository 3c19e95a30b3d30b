//! A world with all that it is compared with.

use std::sync::Arc;

use tresse_core::Profile;

use crate::law::{self, Law};
use crate::measures::Measures;
use crate::play::{Cast, play};
use crate::world::World;

/// Replications of a world that all count if the first one breaks a law by a little: what chance took from
/// one run it gives to another one.
pub const REPLICATIONS: u64 = 4;
/// A law that is broken by a larger share of its bound is broken whatever chance does.
const BY_CHANCE: f64 = 0.2;

/// Plays `world` with `profile` over all of its paths, and whatever it is compared with; again if a law
/// is broken by so little that chance may have done it.
///
/// # Errors
/// The invariant that was broken, and by which of them.
pub fn measure(world: &World, profile: &Arc<Profile>) -> Result<Measures, String> {
    let first = once(world, profile, 0)?;
    let doubtful = |verdict: &law::Verdict| !verdict.holds() && verdict.margin > -BY_CHANCE;
    if !law::judge(world, &first).iter().any(doubtful) {
        return Ok(first);
    }
    let more = (1..REPLICATIONS).map(|replication| once(world, profile, replication));
    let all: Vec<Measures> = [Ok(first)].into_iter().chain(more).collect::<Result<_, _>>()?;
    Ok(Measures::mean(&all))
}

fn once(world: &World, profile: &Arc<Profile>, replication: u64) -> Result<Measures, String> {
    let cast =
        |alone| Cast { profile: Arc::clone(profile), alone, bulk: true, others: None, replication };
    let ours = play(world, &cast(None))?;
    let laws = Law::of(world);
    let mut alone = Vec::new();
    if laws.contains(&Law::NoHarmToUs) {
        for path in 0..world.paths.len() {
            // One path is alone anyway.
            alone.push(match world.paths.len() {
                1 => ours.clone(),
                _ => play(world, &cast(Some(path)))
                    .map_err(|e| format!("path {} alone: {e}", path + 1))?,
            });
        }
    }
    let mut without_us = Vec::new();
    if let Some(shared) = world.shared.as_ref().filter(|s| !s.competitors.is_empty()) {
        let profile = Arc::new(Profile::named(shared.profile).map_err(|e| e.to_string())?);
        for &path in &shared.paths {
            let cast = Cast { profile: Arc::clone(&profile), ..cast(Some(path)) };
            without_us.push(play(world, &cast).map_err(|e| format!("without us: {e}"))?);
        }
    }
    let mut thin_alone = None;
    if world.thin.is_some() {
        let cast = Cast { bulk: false, ..cast(None) };
        thin_alone = Some(play(world, &cast).map_err(|e| format!("thin alone: {e}"))?);
    }
    Ok(Measures { world: world.seed, replications: 1, ours, alone, without_us, thin_alone })
}
