//! Whether a world is harmed by a search.

use std::fmt;

use tresse_sim::apps::Plan;

use crate::play::{Knowledge, Played, play};
use crate::world::World;

/// Messages that are given up may be lost besides.
const CHANCE: f64 = 0.02;
/// A message takes longer than the slowest by this factor, where packets leave in another order.
const SLOWER: f64 = 1.5;
/// Bulk brings less by this factor: windows that count in MTUs begin at 1280.
const LESS: f64 = 0.8;

/// What a search makes of a world, and who knows.
#[derive(Debug)]
pub(crate) struct Verdict {
    search: Played,
    perfect: Played,
}

impl Verdict {
    pub(crate) fn of(world: &World) -> Verdict {
        let [search, perfect] = [Knowledge::Search, Knowledge::Perfect].map(|k| play(world, k));
        Verdict { search, perfect }
    }

    pub(crate) fn harms(&self, world: &World) -> Vec<&'static str> {
        let Verdict { search, perfect } = self;
        let allowance = world.allowance();
        // While it is found out nothing gets through, and what waited then takes the link for as long again.
        let share = (2.0 * allowance / world.seconds as f64).min(1.0);
        let missing = |played: &Played| (played.sent - played.arrived) as f64;
        let more = missing(search) - missing(perfect);
        let is_bulk = matches!(world.plan, Plan::Bulk(_));
        let least = LESS * (1.0 - share) * perfect.bytes as f64;
        let harms = [
            ("ended", search.ended && !perfect.ended),
            ("lost", world.lifetime.is_none() && more > 0.0 && missing(perfect) == 0.0),
            ("given up", more > (share + CHANCE) * search.sent as f64),
            ("late", search.most > SLOWER * perfect.most + 2e3 * allowance + 1e3),
            ("slow", is_bulk && (search.bytes as f64) < least),
        ];
        harms.iter().filter(|harm| harm.1).map(|harm| harm.0).collect()
    }

    /// What became of the path MTU.
    pub(crate) fn tell_steps(&self) {
        for step in &self.search.steps {
            println!("    {:.3} {:?}", step.at.as_nanos() as f64 / 1e9, step.event);
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [s, p] = [&self.search, &self.perfect];
        write!(
            f,
            "{} of {} arrived ({} of {} with MTU known), mean {:.1} ms ({:.1}), most {:.0} ms ({:.0}), {} bytes ({}), \
             {} expirations ({}), {} probes, {} black holes",
            s.arrived,
            s.sent,
            p.arrived,
            p.sent,
            s.mean,
            p.mean,
            s.most,
            p.most,
            s.bytes,
            p.bytes,
            s.timeouts,
            p.timeouts,
            s.probes,
            s.black_holes
        )
    }
}
