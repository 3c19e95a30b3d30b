//! ECN in scenarios that had none: whether each end is capable of it, and links that mark, clear the field, or mark
//! everything. All else stays as it is.

use tresse_sim::{Draw, EcnField, LinkConfig};

use super::{Fault, Scenario};

impl Scenario {
    /// Draws for each host whether it is ECN-capable, and what links do to the field.
    pub(super) fn ecn(mut self) -> Scenario {
        let mut draw = Draw::new(self.seed ^ 0xe7e5_10f5_3168_0001);
        if !draw.chance(0.5) {
            return self;
        }
        for host in &mut self.hosts {
            host.config.extensions.ecn = draw.chance(0.7);
        }
        let [a, b] = self.hosts.each_ref().map(|host| host.config.extensions.ecn);
        let drawn = self.links.iter_mut().map(|link| &mut link.config);
        let later = self.faults.iter_mut().filter_map(|(_, fault)| match fault {
            Fault::Relink(_, config) => Some(&mut **config),
            _ => None,
        });
        for link in drawn.chain(later) {
            mark(&mut draw, link);
            match link.ecn {
                EcnField::Clear if a && b => drop(self.features.insert("ECN cleared")),
                EcnField::Mark if a && b => drop(self.features.insert("everything marked")),
                _ => {}
            }
        }
        if a && b {
            self.features.insert("both are ECN-capable");
        }
        if a != b {
            self.features.insert("one end is ECN-capable");
        }
        self
    }
}

fn mark(draw: &mut Draw, link: &mut LinkConfig) {
    link.ecn = draw.pick(&[EcnField::Keep, EcnField::Keep, EcnField::Clear, EcnField::Mark]);
    if let Some(red) = &mut link.red {
        red.ecn = draw.chance(0.7);
    }
    if let Some(codel) = &mut link.codel {
        codel.ecn = draw.chance(0.7);
    }
}
