//! The network of a flow experiment: one path or two, and a bottleneck that others use as well.

use serde::{Deserialize, Serialize};
use tresse_core::Profile;
use tresse_netem::LinkConfig;

use crate::mistake::{Checked, mistake, require};

/// Two hosts and the emulated network between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// The link from the data sender to the data receiver.
    pub forward: LinkConfig,
    /// The link back.
    pub backward: LinkConfig,
    /// A second, disjoint path: both hosts have an address on each. New data takes the first one,
    /// what is sent again after a timeout the other, unless `association.concurrent_transfer` has
    /// data take both. Default: none.
    #[serde(default)]
    pub second: Option<SecondPath>,
    /// A bottleneck behind the links of some paths, with flows that compete for it. Default: none.
    #[serde(default)]
    pub shared: Option<Shared>,
    /// The largest packets that pass, on every path. Default: any do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<PathMtu>,
    /// The clocks of both hosts are ahead of those of the links by up to this many milliseconds, each by another
    /// span in each run: where time is counted in ticks, it is not known how those of several hosts lie. Default 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clocks_apart_ms: f64,
    /// Addresses that become others in the course of a run. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<Move>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// An end gets another address on a path, as a mobile does that finds another network: it has interfaces, and is bound to
/// all of their addresses. Needs `association.asconf`; in the simulator only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// Which end. Default: the data sender.
    #[serde(default, skip_serializing_if = "Mover::is_sender")]
    pub end: Mover,
    /// Which path, from 1. Default 1.
    #[serde(default = "one")]
    pub path: u8,
    /// When the old address goes, in milliseconds of the simulation.
    pub at_ms: f64,
    /// How many milliseconds later the new one comes; below 0 it comes earlier, and both are there meanwhile. Default 0.
    #[serde(default)]
    pub without_ms: f64,
}

/// Whose address becomes another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mover {
    /// The data sender's.
    #[default]
    Sender,
    /// The data receiver's.
    Receiver,
}

impl Mover {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
    fn is_sender(&self) -> bool {
        *self == Mover::Sender
    }
}

/// A router in the middle of the way whose next link takes no larger packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathMtu {
    /// Bytes of the largest IP packet that passes, 68 to 65 535. Larger ones do if IP may fragment them.
    pub bytes: usize,
    /// Whether their sender hears of it by ICMP. Default false: they vanish.
    #[serde(default)]
    pub icmp: bool,
}

/// The second path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondPath {
    /// The link from the data sender to the data receiver.
    pub forward: LinkConfig,
    /// The link back.
    pub backward: LinkConfig,
}

/// A bottleneck between two routers. Other pairs of hosts have one path through it, whose own links
/// are like those of the first path of the experiment, and the same traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// The link between the routers, in the direction of the data.
    pub forward: LinkConfig,
    /// The link back.
    pub backward: LinkConfig,
    /// Which paths of the experiment go through it. Default: both.
    #[serde(default = "both")]
    pub paths: Vec<u8>,
    /// Profile of the competing flow (see [`Profile::named`]).
    pub competitor: String,
    /// How many such flows compete, each between hosts of its own, 1 to 100. With more of them losses
    /// depend less on what a single window does. Default 1.
    #[serde(default = "one")]
    pub competitors: u8,
}

fn both() -> Vec<u8> {
    vec![1, 2]
}

const fn one() -> u8 {
    1
}

impl Topology {
    /// Forward and backward link of each path.
    pub fn paths(&self) -> impl Iterator<Item = (&LinkConfig, &LinkConfig)> {
        let second = self.second.as_ref().map(|path| (&path.forward, &path.backward));
        std::iter::once((&self.forward, &self.backward)).chain(second)
    }

    /// How many paths there are.
    pub fn path_count(&self) -> u8 {
        if self.second.is_some() { 2 } else { 1 }
    }

    /// The same network with one of its paths alone, counted from 0; `None` if there is none.
    pub(super) fn alone(&self, path: usize) -> Option<Topology> {
        let (forward, backward) = self.paths().nth(path)?;
        let (forward, backward) = (forward.clone(), backward.clone());
        Some(Topology {
            forward,
            backward,
            second: None,
            shared: None,
            mtu: self.mtu,
            clocks_apart_ms: self.clocks_apart_ms,
            moves: Vec::new(),
        })
    }

