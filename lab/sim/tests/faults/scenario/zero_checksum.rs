//! Checksums of zero (RFC 9653) in scenarios that had none: whether each end offers that. All else stays as it is.

use tresse_sim::{Draw, LinkConfig};

use super::{Fault, Scenario};

impl Scenario {
    /// Draws for each host whether it does without checksums.
    pub(super) fn zero_checksum(mut self) -> Scenario {
        let mut draw = Draw::new(self.seed ^ 0xe7e5_10f5_9653_0001);
        if !draw.chance(0.4) {
            return self;
        }
        for host in &mut self.hosts {
            host.config.extensions.zero_checksum = draw.chance(0.8);
        }
        let [a, b] = self.hosts.each_ref().map(|host| host.config.extensions.zero_checksum);
        if a || b {
            let drawn = self.links.iter_mut().map(|link| &mut link.config);
            let later = self.faults.iter_mut().filter_map(|(_, fault)| match fault {
                Fault::Relink(_, config) => Some(&mut **config),
                _ => None,
            });
            drawn.chain(later).for_each(drop_what_is_damaged);
        }
        if a && b {
            self.features.insert("both leave checksums out");
        }
        if a != b {
            self.features.insert("one end offers zero checksum");
        }
        self
    }
}

/// DTLS passes nothing on that was damaged on the way.
fn drop_what_is_damaged(link: &mut LinkConfig) {
    link.loss = 1.0 - (1.0 - link.loss) * (1.0 - link.corrupt);
    link.corrupt = 0.0;
    link.drop_packets.extend(std::mem::take(&mut link.corrupt_packets));
}
