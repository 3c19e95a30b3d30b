//! The engine: sockets, associations, and what happens between them.
//!
//! Everything runs on one thread: [`serve`] has one task for each connection and one for the
//! events of the stack, and each of them calls the [`Engine`] and lets go of it again.

mod address_options;
mod auth_options;
mod bind;
mod calls;
mod crowd;
mod deliver;
mod door;
mod encapsulation;
mod events;
mod exposure;
mod extension_options;
mod folder;
mod idle;
mod lives;
mod long;
mod message_options;
mod mtu_options;
mod names;
mod notification;
mod option_names;
mod option_numbers;
mod options;
mod options_get;
mod options_set;
mod parts;
mod path_options;
mod peers;
mod pieces;
mod reliability_options;
mod reset_options;
mod room;
mod send;
mod serve;
mod settings;
mod shared;
mod socket;
mod socket_options;
mod stalled;
mod stream_options;
#[cfg(test)]
mod tests;
mod threshold_options;
mod unended;
mod waiting;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tresse::{AssociationId, Carrier, Families, PeerFilter, PortConfig, Profile, RawEndpoint};

use exposure::Exposure;
use lives::Lives;
use options::apply_init;
use peers::{Name, Peers};
use socket::Socket;
use tresse_socket_protocol::abi::{Fields, errno};
use tresse_socket_protocol::protocol::TxHeader;
use unended::Unended;
use waiting::Waiting;

pub use folder::Folder;
pub use serve::{Server, Stop};
pub use settings::Settings;

/// This many associations are not looked through.
const LEAST_SWEEP: usize = 4096;

/// A failed call: its error number.
type Fallible<T> = Result<T, i32>;

/// What the engine knows of an association, besides what the core does.
struct Association {
    core: AssociationId,
    /// The socket it belongs to; `None` once that was closed.
    socket: Option<u64>,
    /// It waits in the socket, a listener, to be accepted.
    waiting: bool,
    /// The program knows of it: it has opened it, named it in a call, written to it, or read something of it.
    known: Cell<bool>,
    /// What is told before the next message, once there is room, and once it was accepted.
    held: Waiting,
    /// What is told after the last message.
    last_words: Waiting,
    /// What a send without header information means.
    defaults: TxHeader,
    /// SCTP_CONTEXT.
    context: u32,
    /// Which notifications of it are told, as [`options::Options::events`].
    events: u16,
    /// SCTP_EXPOSE_POTENTIALLY_FAILED_STATE.
    exposure: Exposure,
    /// SPP_DSCP was set for all addresses, or for these.
    own_dscp: (bool, BTreeSet<IpAddr>),
    /// There may be messages, as far as what the core has told was heard: what it tells of before a message
    /// comes before that.
    readable: bool,
    /// Messages of which a part was handed over, and not the end: their SSNs, by stream.
    open: BTreeMap<u16, u16>,
    /// Lives of the peer before this one, of which something is still to be read.
    lives: Lives,
    /// A message whose end the program has not written.
    unended: Option<Unended>,
    /// It stands in its socket's line of those that may have something to read.
    in_line: bool,
    /// The peer sends no more.
    peer_is_done: bool,
    /// The program sent SCTP_EOF: it sends nothing more.
    finished: bool,
    local_port: u16,
    /// The peer's primary address as it was when the association began, and its port.
    peer: SocketAddr,
    /// Under which names `peers` has it.
    names: Vec<Name>,
    established: bool,
    /// The core has nothing of it any more but messages that were not read.
    ended: bool,
    /// Why it has ended while it waited to be accepted: an error number, or 0.
    error: i32,
    /// The program has sent something on it.
    wrote: bool,
    /// Who waits for the end of the attempt to connect: 0, or an error number.
    outcome: Option<oneshot::Sender<i32>>,
    /// Our streams, the peer's streams.
    streams: (u16, u16),
    /// When user data was last sent or received.
    used: Instant,
    /// How many messages the engine had handed over when it handed over the last one of this peer.
    heard: u64,
}

