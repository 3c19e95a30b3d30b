//! Messages that are handed over in parts (RFC 9260 §6.9) in scenarios that had none: from which point on, at each end. All else
//! stays as it is.

use tresse_sim::Draw;

use super::Scenario;

impl Scenario {
    /// Draws the partial delivery point of each host.
    pub(super) fn parts(mut self) -> Scenario {
        let mut draw = Draw::new(self.seed ^ 0xe7e5_10f5_0609_0015);
        for host in &mut self.hosts {
            if !draw.chance(0.3) {
                continue;
            }
            let most = u64::from(host.config.receive_buffer);
            let point = if draw.chance(0.2) { most } else { draw.log_whole(1, most) };
            host.config.partial_delivery_point = Some(point as usize);
            self.features.insert("reads in parts");
        }
        self
    }
}
