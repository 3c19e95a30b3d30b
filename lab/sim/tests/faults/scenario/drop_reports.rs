//! Packet drop reports (draft-stewart-sctp-pktdrprep) in scenarios that had none: whether each end has them, and links that damage
//! some more packets. All else stays as it is.

use tresse_sim::{Draw, LinkConfig};

use super::{Fault, Scenario};

/// The most that is damaged more, of all packets.
const MOST: f64 = 0.01;

impl Scenario {
    /// Draws for each host whether it reports damaged packets.
    pub(super) fn drop_reports(mut self) -> Scenario {
        let mut draw = Draw::new(self.seed ^ 0xe7e5_10f5_0081_0001);
        if !draw.chance(0.5) {
            return self;
        }
        for host in &mut self.hosts {
            host.config.extensions.packet_drop_reports = draw.chance(0.8);
        }
        let [a, b] = self.hosts.each_ref().map(|host| host.config.extensions.packet_drop_reports);
        // What is damaged where no checksum finds it is no packet of this network.
        let checked = self.hosts.iter().all(|host| !host.config.extensions.zero_checksum);
        if checked && draw.chance(0.7) {
            let drawn = self.links.iter_mut().map(|link| &mut link.config);
            let later = self.faults.iter_mut().filter_map(|(_, fault)| match fault {
                Fault::Relink(_, config) => Some(&mut **config),
                _ => None,
            });
            drawn.chain(later).for_each(|link| damage(&mut draw, link));
        }
        if a && b {
            self.features.insert("both report damage");
        }
        if a != b {
            self.features.insert("one end reports damage");
        }
        self
    }
}

fn damage(draw: &mut Draw, link: &mut LinkConfig) {
    let more = MOST * draw.unit();
    if link.corrupt == 0.0 {
        link.corrupt = more;
    }
}