impl Association {
    /// One of a bound socket that begins.
    fn new(core: AssociationId, id: u64, socket: &Socket, peer: SocketAddr) -> Association {
        Association {
            core,
            socket: Some(id),
            waiting: false,
            known: Cell::new(false),
            held: Waiting::default(),
            last_words: Waiting::default(),
            defaults: socket.options.defaults,
            context: socket.options.context,
            events: socket.options.events,
            exposure: socket.options.exposure,
            own_dscp: (socket.options.own_dscp, BTreeSet::new()),
            readable: false,
            open: BTreeMap::new(),
            lives: Lives::default(),
            unended: None,
            in_line: false,
            peer_is_done: false,
            finished: false,
            local_port: socket.port.unwrap_or(0),
            peer,
            names: Vec::new(),
            established: false,
            ended: false,
            error: 0,
            wrote: false,
            outcome: None,
            streams: (0, 0),
            used: Instant::now(),
            heard: 0,
        }
    }

    /// The attempt to connect has ended; whether somebody waits for that.
    fn tell_outcome(&mut self, error: i32) -> bool {
        self.outcome.take().is_some_and(|outcome| outcome.send(error).is_ok())
    }
}

/// The stack and everything its clients have.
pub(crate) struct Engine {
    raw: RawEndpoint,
    profile: Arc<Profile>,
    /// Associations record their decisions.
    trace: bool,
    /// Addresses that a socket bound to all of them offers to peers.
    offered: Vec<IpAddr>,
    /// Families of the addresses that packets can be sent from.
    families: Families,
    /// Packets travel in UDP datagrams.
    encapsulated: bool,
    /// UDP port that peers listen on.
    peer_udp_port: u16,
    sockets: BTreeMap<u64, Socket>,
    associations: BTreeMap<u32, Association>,
    by_core: HashMap<AssociationId, u32>,
    peers: Peers,
    /// Messages handed over to programs.
    delivered: u64,
    /// Ports that are open in the core.
    ports: BTreeSet<u16>,
    last_association: u32,
    /// With this many associations it is looked for what nobody needs any more.
    sweep_at: usize,
    /// Notified whenever an association has ended.
    ended: Rc<Notify>,
    /// Notified when a socket listens.
    listens: Rc<Notify>,
    /// Notified when SCTP_AUTOCLOSE may have something else to wait for.
    idle: Rc<Notify>,
    /// Where frames are received.
    buffer: Vec<u8>,
}

impl Engine {
    fn new(raw: RawEndpoint, settings: &Settings) -> Engine {
        let (local, encapsulated): (Vec<IpAddr>, bool) = match &settings.carrier {
            Carrier::Udp { local } => (local.iter().map(SocketAddr::ip).collect(), true),
            Carrier::RawIp { local } => (local.clone(), false),
        };
        // `::` is all addresses of both families.
        let v6 = local.iter().any(IpAddr::is_ipv6);
        let v4 = local.iter().any(|ip| ip.is_ipv4() || ip.is_unspecified());
        let several = local.len() > 1 && !local.iter().any(IpAddr::is_unspecified);
        Engine {
            raw,
            offered: if several { local } else { Vec::new() },
            profile: Arc::clone(&settings.profile),
            trace: settings.trace,
            families: Families::of(v4, v6),
            encapsulated,
            peer_udp_port: settings.peer_udp_port,
            sockets: BTreeMap::new(),
            associations: BTreeMap::new(),
            by_core: HashMap::new(),
            peers: Peers::default(),
            delivered: 0,
            ports: BTreeSet::new(),
            last_association: 0,
            sweep_at: LEAST_SWEEP,
            ended: Rc::default(),
            listens: Rc::default(),
            idle: Rc::default(),
            buffer: vec![0; tresse_socket_protocol::protocol::SOCKET_BUFFER * 2],
        }
    }

