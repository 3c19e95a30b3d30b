//! Random deaths of the primary path: the application hears of it (RFC 9260 §8.2) within the timers of RFC 9260,
//! although those of `tresse` expire earlier, and not each time is an error (`patience`).

use super::*;
use crate::PathState;
use crate::rng::Rng;

#[derive(Clone, Debug)]
struct Death {
    rto_min: Duration,
    rto_max: Duration,
    heartbeat_interval: Duration,
    path_max_retrans: u32,
    paths: u8,
    one_way: Duration,
    /// A message of this many bytes each `interval`.
    len: usize,
    interval: Duration,
}

impl Death {
    fn draw(seed: u64) -> Death {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = Rng::from_seed(bytes);
        let mut pick = |from: u64, to: u64| from + rng.next_u64() % (to - from + 1);
        let one_way = ms([1, 5, 20, 50, 120][pick(0, 4) as usize]);
        let rto_min = ms([1000, 100, 300, 2000][pick(0, 3) as usize]);
        let rto_max = ms([60_000, 1000, 10_000, 5000][pick(0, 3) as usize]).max(rto_min);
        Death {
            rto_min,
            rto_max,
            heartbeat_interval: ms([500, 1000, 5000, 30_000][pick(0, 3) as usize]),
            path_max_retrans: pick(0, 5) as u32,
            paths: pick(2, 3) as u8,
            one_way,
            len: [50, 1000, 20_000][pick(0, 2) as usize],
            interval: ms([50, 250, 3000][pick(0, 2) as usize]),
        }
    }

    /// How long all expirations take together, the RTO doubled after each (§6.3.3 E2). The first one is
    /// that of a round trip whose SACKs are delayed by 200 ms (§6.2): by then the variation is a quarter of it.
    fn bound(&self) -> Duration {
        let rto = self.rto_min.max(5 * (2 * self.one_way + ms(200)));
        // The first error may be cleared: what had come over this path is acknowledged over another one (RFC 7829
        // §3.2 rule 10). RTO stays doubled, for nothing was measured.
        let expirations = 0..=self.path_max_retrans + 1;
        // And it is looked at once each interval.
        expirations.map(|k| (rto * (1 << k)).min(self.rto_max)).sum::<Duration>()
            + 2 * self.interval
    }

    /// How long it takes until the application is told.
    fn play(&self, name: &str) -> Duration {
        let overrides = format!(
            "[rto]\nmin_ms = {min}\nmax_ms = {}\ninitial_ms = {min}\n[heartbeat]\ninterval_ms = {}\n\
             [limits]\npath_max_retrans = {}",
            self.rto_max.as_millis(),
            self.heartbeat_interval.as_millis(),
            self.path_max_retrans,
            min = self.rto_min.as_millis(),
        );
        let config = AssociationConfig { no_delay: true, ..profile(name, &overrides) };
        let (mut pair, a, z) = Pair::connected(&config, self.paths);
        pair.delay = self.one_way;
        let send = |pair: &mut Pair| {
            let (now, message) = (pair.now, Bytes::from(vec![1; self.len]));
            // It may be that there is no room.
            let _ = pair.end(Side::A).send(now, a, StreamId(0), message, SendOptions::default());
            pair.run(self.interval);
            pair.recv_all(Side::Z, z);
        };
        for _ in 0..secs(6).as_millis() / self.interval.as_millis() {
            send(&mut pair);
        }
        let start = pair.now;
        let dead = [addresses(Side::A, 1)[0], addresses(Side::Z, 1)[0]];
        pair.drop = Box::new(move |p| p.at >= start && dead.contains(&p.to.destination));
        let told = |event: &Event| {
            matches!(event, Event::PathChanged { path: PathId(0), state: PathState::Inactive, .. })
        };
        for _ in 0..secs(3600).as_millis() / self.interval.as_millis() {
            send(&mut pair);
            if pair.saw(Side::A, told) {
                return pair.now.since(start);
            }
        }
        panic!("not within an hour, {name}: {self:?}");
    }
}

//= RFC 7829 4-1
#[test]
fn a_dead_path_is_told_of_within_the_timers_of_rfc_9260() {
    let mut failures = Vec::new();
    for seed in 0..200 {
        let death = Death::draw(seed);
        let (told, bound) = (death.play("tresse"), death.bound());
        if told > bound {
            failures.push(format!("seed {seed}: {told:?}, not within {bound:?}: {death:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
