//! Messages that may be given up, in scenarios that had none.

use std::time::Duration;

use tresse_core::Reliability;
use tresse_sim::Draw;

use super::Scenario;

/// How often an end of a scenario offers partial reliability where nothing else is said.
pub(crate) const OFTEN: f64 = 0.85;

impl Scenario {
    /// Draws whether each host offers partial reliability, which `often` it does, and a policy for each message. All else
    /// stays as it is.
    pub(crate) fn partial(mut self, often: f64) -> Scenario {
        let mut draw = Draw::new(self.seed ^ 0x7a97_1a11_0ff5_7e11);
        for host in &mut self.hosts {
            if draw.chance(often) {
                host.config.extensions.partial_reliability = true;
                self.features.insert("offers partial reliability");
            }
            // Some programs have one policy, some have all, and most have some reliable messages.
            let one = draw.chance(0.4).then(|| draw.between(0, 2));
            let reliable = draw.pick(&[0.0, 0.2, 0.5, 0.9]);
            for message in &mut host.traffic {
                if draw.chance(reliable) {
                    continue;
                }
                message.reliability = match one.unwrap_or_else(|| draw.between(0, 2)) {
                    0 => Reliability::Timed(Duration::from_micros(draw.log_whole(100, 10_000_000))),
                    1 => Reliability::Retransmissions(draw.between(0, 3) as u32),
                    _ => Reliability::Priority(draw.between(0, 5) as u32),
                };
            }
        }
        if self.hosts.iter().all(|host| host.config.extensions.partial_reliability) {
            self.features.insert("both offer partial reliability");
            self.hosts.iter_mut().for_each(|host| host.agrees = true);
        }
        self
    }
}