    fn socket(&mut self, id: u64) -> Fallible<&mut Socket> {
        self.sockets.get_mut(&id).ok_or(errno::EBADF)
    }

    /// The association that a call on a socket means: its only one, or the one of that number. The program
    /// knows of it then.
    fn association_of(&self, id: u64, number: u32) -> Option<(u32, &Association)> {
        let socket = self.sockets.get(&id)?;
        let number = if socket.many { number } else { *socket.associations.first()? };
        let association = self.associations.get(&number)?;
        let here = association.socket == Some(id) && !association.waiting;
        // That of a one-to-one socket is its own to the end of the socket.
        (here && !(socket.many && association.ended)).then(|| {
            association.known.set(true);
            (number, association)
        })
    }

    /// Whether the program is told something of an association; of one that is gone as its socket says.
    fn wants(&self, id: u64, number: u32, event: u16) -> bool {
        let of_socket = self.sockets.get(&id).map(|socket| socket.options.events);
        let own = self.associations.get(&number).map(|association| association.events);
        own.or(of_socket).is_some_and(|events| notification::is_among(event, events))
    }

    /// Opens a port in the core, or changes what it does.
    fn open_port(&mut self, port: u16, config: PortConfig) -> Fallible<()> {
        self.raw.act(|core, _| core.open_port(port, config)).map_err(|_| errno::EINVAL)?;
        self.ports.insert(port);
        Ok(())
    }

    /// From where peers may come to a port: a listener of IPv6 need not serve IPv4, and one of IPv4 does
    /// not serve IPv6.
    fn families_of(&self, port: u16) -> Families {
        let serves = |ip: IpAddr| {
            self.sockets.values().any(|s| s.port == Some(port) && s.has_room() && s.serves(ip))
        };
        Families::of(serves(Ipv4Addr::LOCALHOST.into()), serves(Ipv6Addr::LOCALHOST.into()))
    }

    /// Whether an association that a peer opens to a port may have addresses of both families: whoever would
    /// get it serves both.
    fn mixes_families(&self, port: u16) -> bool {
        let mut listeners = self.sockets.values().filter(|s| s.port == Some(port) && s.has_room());
        listeners.all(|socket| socket.families() == Families::Both)
    }

    /// What the core is to do with a port, as its listeners say.
    fn refresh_port(&mut self, port: u16) -> Fallible<()> {
        let mut listeners = self
            .sockets
            .values()
            .filter(|socket| socket.port == Some(port) && socket.backlog.is_some());
        let first = listeners.clone().next();
        let listener = listeners.find(|socket| socket.has_room()).or(first);
        let any = listener.or_else(|| self.sockets.values().find(|s| s.port == Some(port)));
        let families = self.families_of(port);
        let config = match any {
            Some(socket) => PortConfig {
                peers: PeerFilter::default(),
                families,
                local_addresses: socket
                    .specific_addresses()
                    .unwrap_or_else(|| self.offered.clone()),
                accept: listener.is_some_and(Socket::has_room),
                one_family: !self.mixes_families(port),
                association: socket.association(),
            },
            None if self.is_in_use(port) => PortConfig::default(),
            None => {
                if self.ports.remove(&port) {
                    self.raw.act(|core, _| core.close_port(port));
                }
                return Ok(());
            }
        };
        self.open_port(port, config)
    }

    /// Whether associations go on at a port.
    fn is_in_use(&self, port: u16) -> bool {
        self.associations.values().any(|a| a.local_port == port && !a.ended)
    }

    /// As `refresh_port`, if the core has the port.
    fn refresh_open_port(&mut self, port: Option<u16>) -> Fallible<()> {
        match port {
            Some(port) if self.ports.contains(&port) => self.refresh_port(port),
            _ => Ok(()),
        }
    }

