//! The handle of an endpoint.

mod send_to_all;

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Weak};
use std::time::Instant;

use slotmap::SecondaryMap;
use tokio::sync::{Notify, mpsc};
use tresse_carrier::CarrierStats;
use tresse_core::{AssociationConfig, AssociationId, EndpointConfig, EndpointStats, Event, Time};

use crate::association::Association;
use crate::config::{Config, offered};
use crate::driver::Driver;
use crate::error::{AcceptError, Closed, ConnectError};
use crate::incoming::Incoming;
use crate::metrics::Monitor;
use crate::peer::Peer;
#[cfg(feature = "tokio")]
use crate::runtime;
use crate::runtime::{PacketSocket, Reactor, Runtime};
use crate::shared::{Phase, Shared, Slot, State, wait};
use crate::team::{Mail, Member, Membership};
use crate::untold::Untold;

/// One SCTP port on one or more local addresses, and all associations on it.
///
/// Clones are cheap and mean the same endpoint. See the [crate documentation](crate) for how it
/// runs and what dropping it does.
#[derive(Clone)]
pub struct Endpoint {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    /// For associations opened without settings of their own.
    association: AssociationConfig,
}

impl Inner {
    fn close(&self) {
        self.shared.act(|state, now| {
            state.accepting = false;
            for id in std::mem::take(&mut state.backlog) {
                state.decline(id, now, b"the endpoint was closed");
            }
        });
        self.shared.incoming.notify_waiters();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("local", &self.local_addr()).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Binds the sockets and spawns the driver on the current tokio runtime.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a setting out of range; otherwise those of the system: the address is in use or
    /// not ours, raw IP is not permitted, there is no random source, or no tokio runtime
    /// here.
    ///
    /// # Panics
    /// In a tokio runtime without IO or time.
    #[cfg(feature = "tokio")]
    pub fn bind(config: Config) -> io::Result<Endpoint> {
        let (endpoint, driver) = Endpoint::open(config)?;
        tokio::spawn(driver);
        Ok(endpoint)
    }

    /// Binds the sockets and returns the driver, which the caller must poll.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    ///
    /// # Panics
    /// As `bind`.
    #[cfg(feature = "tokio")]
    pub fn open(config: Config) -> io::Result<(Endpoint, Driver)> {
        Endpoint::open_with(config, runtime::current()?)
    }

    /// As [`open`](Self::open), on any runtime.
    ///
    /// # Errors
    /// As [`bind`](Self::bind), and those of the runtime.
    pub fn open_with(config: Config, runtime: Arc<dyn Runtime>) -> io::Result<(Endpoint, Driver)> {
        Endpoint::open_on(config, Ground::System(runtime))
    }

    /// As [`open_with`](Self::open_with), over `socket` instead of sockets of the system. [`Config::carrier`] and
    /// [`Config::socket`] have no meaning then. Routes and interfaces of this host are not looked at: any peer can be
    /// called, and our addresses are those of the socket for as long as it lasts. Of the runtime only the timer is used.
    ///
    /// # Errors
    /// There is no random source; [`io::ErrorKind::InvalidInput`] if the socket has no address.
    pub fn open_over(
        config: Config,
        socket: Box<dyn PacketSocket>,
        runtime: Arc<dyn Runtime>,
    ) -> io::Result<(Endpoint, Driver)> {
        Endpoint::open_on(config, Ground::Given(socket, runtime))
    }

    /// Spawns the driver on the current tokio runtime, as [`bind`](Self::bind) does, over UDP sockets that are bound already:
    /// one for each local address, all to the same port. Such are those that another program has handed over, or that need
    /// options of their own. [`Config::carrier`] has no meaning then; [`Config::socket`] may enlarge their buffers. They are
    /// made non-blocking, and must stay so: who has kept a clone of one and makes it block stops the driver.
    ///
    /// ```
    /// use std::net::UdpSocket;
    /// use tresse::{Config, Endpoint};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// let address = socket.local_addr()?;
    /// let endpoint = Endpoint::from_sockets(Config::server(address, 5001), [socket])?;
    /// assert_eq!(endpoint.local_addr(), address);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for no socket, for ports that differ, and for a socket that is not bound, is
    /// connected, is bound to an IPv4 address in its IPv6 form, or to `[::]` for IPv6 only; otherwise those of the system.
    ///
    /// # Panics
    /// As `bind`.
    #[cfg(feature = "tokio")]
    pub fn from_sockets(
        config: Config,
        sockets: impl IntoIterator<Item = UdpSocket>,
    ) -> io::Result<Endpoint> {
        let (endpoint, driver) = Endpoint::open_from(config, sockets, runtime::current()?)?;
        tokio::spawn(driver);
        Ok(endpoint)
    }

    /// As [`from_sockets`](Self::from_sockets), on any runtime; returns the driver, which the caller must poll.
    ///
    /// # Errors
    /// As there, and those of the runtime.
    pub fn open_from(
        config: Config,
        sockets: impl IntoIterator<Item = UdpSocket>,
        runtime: Arc<dyn Runtime>,
    ) -> io::Result<(Endpoint, Driver)> {
        Endpoint::open_on(config, Ground::Bound(sockets.into_iter().collect(), runtime))
    }

    fn open_on(mut config: Config, ground: Ground) -> io::Result<(Endpoint, Driver)> {
        Endpoint::choose_port(&mut config.sctp)?;
        let association = config.sctp.association.clone();
        let (shared, driver) = open(config, ground, None, None)?;
        Ok((Endpoint::of(shared, association), driver))
    }

    pub(crate) fn of(shared: Arc<Shared>, association: AssociationConfig) -> Endpoint {
        Endpoint { inner: Arc::new(Inner { shared, association }) }
    }

    pub(crate) fn downgrade(&self) -> Weak<dyn Member> {
        let shared: Weak<Shared> = Arc::downgrade(&self.inner.shared);
        shared
    }

    /// Takes a random SCTP port if there is none.
    pub(crate) fn choose_port(sctp: &mut EndpointConfig) -> io::Result<()> {
        if sctp.local_port == 0 {
            let mut random = [0; 2];
            getrandom::fill(&mut random).map_err(io::Error::other)?;
            // The dynamic ports of RFC 6335 §6.
            sctp.local_port = 0xc000 | u16::from_be_bytes(random);
        }
        Ok(())
    }

    /// Opens an association with a peer, such as `(address, sctp_port)`, with the settings of the endpoint. Waits for the
    /// handshake; dropping the future cancels it.
    ///
    /// A UDP port that the peer has ([`Peer::udp_port`]) comes before that of the endpoint's settings
    /// ([`AssociationConfig::encapsulation`]), which is for all peers.
    ///
    /// # Errors
    /// See [`ConnectError`]; [`NotOpened::Config`](crate::NotOpened::Config) for an `encapsulation` on raw IP.
    pub async fn connect(&self, peer: impl Into<Peer>) -> Result<Association, ConnectError> {
        let (peer, mut config) = (peer.into(), self.inner.association.clone());
        if self.inner.shared.is_encapsulated() && peer.udp_port.is_some() {
            config.encapsulation = None;
        }
        self.connect_with(peer, config).await
    }

    /// As [`connect`](Self::connect), with settings of its own.
    ///
    /// # Errors
    /// See [`ConnectError`]; [`NotOpened::Config`](crate::NotOpened::Config) for an `encapsulation` on raw IP, and for one that
    /// is not the UDP port of the peer.
    pub async fn connect_with(
        &self,
        peer: impl Into<Peer>,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let (peer, shared) = (peer.into().canonical(), &self.inner.shared);
        let encapsulation = peer.encapsulation(config.encapsulation, shared.is_encapsulated())?;
        shared.check_families(&peer.addresses)?;
        shared.check_routes(&peer.routable())?;
        if let Some(zone) = peer.zone() {
            self.learn_zone(zone);
        }
        let config = AssociationConfig { encapsulation, ..config };
        let association = shared.act(|state, now| {
            if let Some(why) = &state.ended {
                return Err(ConnectError::Closed(Closed::Driver(Arc::clone(why))));
            }
            if !state.accepting {
                return Err(ConnectError::EndpointClosed);
            }
            let send_buffer = config.send_buffer;
            let id = shared.connect(state, now, &peer.addresses, peer.sctp_port, config)?;
            let slot = Slot::new(Phase::Connecting, send_buffer);
            let signals = Arc::clone(&slot.signals);
            state.slots.insert(id, slot);
            Ok(Association::new(shared, id, signals))
        })?;
        association.established().await.map_err(ConnectError::Closed)?;
        Ok(association)
    }

    /// Tells the sockets the interface of a link-local IPv6 peer, before the first packet to it. A
    /// peer that sends first needs none of this, and [`connect`](Self::connect) does it by itself.
    pub fn learn_zone(&self, peer: SocketAddr) {
        self.inner.shared.act(|state, _| state.zones.push(peer));
    }

    /// Waits for the next association that a peer opened. The endpoint must have been configured to accept.
    ///
    /// # Errors
    /// None can come any more: see [`AcceptError`].
    pub async fn accept(&self) -> Result<Association, AcceptError> {
        wait(&self.inner.shared.incoming, || self.accepted()).await
    }

    /// As [`accept`](Self::accept), for those who want to see who it is before they take it.
    ///
    /// # Errors
    /// As there.
    pub async fn incoming(&self) -> Result<Incoming, AcceptError> {
        self.accept().await.map(Incoming::new)
    }

    /// What [`accept`](Self::accept) waits for.
    pub(crate) fn accepted(&self) -> Option<Result<Association, AcceptError>> {
        let shared = &self.inner.shared;
        let mut state = shared.lock();
        if let Some(why) = &state.ended {
            return Some(Err(AcceptError::Driver(Arc::clone(why))));
        }
        if !state.accepting {
            return Some(Err(AcceptError::EndpointClosed));
        }
        loop {
            let id = state.backlog.pop_front()?;
            let Some(slot) = state.slots.get(id) else { continue };
            let signals = Arc::clone(&slot.signals);
            drop(state);
            return Some(Ok(Association::new(shared, id, signals)));
        }
    }

    /// The local address and UDP port (0 on raw IP), the first one if there are several.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.shared.local[0]
    }

