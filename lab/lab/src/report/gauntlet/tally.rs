//! What the laws make of many worlds.

use tresse_gauntlet::{Law, Measures, Verdict, World, law};

/// A law that a world breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Broken {
    /// The world.
    pub world: u64,
    /// The verdict.
    pub verdict: Verdict,
}

/// One law in many worlds.
#[derive(Clone, Debug)]
pub struct Row {
    /// The law.
    pub law: Law,
    /// What it demands, with one path and with several.
    pub verdicts: Vec<(u64, Verdict)>,
}

impl Row {
    /// Worlds in which it holds.
    pub fn holding(&self) -> usize {
        self.verdicts.iter().filter(|(_, verdict)| verdict.holds()).count()
    }

    /// Share of the worlds in which it holds; 1 of none.
    pub fn share(&self) -> f64 {
        if self.verdicts.is_empty() {
            return 1.0;
        }
        self.holding() as f64 / self.verdicts.len() as f64
    }

    /// Worlds that are beyond what any may be; 0 where there is no such limit.
    pub fn beyond(&self) -> usize {
        self.verdicts.iter().filter(|(_, verdict)| verdict.is_beyond_worst()).count()
    }

    /// The world with the least margin.
    pub fn worst(&self) -> Option<&(u64, Verdict)> {
        self.verdicts.iter().min_by(|a, b| a.1.margin.total_cmp(&b.1.margin))
    }

    /// Whether the law holds in as many worlds as it must, and none is beyond what any may be.
    pub fn is_kept(&self) -> bool {
        self.share() >= self.law.demand(1).in_share && self.beyond() == 0
    }

    /// Values in order.
    pub fn values(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.verdicts.iter().map(|(_, v)| v.value).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// All laws in many worlds.
#[derive(Clone, Debug)]
pub struct Tally {
    /// A row for each law, in order.
    pub rows: Vec<Row>,
    /// Law 1 where it is stricter: one message size of at least 1 kB and no more than a packet; how many worlds, and
    /// how many below its limit.
    pub plain: (usize, usize),
}

impl Tally {
    /// What the laws make of `measures`.
    pub fn of(measures: &[Measures]) -> Tally {
        let mut rows: Vec<Row> =
            Law::ALL.iter().map(|law| Row { law: *law, verdicts: Vec::new() }).collect();
        let mut plain = (0, 0);
        for measured in measures {
            let world = World::draw(measured.world);
            for verdict in law::judge(&world, measured) {
                if verdict.law == Law::NoHarmToUs && law::is_plain(&world) {
                    plain.0 += 1;
                    plain.1 += usize::from(verdict.is_beyond_worst());
                }
                let row = rows.iter_mut().find(|row| row.law == verdict.law);
                row.expect("a row for each law").verdicts.push((measured.world, verdict));
            }
        }
        Tally { rows, plain }
    }

    /// The worst worlds of each law in turn, `count` in all: ratios of different laws are no match for each other.
    pub fn worst(&self, count: usize) -> Vec<Broken> {
        let of_law = |row: &Row| {
            let mut broken: Vec<(u64, Verdict)> =
                row.verdicts.iter().filter(|(_, verdict)| !verdict.holds()).copied().collect();
            broken.sort_by(|a, b| a.1.margin.total_cmp(&b.1.margin));
            broken
        };
        let rows: Vec<Vec<(u64, Verdict)>> = self.rows.iter().map(of_law).collect();
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        let in_turn =
            (0..longest).flat_map(|place| rows.iter().filter_map(move |row| row.get(place)));
        let mut worst: Vec<Broken> = in_turn
            .take(count)
            .map(|(world, verdict)| Broken { world: *world, verdict: *verdict })
            .collect();
        worst.sort_by_key(|broken| broken.verdict.law);
        worst
    }
}

#[cfg(test)]
mod tests {
    use tresse_gauntlet::{Played, World};

    use super::*;

    /// World 1, with two paths of which the best alone has 10 Mbit/s.
    fn measured(goodput_mbps: f64) -> Measures {
        let played = |goodput_mbps| Played { goodput_mbps, ..Played::default() };
        Measures {
            world: 1,
            replications: 1,
            ours: played(goodput_mbps),
            alone: vec![played(10.0), played(3.0)],
            without_us: Vec::new(),
            thin_alone: None,
        }
    }

    fn harm(goodputs: &[f64]) -> Row {
        let measures: Vec<Measures> = goodputs.iter().map(|mbps| measured(*mbps)).collect();
        Tally::of(&measures).rows.into_iter().find(|row| row.law == Law::NoHarmToUs).unwrap()
    }

    #[test]
    fn a_law_is_kept_in_its_share_of_worlds_if_none_is_beyond_its_limit() {
        assert_eq!(World::draw(1).competitors(), 0);
        let mut goodputs = vec![12.0; 199];
        goodputs.push(9.6);
        let row = harm(&goodputs);
        assert!(row.is_kept() && row.beyond() == 0 && row.holding() == 199);
        assert_eq!(row.worst().map(|(_, verdict)| verdict.value), Some(0.96));
        goodputs.extend([9.6, 9.6]);
        assert!(!harm(&goodputs).is_kept(), "98.5 % are too few");
        let row = harm(&[vec![12.0; 199], vec![9.4]].concat());
        assert!(!row.is_kept() && row.beyond() == 1, "and 94 % too little for any");
        assert!(harm(&[]).is_kept());
    }

    #[test]
    fn each_law_has_its_share_of_the_worst_worlds() {
        let measures = [measured(2.5), measured(1e4), measured(0.625), measured(1.25)];
        let worst = |count| {
            let worst = Tally::of(&measures).worst(count);
            let harms = worst.iter().filter(|broken| broken.verdict.law == Law::NoHarmToUs);
            (worst.len(), harms.map(|broken| broken.verdict.value).collect::<Vec<f64>>())
        };
        // Full use is broken as often.
        assert_eq!(worst(20), (6, vec![0.0625, 0.125, 0.25]));
        assert_eq!(worst(2), (2, vec![0.0625]));
    }
}