    /// Mbit/s of user data that each path could carry, in messages of this many bytes with a packet
    /// each: bandwidth × bytes of the message / bytes of the frame (Sarnow 2017, equation 4.1).
    /// `None` where the bandwidth is unlimited or shared.
    pub(super) fn ideal_mbps(&self, message_bytes: usize) -> Option<Vec<f64>> {
        // IPv4, common header and DATA chunk header.
        let headers = 20 + 12 + 16;
        let ideal = |(link, _): (&LinkConfig, &LinkConfig)| {
            let frame = message_bytes as f64 + f64::from(headers + link.overhead_bytes);
            Some(link.bandwidth_kbps? / 1e3 * message_bytes as f64 / frame)
        };
        if self.shared.is_some() { None } else { self.paths().map(ideal).collect() }
    }

    /// Sum of the bandwidth–delay products of all paths, in bytes; 0 of an unlimited one. The delay
    /// is that of both links, without queues.
    pub(super) fn bandwidth_delay_bytes(&self) -> f64 {
        let product = |(there, back): (&LinkConfig, &LinkConfig)| {
            there.bandwidth_kbps.unwrap_or(0.0) * (there.delay_ms + back.delay_ms) / 8.0
        };
        self.paths().map(product).sum()
    }

    pub(super) fn validate(&self) -> Checked {
        let link = |name: &str, link: &LinkConfig| {
            link.validate()
                .map_err(|err| mistake(format!("topology.{name}.{}", err.key), err.reason))
        };
        link("forward", &self.forward)?;
        link("backward", &self.backward)?;
        if let Some(second) = &self.second {
            link("second.forward", &second.forward)?;
            link("second.backward", &second.backward)?;
        }
        let apart = (0.0..=1000.0).contains(&self.clocks_apart_ms);
        require(apart, "topology.clocks_apart_ms", "must be 0 to 1000")?;
        let known = self.mtu.is_none_or(|mtu| (68..=65_535).contains(&mtu.bytes));
        require(known, "topology.mtu.bytes", "must be 68 to 65535")?;
        require(self.moves.len() <= 100, "topology.moves", "has more than 100")?;
        for (i, moved) in self.moves.iter().enumerate() {
            let key = |field: &str| format!("topology.moves[{i}].{field}");
            let known = (1..=self.path_count()).contains(&moved.path);
            require(known, key("path"), "must be a path that there is")?;
            let begins = moved.at_ms + moved.without_ms.min(0.0);
            let in_time = moved.at_ms <= 1e9 && moved.without_ms <= 1e9 && begins > 0.0;
            require(in_time, key("at_ms"), "must be after the beginning, to 1000000000")?;
        }
        require(
            self.moves.is_empty() || self.shared.is_none(),
            "topology.moves",
            "excludes topology.shared",
        )?;
        let Some(shared) = &self.shared else { return Ok(()) };
        link("shared.forward", &shared.forward)?;
        link("shared.backward", &shared.backward)?;
        let known = |path: &u8| (1..=self.path_count()).contains(path);
        let some = !shared.paths.is_empty() && shared.paths.iter().all(known);
        require(some, "topology.shared.paths", "must name paths that there are, at least one")?;
        let few = (1..=100).contains(&shared.competitors);
        require(few, "topology.shared.competitors", "must be 1 to 100")?;
        Profile::named(&shared.competitor)
            .map(|_| ())
            .map_err(|err| mistake("topology.shared.competitor", err.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ideal_and_buffers_follow_from_the_links() {
        let link =
            |mbps: f64| LinkConfig { overhead_bytes: 26, ..LinkConfig::new(1e3 * mbps, 10.0) };
        let second = SecondPath { forward: link(100.0), backward: link(100.0) };
        let (forward, backward) = (link(10.0), link(10.0));
        let both = Topology {
            forward,
            backward,
            second: Some(second),
            shared: None,
            mtu: None,
            clocks_apart_ms: 0.0,
            moves: Vec::new(),
        };
        let ideal = both.ideal_mbps(1452).unwrap();
        // Sarnow 2017, equation 4.2: 95.15 %.
        assert!((ideal[0] - 9.515).abs() < 1e-3 && (ideal[1] - 95.15).abs() < 1e-2, "{ideal:?}");
        assert_eq!(both.bandwidth_delay_bytes(), (10e6 + 100e6) * 0.02 / 8.0);
        let alone = both.alone(1).unwrap();
        assert_eq!((alone.path_count(), alone.forward.bandwidth_kbps), (1, Some(1e5)));
        assert_eq!(both.alone(2), None);
    }
}