    /// All local addresses, in the order of the configuration.
    #[must_use]
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.inner.shared.local
    }

    /// The SCTP port.
    #[must_use]
    pub fn sctp_port(&self) -> u16 {
        self.inner.shared.sctp_port
    }

    /// Waits until every association has ended, also those that a dropped handle left to shut
    /// down.
    pub async fn wait_idle(&self) {
        let shared = &self.inner.shared;
        wait(&shared.idle, || {
            let state = shared.lock();
            (state.is_idle() || state.ended.is_some()).then_some(())
        })
        .await;
    }

    /// Has no association taken or opened any more, for all clones: [`accept`](Self::accept) fails with [`AcceptError::EndpointClosed`], and those that
    /// wait for it are aborted. The others go on, and the driver ends with the last of them.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Aborts every association.
    pub fn abort_all(&self, reason: impl AsRef<[u8]>) {
        self.inner.shared.act(|state, now| {
            let open: Vec<AssociationId> = state.slots.keys().collect();
            for id in open {
                let _ = state.core.abort(now, id, reason.as_ref());
            }
        });
    }

    /// Counters of what belongs to no association.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        self.inner.shared.lock().core.endpoint_stats()
    }

    /// Counters of the sockets, as of the driver's last round.
    #[must_use]
    pub fn carrier_stats(&self) -> CarrierStats {
        self.inner.shared.lock().carrier
    }

    /// A view of this endpoint's figures that can be handed to others.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor::new(&self.inner.shared)
    }

    /// The endpoint's time: what observers and messages are stamped with.
    #[must_use]
    pub fn now(&self) -> Time {
        self.inner.shared.clock.now()
    }

    /// The instant of such a time.
    #[must_use]
    pub fn instant(&self, time: Time) -> Instant {
        self.inner.shared.clock.instant(time)
    }
}