    fn adopt(&mut self, association: Association) -> u32 {
        loop {
            self.last_association = self.last_association.wrapping_add(1) & 0x7fff_ffff;
            // 0, 1 and 2 are SCTP_FUTURE_ASSOC, SCTP_CURRENT_ASSOC and SCTP_ALL_ASSOC.
            let number = self.last_association;
            if number > 2 && !self.associations.contains_key(&number) {
                self.by_core.insert(association.core, number);
                self.associations.insert(number, association);
                return number;
            }
        }
    }

    /// Forgets an association that has ended, with what nobody will read.
    fn forget(&mut self, number: u32) {
        self.drop_names(number);
        let Some(association) = self.associations.remove(&number) else { return };
        let core = association.core;
        self.by_core.remove(&core);
        if let Some(socket) = association.socket.and_then(|id| self.sockets.get_mut(&id)) {
            socket.associations.remove(&number);
            socket.crowd.remove(&number);
            socket.serves_no_more(number);
        }
        self.discard(core);
        let _ = self.refresh_port(association.local_port);
    }

    /// Throws away what has arrived and nobody will read. The core has an association that ended for
    /// as long as there is something to read, and until its last packet has left.
    fn discard(&self, core: AssociationId) {
        self.raw.act(|endpoint, now| while endpoint.recv(now, core).is_some() {});
    }

    //= RFC 6458 1-1 3.1.6-1 4.1.5-1 7.5-1
    /// Opens an association from a bound socket, with `struct sctp_initmsg` for what is to be otherwise than the socket has it.
    fn associate(&mut self, id: u64, peers: &[SocketAddr], init: [u8; 8]) -> Fallible<u32> {
        let first = *peers.first().ok_or(errno::EINVAL)?;
        if first.port() == 0 || peers.iter().any(|peer| peer.port() != first.port()) {
            return Err(errno::EINVAL);
        }
        let encapsulation = self.peer_port_of(id)?;
        let socket = self.socket(id)?;
        let families = socket.families();
        let beside = peers.iter().any(|p| p.is_ipv6() && !families.include(p.ip()));
        if beside || !families.include(first.ip()) {
            return Err(errno::EINVAL);
        }
        let port = socket.port.ok_or(errno::EINVAL)?;
        let mut config = socket.association();
        apply_init(&mut config, Fields(&init));
        let named: Vec<SocketAddr> =
            peers.iter().map(|peer| with_ip(*peer, unspecified_is_local(peer.ip()))).collect();
        self.raw.check_routes(&named).map_err(|no_route| no_route.errno)?;
        if !peers.iter().any(|peer| self.families.include(peer.ip())) {
            return Err(errno::ENETUNREACH);
        }
        config.encapsulation = encapsulation;
        if !self.ports.contains(&port) {
            self.refresh_port(port)?;
        }
        named.iter().for_each(|peer| self.raw.learn_zone(*peer));
        let ips: Vec<IpAddr> = named.iter().map(SocketAddr::ip).collect();
        let streams = (config.outbound_streams, 0);
        let core = self
            .raw
            .act(|core, now| core.connect_from(now, port, &ips, first.port(), config))
            .map_err(|error| match error {
                // As the kernel where the association was peeled off.
                tresse_core::NotOpened::Exists => errno::EADDRNOTAVAIL,
                tresse_core::NotOpened::TooManyAssociations => errno::ENOMEM,
                _ => errno::EINVAL,
            })?;
        let peer = SocketAddr::new(ips[0], first.port());
        let association = Association::new(core, id, self.socket(id)?, peer);
        let number = self.adopt(Association { streams, known: Cell::new(true), ..association });
        self.socket(id)?.associations.insert(number);
        self.enter_names(number);
        Ok(number)
    }
}

/// The same with another address.
fn with_ip(mut address: SocketAddr, ip: IpAddr) -> SocketAddr {
    address.set_ip(ip);
    address
}

/// As the kernel does: the unspecified address as a destination means this host.
fn unspecified_is_local(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(v4) if v4.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(v6) if v6.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        _ => ip,
    }
}
