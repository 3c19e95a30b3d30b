//! The core of an endpoint in the hands of its user.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use tokio::sync::mpsc;
use tresse_carrier::CarrierStats;
use tresse_core::{AssociationId, Event, Time};

use crate::config::Config;
use crate::driver::Driver;
use crate::endpoint::{Ground, open};
use crate::error::NoRoute;
use crate::metrics::Monitor;
#[cfg(feature = "tokio")]
use crate::runtime;
use crate::runtime::Runtime;
use crate::shared::Shared;
use crate::untold::Untold;

/// Events of a [`RawEndpoint`], in the order in which the core told them.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::UnboundedReceiver<(AssociationId, Event)>,
    shared: Weak<Shared>,
}

impl Events {
    /// Waits for the next one; `None` when the endpoint and its driver are gone, and no other one comes.
    pub async fn recv(&mut self) -> Option<(AssociationId, Event)> {
        let told = self.receiver.recv().await?;
        Some(self.hear(told))
    }

    /// The next one, if it is there.
    pub fn try_recv(&mut self) -> Option<(AssociationId, Event)> {
        let told = self.receiver.try_recv().ok()?;
        Some(self.hear(told))
    }

    /// What stands behind it may be read ([`RawEndpoint::tells_of_reset`]).
    fn hear(&self, told: (AssociationId, Event)) -> (AssociationId, Event) {
        let (id, event) = &told;
        if Untold::concerns(event)
            && let Some(shared) = self.shared.upgrade()
        {
            shared.lock().untold.hear(*id, event);
        }
        told
    }
}

/// For building an interface other than [`Endpoint`](crate::Endpoint) on the core:
/// packets and timers are seen to, everything else is up to the caller. Besides the port of
/// [`Config::sctp`], which may be 0 for none, it can have any number of SCTP ports on the same
/// carrier ([`tresse_core::Endpoint::open_port`]).
///
/// Dropping it leaves the driver to end what is shutting down; associations that are open stay
/// open for as long as the driver is polled, so abort or shut them down before.
pub struct RawEndpoint {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for RawEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawEndpoint").field("local", &self.local_addr()).finish_non_exhaustive()
    }
}

impl Drop for RawEndpoint {
    fn drop(&mut self) {
        self.shared.act(|state, _| state.accepting = false);
    }
}

impl RawEndpoint {
    /// Binds the carrier and returns the driver, which the caller must poll, and the events. They
    /// are not bounded: take them as they come. `backlog` has no meaning here.
    ///
    /// # Errors
    /// Those of the system: the address is in use, there is no random source, or no tokio
    /// runtime here.
    ///
    /// # Panics
    /// In a tokio runtime without IO or time.
    #[cfg(feature = "tokio")]
    pub fn open(config: Config) -> io::Result<(RawEndpoint, Events, Driver)> {
        RawEndpoint::open_with(config, runtime::current()?)
    }

    /// As [`open`](Self::open), on any runtime.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with(
        config: Config,
        runtime: Arc<dyn Runtime>,
    ) -> io::Result<(RawEndpoint, Events, Driver)> {
        let (tap, receiver) = mpsc::unbounded_channel();
        let (shared, driver) = open(config, Ground::System(runtime), Some(tap), None)?;
        let events = Events { receiver, shared: Arc::downgrade(&shared) };
        Ok((RawEndpoint { shared }, events, driver))
    }

    /// Calls the core, then lets the driver see to what that caused: packets to send, events,
    /// timers. Other than in [`tresse_core::Endpoint`], nothing needs to be polled, and polling
    /// for events or packets here would hide them from the driver.
    pub fn act<R>(&self, action: impl FnOnce(&mut tresse_core::Endpoint, Time) -> R) -> R {
        self.shared.act(|state, now| action(&mut state.core, now))
    }

    /// As [`tresse_core::Endpoint::tells_of_reset`], until the event has come out of [`Events`].
    #[must_use]
    pub fn tells_of_reset(&self, id: AssociationId) -> bool {
        self.shared.lock().tells_of_reset(id)
    }

    /// Tells the carrier the interface of a link-local IPv6 peer, before the first packet to it.
    pub fn learn_zone(&self, peer: SocketAddr) {
        self.shared.act(|state, _| state.zones.push(peer));
    }

    /// Whether packets can leave for one of a peer's addresses, as the kernel's `connect` finds out: routes
    /// are looked up, nothing is sent. What vanishes later is not seen here.
    ///
    /// # Errors
    /// [`NoRoute`], with the error number for the first of them.
    pub fn check_routes(&self, peers: &[SocketAddr]) -> Result<(), NoRoute> {
        self.shared.check_routes(peers)
    }

    /// A view of this endpoint's figures that can be handed to others.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor::new(&self.shared)
    }

    /// Why the driver has ended, once it has: the carrier failed, or the driver was dropped.
    #[must_use]
    pub fn ended(&self) -> Option<Arc<str>> {
        self.shared.lock().ended.clone()
    }

    /// The local address and UDP port (0 on raw IP), the first one if there are several.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.local[0]
    }

    /// All local addresses, in the order of the configuration.
    #[must_use]
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.shared.local
    }

    /// Counters of the carrier, as of the driver's last round.
    #[must_use]
    pub fn carrier_stats(&self) -> CarrierStats {
        self.shared.lock().carrier
    }
}
