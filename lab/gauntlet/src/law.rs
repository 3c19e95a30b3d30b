//! The laws: pure functions of a world and of what was measured in it.

use crate::measures::Measures;
use crate::world::{FULL, Family, World};

/// A law, numbered as in `docs/gauntlet.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// 1: at least as much as the best path alone.
    NoHarmToUs,
    /// 2: nearly as much as all paths together could carry.
    FullUse,
    /// 3: at a bottleneck that others use no more than one fair flow.
    NoHarmToOthers,
    /// 3: and altogether not much less.
    NotStarved,
    /// 4: messages wait for others hardly longer than over the best path alone.
    Order,
    /// 5: no pause while one path works.
    Alive,
    /// 6: random loss does not slow down.
    LossIsNotCongestion,
    /// 7: a thin stream is not slowed down by the bulk beside it.
    ThinBesideBulk,
}

/// What a law demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// The value is at least, or at most, so much ...
    pub bound: f64,
    /// ... in this share of the worlds that the law applies to ...
    pub in_share: f64,
    /// ... and in the others at least, or at most, so much; without a limit: infinite.
    pub worst: f64,
    /// Whether greater values are worse.
    pub at_most: bool,
}

impl Law {
    /// All of them, in order.
    pub const ALL: [Law; 8] = [
        Law::NoHarmToUs,
        Law::FullUse,
        Law::NoHarmToOthers,
        Law::NotStarved,
        Law::Order,
        Law::Alive,
        Law::LossIsNotCongestion,
        Law::ThinBesideBulk,
    ];

    /// Its number and name.
    pub const fn name(self) -> &'static str {
        match self {
            Law::NoHarmToUs => "1 no harm to us",
            Law::FullUse => "2 full use",
            Law::NoHarmToOthers => "3 no harm to others",
            Law::NotStarved => "3 not starved",
            Law::Order => "4 order",
            Law::Alive => "5 alive",
            Law::LossIsNotCongestion => "6 loss is not congestion",
            Law::ThinBesideBulk => "7 thin beside bulk",
        }
    }

    /// A word for it, in files.
    pub const fn key(self) -> &'static str {
        match self {
            Law::NoHarmToUs => "harm-to-us",
            Law::FullUse => "full-use",
            Law::NoHarmToOthers => "harm-to-others",
            Law::NotStarved => "starved",
            Law::Order => "order",
            Law::Alive => "alive",
            Law::LossIsNotCongestion => "random-loss",
            Law::ThinBesideBulk => "thin-beside-bulk",
        }
    }

    /// What its value is.
    pub const fn value(self) -> &'static str {
        match self {
            Law::NoHarmToUs => "goodput / that of the best path alone",
            Law::FullUse => "goodput / ideal sum",
            Law::NoHarmToOthers => "goodput at the bottleneck / that of a fair flow",
            Law::NotStarved => "goodput / that of a fair flow",
            Law::Order => {
                "99th percentile of the delivery delay / that over the path that alone has the highest goodput"
            }
            Law::Alive => "longest pause / (3 × longest round trip + 200 ms)",
            Law::LossIsNotCongestion => "goodput / what the link carries",
            Law::ThinBesideBulk => "99th percentile of the thin stream / that without bulk",
        }
    }

    /// The worlds that it applies to.
    pub const fn worlds(self) -> &'static str {
        match self {
            Law::NoHarmToUs => "no competitor",
            Law::FullUse => "no competitor, no loss, no thin stream, buffers of 2 BDP",
            Law::NoHarmToOthers | Law::NotStarved => "competitors at a shared bottleneck",
            Law::Order => "no competitor, ordered",
            Law::Alive => "dying, narrowing and returning paths",
            Law::LossIsNotCongestion => "one path with 1 % of random loss",
            Law::ThinBesideBulk => "a thin stream and bulk in one association",
        }
    }

    /// What it demands; of others' shares more with several paths than with one.
    pub fn demand(self, paths: usize) -> Demand {
        let least = |bound, in_share, worst| Demand { bound, in_share, worst, at_most: false };
        let most =
            |bound, in_share| Demand { bound, in_share, worst: f64::INFINITY, at_most: true };
        match self {
            Law::NoHarmToUs => least(1.0 - WHOLE, 0.99, 0.95),
            Law::FullUse => least(0.95, 0.95, 0.85),
            Law::NoHarmToOthers => most(if paths > 1 { 1.3 } else { 2.0 }, 0.95),
            Law::NotStarved => least(0.5, 0.95, 0.0),
            Law::Order => most(1.2, 0.95),
            Law::Alive => most(1.0, 1.0),
            Law::LossIsNotCongestion => least(0.8, 1.0, 0.0),
            Law::ThinBesideBulk => most(1.3, 1.0),
        }
    }

    /// Those that apply to a world.
    pub fn of(world: &World) -> Vec<Law> {
        let alone = world.competitors() == 0;
        let roomy = world.buffer as f64 >= 2.0 * world.bdp_bytes();
        let applies = |law: &Law| match law {
            Law::NoHarmToUs => alone,
            Law::FullUse => alone && roomy && world.is_lossless() && world.thin.is_none(),
            Law::NoHarmToOthers | Law::NotStarved => !alone,
            Law::Order => alone && !world.bulk.unordered,
            Law::Alive => world.family == Family::Dying,
            Law::LossIsNotCongestion => world.family == Family::Lossy,
            Law::ThinBesideBulk => world.family == Family::Thin,
        };
        Law::ALL.into_iter().filter(applies).collect()
    }
}

