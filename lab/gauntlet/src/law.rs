//! The laws: pure functions of what was measured.

use crate::judge::Measures;

/// A law, numbered as in `docs/gauntlet.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// 1: at least as much as the best path alone.
    NoHarmToUs,
    /// 2: nearly as much as all paths together could carry.
    FullUse,
    /// 4: messages wait for others hardly longer than over the best path alone.
    Order,
}

impl Law {
    /// All of them, in order.
    pub const ALL: [Law; 3] = [Law::NoHarmToUs, Law::FullUse, Law::Order];

    /// Its number and name.
    pub const fn name(self) -> &'static str {
        match self {
            Law::NoHarmToUs => "1 no harm to us",
            Law::FullUse => "2 full use",
            Law::Order => "4 order",
        }
    }
}

/// What a law makes of a world that it applies to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The law.
    pub law: Law,
    /// What was measured.
    pub value: f64,
    /// What it is compared with.
    pub bound: f64,
    /// By how much it is better than needed, as a share of the bound; negative if it is worse.
    pub margin: f64,
}

impl Verdict {
    /// Whether the law holds.
    pub fn holds(&self) -> bool {
        self.margin >= 0.0
    }

    fn at_least(law: Law, value: f64, bound: f64) -> Verdict {
        Verdict { law, value, bound, margin: (value - bound) / bound }
    }

    fn at_most(law: Law, value: f64, bound: f64) -> Verdict {
        Verdict { law, value, bound, margin: (bound - value) / bound }
    }
}

/// The verdicts of all laws that apply.
pub fn judge(measures: &Measures) -> Vec<Verdict> {
    let Measures { ours, .. } = measures;
    let best = measures.best();
    let mut verdicts = Vec::new();
    if best.goodput_mbps > 0.0 {
        let value = ours.goodput_mbps / best.goodput_mbps;
        verdicts.push(Verdict::at_least(Law::NoHarmToUs, value, 1.0));
    }
    if measures.clean {
        let value = ours.goodput_mbps / measures.ideal_mbps;
        verdicts.push(Verdict::at_least(Law::FullUse, value, 0.95));
    }
    if measures.ordered && best.delay_p99_ms > 0.0 {
        let value = ours.delay_p99_ms / best.delay_p99_ms;
        verdicts.push(Verdict::at_most(Law::Order, value, 1.2));
    }
    verdicts
}
