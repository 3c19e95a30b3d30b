//! Numbers of socket options, and of bits in them.

pub(super) use tresse_socket_protocol::options::name;

/// Bits of `spp_flags`.
pub(super) mod spp {
    use tresse::MtuDiscovery;
    pub(crate) use tresse_socket_protocol::options::spp::*;

    /// Both of these.
    pub(crate) const PMTUD: u32 = PMTUD_ENABLE | PMTUD_DISABLE;

    /// The one that holds.
    pub(crate) fn pmtud(discovery: MtuDiscovery) -> u32 {
        if discovery == MtuDiscovery::Off { PMTUD_DISABLE } else { PMTUD_ENABLE }
    }
}
