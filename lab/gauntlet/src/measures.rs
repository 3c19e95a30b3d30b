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
    /// With one more of the competitors in our place.
    pub without_us: Option<Played>,
    /// The thin stream without the bulk.
    pub thin_alone: Option<Played>,
}

impl Measures {
    /// The path that alone has the highest goodput.
    pub fn best(&self) -> Option<&Played> {
        self.alone.iter().max_by(|a, b| a.goodput_mbps.total_cmp(&b.goodput_mbps))
    }

    /// Mbit/s of one fair flow: the mean of all when one more of the competitors is in our place.
    pub fn fair_mbps(&self) -> Option<f64> {
        let all = self.without_us.as_ref()?;
        let sum = all.others_mbps.iter().sum::<f64>() + all.goodput_mbps;
        Some(sum / (all.others_mbps.len() + 1) as f64)
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
        let paths = all.first().map_or(0, |first| first.alone.len());
        Measures {
            world: all.first().map_or(0, |first| first.world),
            replications: all.len() as u64,
            ours: one(&|m| Some(m.ours.clone())).unwrap_or_default(),
            alone: (0..paths).filter_map(|path| one(&|m| m.alone.get(path).cloned())).collect(),
            without_us: one(&|m| m.without_us.clone()),
            thin_alone: one(&|m| m.thin_alone.clone()),
        }
    }
}