/// One shard among several of an endpoint.
pub(crate) struct Place {
    pub(crate) core: tresse_core::Endpoint,
    pub(crate) member: Membership,
    pub(crate) incoming: Arc<Notify>,
}

/// What an endpoint stands on.
pub(crate) enum Ground {
    /// Sockets of the system, as the configuration says.
    System(Arc<dyn Runtime>),
    /// Sockets of the system that the caller has bound.
    Bound(Vec<UdpSocket>, Arc<dyn Runtime>),
    /// What the caller moves packets with.
    Given(Box<dyn PacketSocket>, Arc<dyn Runtime>),
}

/// Binds the carrier, and makes what the handles and the driver share.
pub(crate) fn open(
    config: Config,
    ground: Ground,
    tap: Option<mpsc::UnboundedSender<(AssociationId, Event)>>,
    place: Option<Place>,
) -> io::Result<(Arc<Shared>, Driver)> {
    let Config { carrier: kind, socket, mut sctp, backlog, observer } = config;
    let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
    sctp.association.check().map_err(|why| invalid(why.to_string()))?;
    let of_system = !matches!(ground, Ground::Given(..));
    let (carrier, runtime): (Box<dyn PacketSocket>, _) = match ground {
        Ground::System(runtime) => (Box::new(kind.open(socket, &runtime)?), runtime),
        Ground::Bound(sockets, runtime) => {
            let reactor: Arc<dyn Reactor> = Arc::clone(&runtime) as _;
            let carrier = tresse_carrier::Carriers::from_sockets(sockets, socket, &reactor)?;
            (Box::new(carrier), runtime)
        }
        Ground::Given(socket, runtime) => (socket, runtime),
    };
    let local = carrier.local_addrs();
    if local.is_empty() {
        return Err(invalid("an endpoint needs at least one local address".to_owned()));
    }
    if sctp.local_addresses.is_empty() {
        let bound = local.iter().map(SocketAddr::ip).collect();
        sctp.local_addresses = if of_system { offered(bound) } else { bound };
    }
    let sctp_port = sctp.local_port;
    let accepted_send_buffer = sctp.association.send_buffer;
    let (core, team) = match place {
        Some(Place { core, member, incoming }) => (core, Some((member, incoming))),
        None => {
            let mut seed = [0; 32];
            getrandom::fill(&mut seed).map_err(io::Error::other)?;
            (tresse_core::Endpoint::new(sctp, seed), None)
        }
    };
    let state = State {
        core,
        slots: SecondaryMap::new(),
        backlog: VecDeque::new(),
        max_backlog: backlog,
        accepted_send_buffer,
        driver: None,
        accepting: true,
        ended: None,
        zones: Vec::new(),
        carrier: carrier.stats(),
        inbox: Mail::default(),
        tap,
        untold: Untold::default(),
    };
    let shared =
        Arc::new(Shared::new(state, local, of_system, sctp_port, Arc::clone(&runtime), team));
    let host = shared.host_addresses().unwrap_or_default();
    shared.lock().core.set_host_addresses(Time::ZERO, &host);
    let driver = Driver::new(Arc::clone(&shared), carrier, &*runtime, observer);
    Ok((shared, driver))
}
