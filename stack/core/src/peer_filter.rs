//! Which peers may open associations.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

type Admits = dyn Fn(IpAddr, u16) -> bool + Send + Sync;

/// Which peers may open associations, by the address that their packets come from and their SCTP port. It is asked
/// for every INIT and COOKIE ECHO that would open one, before anything is kept; whom it refuses is answered by ABORT, as if nobody
/// listened (RFC 9260 §5.1, §8.4). Default: all.
///
/// ```
/// use tresse_core::PeerFilter;
///
/// let filter = PeerFilter::new(|address, _port| address.is_loopback());
/// assert!(filter.admits("127.0.0.1".parse()?, 5000));
/// assert!(!filter.admits("192.0.2.1".parse()?, 5000));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Default)]
pub struct PeerFilter(Option<Arc<Admits>>);

impl PeerFilter {
    /// Those for which `admits` says so. It is called while a packet is handled, so it should be quick.
    pub fn new(admits: impl Fn(IpAddr, u16) -> bool + Send + Sync + 'static) -> PeerFilter {
        PeerFilter(Some(Arc::new(admits)))
    }

    /// Whether the peer at this address and SCTP port may open associations.
    #[must_use]
    pub fn admits(&self, address: IpAddr, port: u16) -> bool {
        self.0.as_ref().is_none_or(|admits| admits(address, port))
    }
}

impl fmt::Debug for PeerFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "PeerFilter(..)" } else { "PeerFilter(all)" })
    }
}
