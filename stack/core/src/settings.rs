//! What can be set for one address of the peer (RFC 9260 §8.3 A to C; RFC 6458 §8.1.12).

use std::time::Duration;

use tresse_wire::IpLabels;

use crate::config::AssociationConfig;
use crate::error::AssociationError;
use crate::mtu_discovery::MtuDiscovery;
use crate::profile;

/// Settings of one path. An association begins with those of its configuration; see
/// [`Endpoint::configure_path`](crate::Endpoint::configure_path).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSettings {
    /// Whether the path is asked by HEARTBEATs while it is idle (RFC 9260 §8.3). Default: `heartbeat.enabled` of
    /// the profile. Without, nobody notices the failure of a path that carries nothing. An address
    /// that is not confirmed yet is asked in any case (§5.4).
    pub heartbeats: bool,
    /// HB.interval, to which RTO is added; at most 2^32 - 1 ms, some seven weeks. Default:
    /// `heartbeat.interval_ms`.
    pub heartbeat_interval: Duration,
    /// Path.Max.Retrans. Default: `limits.path_max_retrans`. A path that has counted more errors than a new
    /// value allows is inactive at once; one that is inactive stays so until it is answered.
    pub max_retrans: u32,
    /// PotentiallyFailed.Max.Retrans (RFC 7829). Default: `limits.pf_max_retrans`.
    pub pf_max_retrans: u32,
    /// Primary.Switchover.Max.Retrans (RFC 7829 §5), of the path while it is the primary one; 65 535 and more: never. Default:
    /// `limits.ps_max_retrans`. At least `pf_max_retrans`, and `max_retrans` if there is no PF state. It is looked at when something is not answered there,
    /// as long as there is another path that data can take.
    pub ps_max_retrans: u32,
    /// Bytes of the largest IP packet, headers included, from 512 to 65 535. Default:
    /// [`AssociationConfig::mtu`].
    pub mtu: usize,
    /// Whether that is believed. Default: [`AssociationConfig::mtu_discovery`].
    pub mtu_discovery: MtuDiscovery,
    /// The DSCP of packets on this path (`spp_dscp`) and their IPv6 flow label (`spp_ipv6_flowlabel`), which only raw IP carries.
    /// Default: [`AssociationConfig::labels`]. Routers that know the DSCP treat the packets by it, and others may drop them or
    /// set it to 0. What is in flight was sent with the one before, and may arrive behind what is sent with another one.
    pub labels: IpLabels,
}

impl PathSettings {
    /// Those of `config`.
    pub(crate) fn of(config: &AssociationConfig) -> PathSettings {
        let profile = &config.profile;
        PathSettings {
            heartbeats: profile.heartbeat.enabled,
            heartbeat_interval: profile.heartbeat.interval(),
            max_retrans: profile.limits.path_max_retrans,
            pf_max_retrans: profile.limits.pf_max_retrans,
            ps_max_retrans: profile.limits.ps_max_retrans,
            mtu: config.mtu,
            mtu_discovery: config.mtu_discovery,
            labels: config.labels,
        }
    }

    /// These, with what differs between two configurations taken from the `new` one: who changes one
    /// parameter of an association leaves what was set for a path alone otherwise.
    pub(crate) fn follow(self, old: &AssociationConfig, new: &AssociationConfig) -> PathSettings {
        fn follow<T: Copy + PartialEq>(own: T, old: T, new: T) -> T {
            if old == new { own } else { new }
        }
        let (old, new) = (PathSettings::of(old), PathSettings::of(new));
        let max_retrans = follow(self.max_retrans, old.max_retrans, new.max_retrans);
        let pf_max_retrans = follow(self.pf_max_retrans, old.pf_max_retrans, new.pf_max_retrans);
        let ps_max_retrans = follow(self.ps_max_retrans, old.ps_max_retrans, new.ps_max_retrans);
        PathSettings {
            heartbeats: follow(self.heartbeats, old.heartbeats, new.heartbeats),
            heartbeat_interval: follow(
                self.heartbeat_interval,
                old.heartbeat_interval,
                new.heartbeat_interval,
            ),
            max_retrans,
            pf_max_retrans,
            // Its own may have become less than what others are now.
            ps_max_retrans: ps_max_retrans
                .max(profile::least_switchover(max_retrans, pf_max_retrans)),
            mtu: follow(self.mtu, old.mtu, new.mtu),
            mtu_discovery: follow(self.mtu_discovery, old.mtu_discovery, new.mtu_discovery),
            labels: IpLabels {
                dscp: follow(self.labels.dscp, old.labels.dscp, new.labels.dscp),
                flow: follow(self.labels.flow, old.labels.flow, new.labels.flow),
            },
        }
    }

    pub(crate) fn check(&self) -> Result<(), AssociationError> {
        let most = Duration::from_millis(u32::MAX.into());
        let interval = self.heartbeat_interval;
        if interval > most {
            let what = format!("heartbeat_interval is {interval:?}, not in 0 to {most:?}");
            return Err(AssociationError::Config(what));
        }
        if !(512..=65_535).contains(&self.mtu) {
            let what = format!("mtu is {}, not in 512 to 65535", self.mtu);
            return Err(AssociationError::Config(what));
        }
        let least = profile::least_switchover(self.max_retrans, self.pf_max_retrans);
        if self.ps_max_retrans < least {
            let what = format!("ps_max_retrans is {}, less than {least}", self.ps_max_retrans);
            return Err(AssociationError::Config(what));
        }
        self.mtu_discovery.check(self.mtu).map_err(AssociationError::Config)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_path_follows_what_changes_and_keeps_its_own() {
        let old = AssociationConfig::default();
        let mut new = old.clone();
        Arc::make_mut(&mut new.profile).heartbeat.interval_ms = 5000.0;
        let own = PathSettings { heartbeats: false, max_retrans: 1, ..PathSettings::of(&old) };
        let expected = PathSettings { heartbeat_interval: Duration::from_secs(5), ..own };
        assert_eq!(own.follow(&old, &new), expected);
        assert_eq!(own.follow(&old, &old), own);
        // RFC 7829 §5: its own switchover is not before that of others.
        let own = PathSettings { pf_max_retrans: 0, ps_max_retrans: 0, ..PathSettings::of(&old) };
        Arc::make_mut(&mut new.profile).limits.pf_max_retrans = 3;
        let followed = own.follow(&old, &new);
        assert_eq!((followed.pf_max_retrans, followed.ps_max_retrans), (3, 3));
    }
}
