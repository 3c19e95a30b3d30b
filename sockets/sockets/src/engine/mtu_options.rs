//! How large chunks and packets are: SCTP_MAXSEG, and SCTP_PLPMTUD_PROBE_INTERVAL of Linux, path MTU discovery by probes
//! (RFC 8899), at one of the peer's addresses, at all of them, or at those of associations to come.

use std::time::Duration;

use tresse::MtuDiscovery;

use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::errno;

/// Where the fields of `sctp_probeinterval` begin, whose address is aligned to 8 bytes.
const ADDRESS: usize = 8;
const INTERVAL: usize = 136;
const SIZE: usize = 144;

/// The least in milliseconds, as in Linux.
const LEAST: u32 = 5000;

/// Linux looks for larger packets again after this many intervals. The probes of one search leave when the round trips
/// allow it here, not at each interval.
const RAISE: u32 = 30;

/// Jumbo frames: none larger are looked for.
const LARGEST: usize = 9000;

/// What an interval stands for, where packets are of `mtu` bytes.
fn discovery(interval: u32, mtu: usize, before: MtuDiscovery) -> MtuDiscovery {
    match interval {
        0 if before == MtuDiscovery::Off => before,
        0 => MtuDiscovery::Icmp,
        _ => MtuDiscovery::Probes {
            max: LARGEST.max(mtu),
            raise_after: Duration::from_millis(interval.into()).saturating_mul(RAISE),
        },
    }
}

/// What was set for it.
fn interval(discovery: MtuDiscovery) -> u32 {
    let MtuDiscovery::Probes { raise_after, .. } = discovery else { return 0 };
    u32::try_from((raise_after / RAISE).as_millis()).unwrap_or(u32::MAX)
}

/// The least SCTP_MAXSEG: what is left of the least packet of Linux, 512 bytes.
const LEAST_SEGMENT: u32 = 512 - 20 - 12 - 16;

impl Engine {
    /// SCTP_MAXSEG (RFC 6458 §8.1.16): an integer, or `sctp_assoc_value` with it behind the association.
    pub(super) fn set_max_segment(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 4)?;
        let wide = value.len() >= 8;
        let (number, size) = if wide { (f.u32(0), f.u32(4)) } else { (0, f.u32(0)) };
        if size > 65_535 || (size > 0 && size < LEAST_SEGMENT) {
            return Err(errno::EINVAL);
        }
        // As in Linux, chunks are cut where the next one begins without padding.
        let most = (size > 0).then_some(size as usize & !3);
        self.reconfigure(id, number, |config| config.max_segment = most)
    }

    pub(super) fn set_probe_interval(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, SIZE)?;
        let (number, every) = (f.u32(0), f.u32(INTERVAL));
        if every > 0 && every < LEAST {
            return Err(errno::EINVAL);
        }
        let is_for_all = f.storage(ADDRESS).is_none_or(|address| address.ip().is_unspecified());
        let meant = self.paths_meant(id, f, ADDRESS)?;
        if is_for_all {
            self.reconfigure(id, number, |config| {
                config.mtu_discovery = discovery(every, config.mtu, config.mtu_discovery);
            })?;
        }
        let Some((core, paths)) = meant else { return Ok(()) };
        for path in paths {
            let mut settings = path.settings;
            settings.mtu_discovery = discovery(every, settings.mtu, settings.mtu_discovery);
            let done = self.raw.act(|e, now| e.configure_path(now, core, path.id, settings));
            done.map_err(|_| errno::EINVAL)?;
        }
        Ok(())
    }

    pub(super) fn probe_interval(&mut self, id: u64, given: &[u8]) -> Fallible<Vec<u8>> {
        let f = at_least(given, SIZE)?;
        let is_for_all = f.storage(ADDRESS).is_none_or(|address| address.ip().is_unspecified());
        let discovery = match self.paths_meant(id, f, ADDRESS)? {
            Some((core, _)) if is_for_all => {
                self.raw.act(|e, _| e.config(core).map(|config| config.mtu_discovery))
            }
            Some((_, paths)) => paths.first().map(|path| path.settings.mtu_discovery),
            None => Some(self.socket(id)?.options.config.mtu_discovery),
        };
        let mut value = given[..SIZE].to_vec();
        let every = interval(discovery.ok_or(errno::EINVAL)?);
        value[INTERVAL..INTERVAL + 4].copy_from_slice(&every.to_ne_bytes());
        Ok(value)
    }
}
