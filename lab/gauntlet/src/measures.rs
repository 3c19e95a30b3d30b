//! What was measured in a world.

use serde::{Deserialize, Serialize};

use crate::play::Played;

/// What the laws judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Number of the world.
    pub world: u64,
    /// How many replications they are the means of.
    pub replications: u64,
    /// Over all paths.
    pub ours: Played,
    /// Over each path alone; empty where no law asks.
    pub alone: Vec<Played>,
    /// With one more of the competitors in our place, over each of our paths through the bottleneck; empty where nobody
    /// competes.
    pub without_us: Vec<Played>,
    /// The thin stream without the bulk.
    pub thin_alone: Option<Played>,
}

impl Measures {
    /// The path that alone has the highest goodput.
    pub fn best(&self) -> Option<&Played> {
        self.alone.iter().max_by(|a, b| a.goodput_mbps.total_cmp(&b.goodput_mbps))
    }

    /// Mbit/s of one fair flow, at least and at most. Two answers are as fair: an equal share, the mean of all
    /// flows with one more of the competitors in our place; and what that one gets, over whichever of our paths gives
    /// it most (RFC 6356 §2, goal 2: no more than "a single flow using only one of these paths"), since of two
    /// flows the one with the shorter round trip has more.
    pub fn fair_mbps(&self) -> Option<(f64, f64)> {
        let best =
            self.without_us.iter().max_by(|a, b| a.goodput_mbps.total_cmp(&b.goodput_mbps))?;
        let equal = |all: &Played| {
            let sum = all.others_mbps.iter().sum::<f64>() + all.goodput_mbps;
            sum / (all.others_mbps.len() + 1) as f64
        };
        let (equal, own) = (equal(best), best.goodput_mbps);
        Some((equal.min(own), equal.max(own)))
    }

    /// Packets that were simulated.
    pub fn packets(&self) -> u64 {
        let others = self.alone.iter().chain(&self.without_us).chain(&self.thin_alone);
        others.chain([&self.ours]).map(|played| played.packets).sum()
    }

    /// The means of several replications.
    pub(crate) fn mean(all: &[Measures]) -> Measures {
        let one = |of: &dyn Fn(&Measures) -> Option<Played>| {
            let played: Option<Vec<Played>> = all.iter().map(of).collect();
            played.filter(|played| !played.is_empty()).map(|played| Played::mean(&played))
        };
        let each = |of: &dyn Fn(&Measures) -> &Vec<Played>| {
            let paths = all.first().map_or(0, |first| of(first).len());
            (0..paths).filter_map(|path| one(&|m| of(m).get(path).cloned())).collect()
        };
        Measures {
            world: all.first().map_or(0, |first| first.world),
            replications: all.len() as u64,
            ours: one(&|m| Some(m.ours.clone())).unwrap_or_default(),
            alone: each(&|m| &m.alone),
            without_us: each(&|m| &m.without_us),
            thin_alone: one(&|m| m.thin_alone.clone()),
        }
    }
}
