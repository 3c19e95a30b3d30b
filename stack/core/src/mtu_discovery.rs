//! Who finds out which packets a path takes.

use std::time::Duration;

/// How it is found out which packets a path takes (RFC 9260 §7.3; RFC 6458 §8.1.12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MtuDiscovery {
    /// It is not: packets are of the MTU that is set, whatever ICMP says, and IP may fragment them
    /// (SPP_PMTUD_DISABLE of RFC 6458).
    Off,
    /// Packets are of the MTU that is set, until ICMP says that they are too large (RFC 1191, RFC 8201).
    #[default]
    Icmp,
    /// Probes that need no ICMP find the largest packets that get through, and notice when large ones do not arrive any
    /// more (DPLPMTUD, RFC 8899). Packets then begin with 1280 bytes, or the MTU that is set if that is less, which is probed first,
    /// and what is larger after it. It begins when ten packets have left that could have been larger, when the window holds data
    /// back, which grows by the MTU, when a message is refused because it
    /// does not fit one, or when something is lost that was larger than what is known to get through: who sends only small messages hardly
    /// pays for probes. Before it, the path MTU is 1280 bytes, or what is set if that is less.
    Probes {
        /// Bytes of the largest IP packet that is looked for, from the MTU that is set to 65 535.
        max: usize,
        /// PMTU_RAISE_TIMER: what was too large is tried again after this time, 1 s at least. RFC 8899 §5.1.1 has
        /// [`RAISE_AFTER`](Self::RAISE_AFTER).
        raise_after: Duration,
    },
}

impl MtuDiscovery {
    /// Ten minutes (RFC 8899 §5.1.1; RFC 1191 §6.3, RFC 8201 §4).
    pub const RAISE_AFTER: Duration = Duration::from_secs(600);

    /// By probes up to `max` bytes, with the timer of RFC 8899.
    #[must_use]
    pub const fn probes(max: usize) -> MtuDiscovery {
        MtuDiscovery::Probes { max, raise_after: Self::RAISE_AFTER }
    }

    /// What is wrong with it, for packets of `mtu` bytes.
    pub(crate) fn check(self, mtu: usize) -> Result<(), String> {
        let MtuDiscovery::Probes { max, raise_after } = self else { return Ok(()) };
        if !(mtu..=65_535).contains(&max) {
            return Err(format!("mtu_discovery.max is {max}, not in {mtu} to 65535"));
        }
        if raise_after < Duration::from_secs(1) {
            return Err(format!("mtu_discovery.raise_after is {raise_after:?}, not 1s or more"));
        }
        Ok(())
    }
}
