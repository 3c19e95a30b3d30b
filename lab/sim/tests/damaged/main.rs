//! Links that damage packets, drawn from a seed: with packet drop reports (draft-stewart-sctp-pktdrprep) nothing takes longer
//! than without them, and everything arrives once and in order.
//!
//! - `cargo test -p tresse-sim --test damaged` plays 40 worlds.
//! - `TRESSE_DAMAGED=0..1000 cargo test --release -p tresse-sim --test damaged -- --nocapture` plays others, and names those
//!   in which reports are dear.

mod world;

use std::env;
use std::ops::Range;

use tresse_core::LossCause;
use world::World;

/// Worlds that every test run plays.
const DEFAULT: Range<u64> = 0..40;
/// Those in which reports once cost time: a SACK that was damaged, reported and sent again was a sample of a round trip that is
/// twice as long as that of the path.
const ONCE_DEAR: &[u64] = &[257, 909, 1297];
/// Reports may cost this much of the mean time of a world. Where the link is full they may: nothing but damage kept its queue
/// short, and reports tell that it is no congestion.
const MOST: f64 = 1.05;
/// Worlds with several paths at a time in which reports cost time, and how many times as long it takes at most: what a report
/// repairs would have moved the stream to a better path, or off a worse one. With one path at a time they cost nothing there.
///
/// - 2093: one SACK is lost on the shorter path, its first, so that the round trip there looks like that of a delayed SACK. As if
///   it had a queue, few packets ask for their SACKs at once there, and further samples look the same. Only timeouts on the longer
///   path bring the stream back, and reports spare it these.
/// - 2658: the last 11 bytes of a message come damaged, in the bytes that a report has to quote as they were sent. But with it
///   comes the SACK for the packet before. One packet is in flight then, whose SACK may be delayed: its path is silent
///   (`multipath.silent_path`) 200 ms later than with two.
/// - 1130: more than the slowest link carries, and `rfc9260+rack` makes no difference between paths: damage alone has cut the
///   window of that one, and kept its queue short, in which every message has a fragment.
const DEAR_SIDE_BY_SIDE: &[(u64, f64)] = &[(2093, 1.6), (2658, 1.2), (1130, 5.0)];
/// So often is a world played, as long as reports seem to be dear there.
const REPLICATIONS: [u64; 4] = [2, 8, 32, 96];

/// What the replications of a world brought.
#[derive(Default)]
struct Means {
    times: [f64; 2],
    pairs: Vec<f64>,
    repairs: u64,
}

impl Means {
    /// Plays a world until it has been played that often.
    fn play(&mut self, world: &World, often: u64) {
        for replication in self.pairs.len() as u64..often {
            let [without, with] = [false, true].map(|reports| world.play(reports, replication));
            self.times[0] += without.0;
            self.times[1] += with.0;
            self.pairs.push(with.0 - without.0);
            self.repairs += with.1.retransmissions_by(LossCause::PacketDropReport);
        }
    }

    fn ratio(&self) -> f64 {
        self.times[1] / self.times[0]
    }

    /// By how many standard errors the times with reports exceed those without.
    fn errors(&self) -> f64 {
        let n = self.pairs.len() as f64;
        let mean = self.pairs.iter().sum::<f64>() / n;
        let variance = self.pairs.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
        mean / (variance / n).sqrt().max(1e-12)
    }
}

/// Plays a world until it is known whether reports are dear there.
fn judge(world: &World) -> Means {
    let mut means = Means::default();
    for most in REPLICATIONS {
        means.play(world, most);
        if means.ratio() <= MOST || !world.has_room() {
            break;
        }
    }
    means
}

/// Plays these worlds; returns those in which reports are dear, and how long all takes with them.
fn play(worlds: impl Iterator<Item = u64>) -> (Vec<u64>, f64) {
    let (mut dear, mut gains, mut repairs, mut all) = (Vec::new(), 0.0, 0, 0);
    for seed in worlds {
        let world = World::draw(seed);
        let means = judge(&world);
        let (ratio, errors) = (means.ratio(), means.errors());
        (all, gains, repairs) = (all + 1, gains + ratio.ln(), repairs + means.repairs);
        let is_known = DEAR_SIDE_BY_SIDE.iter().any(|(known, _)| *known == seed);
        if world.has_room() && ratio > MOST && errors > 2.0 && !is_known {
            println!("world {seed}: {ratio:.3} times as long, {errors:.1} errors: {world:?}");
            dear.push(seed);
        }
    }
    let mean = (gains / f64::from(all)).exp();
    println!("{all} worlds: {mean:.3} times as long; {repairs} repairs");
    (dear, mean)
}

#[test]
fn reports_cost_no_time() {
    let range = env::var("TRESSE_DAMAGED").ok().map_or(DEFAULT, |text| {
        let (from, to) = text.split_once("..").expect("a range as 0..40");
        from.parse().expect("a number")..to.parse().expect("a number")
    });
    let (dear, mean) = play(range);
    assert!(dear.is_empty(), "{dear:?}");
    assert!(mean < 1.0, "{mean:.3} times as long with reports");
}

#[test]
fn nor_do_they_where_they_once_did() {
    let (dear, _) = play(ONCE_DEAR.iter().copied());
    assert!(dear.is_empty(), "{dear:?}");
}

#[test]
fn where_they_do_they_would_not_with_one_path_at_a_time() {
    for (seed, most) in DEAR_SIDE_BY_SIDE {
        let world = World::draw(*seed);
        let ratio = |world: &World| {
            let mut means = Means::default();
            means.play(world, 32);
            means.ratio()
        };
        let (together, alone) = (ratio(&world), ratio(&world.one_path_at_a_time()));
        println!("world {seed}: {together:.3}, one path at a time {alone:.3}");
        assert!(together < *most && alone <= MOST, "world {seed}: {together:.3}, {alone:.3}");
    }
}