/// What whole messages and packets at both ends of the time that counts may take from a comparison of two
/// runs, as a share.
const WHOLE: f64 = 0.005;

/// What a law makes of a world that it applies to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The law.
    pub law: Law,
    /// What was measured.
    pub value: f64,
    /// What it is compared with.
    pub demand: Demand,
    /// By how much it is better than the bound, as a share of it; negative if it is worse.
    pub margin: f64,
}

impl Verdict {
    fn new(law: Law, paths: usize, value: f64) -> Verdict {
        let demand = law.demand(paths);
        let better = if demand.at_most { demand.bound - value } else { value - demand.bound };
        Verdict { law, value, demand, margin: better / demand.bound }
    }

    /// Whether the law holds.
    pub fn holds(&self) -> bool {
        self.margin >= 0.0
    }

    /// Whether it is so bad that no world may be.
    pub fn is_beyond_worst(&self) -> bool {
        let Demand { worst, at_most, .. } = self.demand;
        if at_most { self.value > worst } else { self.value < worst }
    }
}

/// The verdicts of all laws that apply, in order. A law whose value nothing was measured for is left out.
pub fn judge(world: &World, measures: &Measures) -> Vec<Verdict> {
    let Measures { ours, .. } = measures;
    let ratio = |own: f64, other: Option<f64>| Some(own / other.filter(|other| *other > 0.0)?);
    let value = |law: &Law| match law {
        Law::NoHarmToUs => ratio(ours.goodput_mbps, measures.best().map(|p| p.goodput_mbps)),
        Law::FullUse => ratio(ours.goodput_mbps, Some(world.ideal_mbps())),
        Law::NoHarmToOthers => ratio(ours.bottleneck_mbps, measures.fair_mbps().map(|fair| fair.1)),
        Law::NotStarved => ratio(ours.goodput_mbps, measures.fair_mbps().map(|fair| fair.0)),
        Law::Order => ratio(ours.delay_ms[1], measures.best().map(|p| p.delay_ms[1])),
        Law::Alive => Some(ours.pause_share()),
        Law::LossIsNotCongestion => ratio(ours.goodput_mbps, Some(world.ideal_mbps())),
        Law::ThinBesideBulk => {
            ratio(ours.thin_ms[0], measures.thin_alone.as_ref().map(|p| p.thin_ms[0]))
        }
    };
    let verdict = |law: Law| Some(Verdict::new(law, world.paths.len(), value(&law)?));
    Law::of(world).into_iter().filter_map(verdict).collect()
}

/// Whether law 1 has its stricter limit: one message size, and messages of at least 1 kB.
pub fn is_plain(world: &World) -> bool {
    world.thin.is_none() && world.bulk.size >= 1000 && world.bulk.size <= FULL
}

#[cfg(test)]
mod tests;
