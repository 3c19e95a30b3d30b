//! A world from its number.

use super::{FULL, Family, MTU, PACKETS, World, bits_per_s, network, traffic};

/// A message costs the simulator so much of what a packet does.
const MESSAGE_COST: f64 = 0.25;

impl World {
    /// World number `seed`.
    pub fn draw(seed: u64) -> World {
        let family = Family::of(seed);
        let (paths, shared) = network::draw(seed, family);
        let bulk = traffic::messages(seed, family);
        let (warmup_s, seconds) = (0.0, 0.0);
        let mut world =
            World { seed, family, paths, shared, buffer: 0, bulk, thin: None, warmup_s, seconds };
        world.settle();
        network::change(&mut world);
        traffic::finish(&mut world);
        world
    }

    /// Lowers the bandwidths until the world is small enough, and settles its time.
    fn settle(&mut self) {
        let (warmup, measured) = self.family.round_trips();
        loop {
            let round_trip = self.slowest_round_trip_s().max(0.03);
            self.warmup_s = warmup * round_trip;
            self.seconds = self.warmup_s + (measured * round_trip).max(self.family.least_s());
            let rate: f64 = self.limits().map(|(link, _)| bits_per_s(link)).sum();
            let packets = rate * self.seconds / (8 * MTU) as f64;
            let messages = (FULL as f64 / self.bulk.size as f64).max(1.0);
            // Where no bandwidth can be lowered, a world may be somewhat larger.
            let lowest = rate <= network::KBPS[0] * 1e3 * self.limits().count() as f64;
            if lowest || packets * (1.0 + MESSAGE_COST * (messages - 1.0)) <= PACKETS {
                break;
            }
            let own = self.paths.iter_mut().flat_map(|p| [&mut p.forward, &mut p.backward]);
            let shared = self.shared.iter_mut().flat_map(|s| [&mut s.forward, &mut s.backward]);
            own.chain(shared).for_each(|link| network::slow_down(link, 0.8));
        }
    }
}
