//! Where a cell is played: addresses and ports, Tresse's endpoint and the peer that runs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tresse::{
    Association, AssociationConfig, Carrier, Config, ConnectError, Endpoint, EndpointConfig,
    MtuDiscovery, Profile,
};

use super::network::{self, FAR, Network};
pub(super) use super::plan::Plan;
use super::recorder::Recorder;
use super::{Cell, Role, Settings, Stack, Subject};
use tresse_peers::traffic::blocking;
use tresse_peers::{
    COMMAND_LIMIT, Guest, Lab, Nat, Payload, Peer, PeerProgram, Relay, Unavailable, WIDE, Words,
    command, free_udp_port,
};

/// UDP port of SCTP in the guest.
const GUEST_UDP: u16 = 9_899;
/// The SCTP port of both ends against stacks that insist on it (RFC 8832 has none, WebRTC uses it).
const WEBRTC_PORT: u16 = 5_000;
/// How far the port of a client is from that of its server, against the kernel.
const CLIENT_OFFSET: u16 = 20_000;

/// Quick to notice that a path has failed, or that nobody answers.
const IMPATIENT: &str = "
    rto = { initial_ms = 200, min_ms = 100, max_ms = 500 }
    heartbeat = { interval_ms = 200 }
    limits = { path_max_retrans = 2, max_init_retransmits = 4 }
";

/// Hears soon whether the peer is there when neither end has data to send.
const CURIOUS: &str = "heartbeat = { interval_ms = 200 }";

fn ports_of_guest(lab: &Lab) -> (u16, u16) {
    let port = lab.port();
    (port, port + CLIENT_OFFSET)
}

/// A cell while it is played.
pub(super) struct Scene<'a> {
    pub(super) cell: Cell,
    pub(super) full: bool,
    pub(super) limit: Duration,
    pub(super) recorder: Recorder,
    pub(super) words: Words,
    host: Host<'a>,
    network: Network,
    /// SCTP ports of the server and of the client.
    ports: std::cell::Cell<(u16, u16)>,
    lab: &'a Lab,
    /// UDP ports of Tresse and of the peer.
    udp: (u16, u16),
}

/// Where the peer runs.
enum Host<'a> {
    Guest(MutexGuard<'a, Guest>),
    Here(&'a PeerProgram),
}

impl Host<'_> {
    fn guest(&self) -> Option<&Guest> {
        match self {
            Host::Guest(guest) => Some(guest),
            Host::Here(_) => None,
        }
    }
}

/// Both ends, at work.
pub(super) struct Met {
    pub(super) endpoint: Endpoint,
    pub(super) association: Association,
    pub(super) peer: Peer,
    pub(super) relay: Option<Relay>,
}

impl<'a> Scene<'a> {
    /// The thread that calls this is in the network of the peer afterwards.
    pub(super) fn new(
        cell: Cell,
        lab: &'a Lab,
        settings: &Settings,
    ) -> Result<Scene<'a>, Unavailable> {
        let udp = || free_udp_port().expect("there are ports");
        let (host, ports, peer_udp) = if cell.peer == Stack::Linux {
            let guest = lab.guest()?.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            guest.reset();
            guest.run(&format!("sysctl -qw net.sctp.udp_port={GUEST_UDP}"));
            network::restore(&guest);
            (Host::Guest(guest), ports_of_guest(lab), GUEST_UDP)
        } else {
            (Host::Here(lab.program(cell.peer)?), (WEBRTC_PORT, WEBRTC_PORT), udp())
        };
        let network = Network::of(cell, host.guest())?;
        Ok(Scene {
            cell,
            full: settings.full,
            // The kernel takes 35 s to notice.
            limit: settings.limit * if cell.subject == Subject::BlackHoleByPeer { 2 } else { 1 },
            recorder: Recorder::default(),
            words: Words::default(),
            network,
            host,
            ports: ports.into(),
            lab,
            udp: (udp(), peer_udp),
        })
    }

    /// What comes is another association: a kernel may not have let go of the ports of the one before.
    pub(super) fn begin_anew(&self) {
        self.recorder.clear();
        if self.is_guest() {
            self.ports.set(ports_of_guest(self.lab));
        }
    }

    /// `quick`, or `full` if all data is to be moved.
    pub(super) fn amount(&self, quick: u64, full: u64) -> u64 {
        if self.full { full } else { quick }
    }

    pub(super) fn is_guest(&self) -> bool {
        matches!(self.host, Host::Guest(_))
    }

    /// The interfaces of Tresse's two paths.
    pub(super) fn interface(&self, path: usize) -> String {
        if self.is_guest() { format!("peer{path}") } else { format!("to{}", path + 1) }
    }

    /// Runs a command on the host of the peer, where there are two.
    pub(super) async fn command_there(&self, line: &str) {
        match &self.host {
            Host::Guest(guest) => {
                let running = self.network.at_peer(Some(guest), || guest.begin(line));
                let (status, said) = blocking(move || running.exit(COMMAND_LIMIT)).await;
                assert_eq!(status, "0", "{line} in the guest said: {said:?}");
            }
            Host::Here(_) => self.network.at_peer(None, || command(line)),
        }
    }

    /// Gives the peer an address of the wide world, if the plan says so.
    pub(super) fn move_peer_away(&self, plan: &Plan) {
        if plan.far {
            self.network.move_peer_away(self.host.guest());
        }
    }

    /// Does something on the router between the hosts.
    pub(super) fn at_router<R>(&self, work: impl FnOnce() -> R) -> R {
        self.network.at_router(self.host.guest(), work)
    }

    /// Does something on the NAT between the hosts.
    pub(super) fn at_nat<R>(&self, work: impl FnOnce(&Nat) -> R) -> R {
        let nat = self.network.nat().expect("the network of this cell has one");
        self.at_router(|| work(nat))
    }

    /// The interfaces of the peer's two paths.
    pub(super) fn interface_there(&self, path: usize) -> String {
        if self.is_guest() { format!("vec{path}") } else { self.interface(path) }
    }

    /// Addresses of Tresse and of the peer.
    pub(super) fn addresses(&self, plan: &Plan) -> [Vec<IpAddr>; 2] {
        let paths = if plan.two_paths { 2 } else { 1 };
        // The third interface of the guest takes large packets.
        let first = if plan.wide { 2 } else { 0 };
        let list = |last: u8| -> Vec<IpAddr> {
            (0..paths)
                .map(|n: u8| match (self.is_guest(), plan.ipv6) {
                    (true, false) => [10, 99, first + n, last].into(),
                    (true, true) => [0xfd99, u16::from(n), 0, 0, 0, 0, 0, u16::from(last)].into(),
                    (false, true) => Ipv6Addr::LOCALHOST.into(),
                    (false, false) if !plan.two_paths && !plan.wide => Ipv4Addr::LOCALHOST.into(),
                    (false, false) => [10, 1 + n, 0, last].into(),
                })
                .collect()
        };
        if plan.routed {
            let ours = match plan.ipv6 {
                _ if plan.abroad => FAR.into(),
                false => [10, 1, 0, 1].into(),
                true => [0xfd01, 0, 0, 0, 0, 0, 0, 1].into(),
            };
            let theirs = match (self.is_guest(), plan.ipv6) {
                _ if plan.far => FAR.into(),
                (true, _) => list(2)[0],
                (false, false) => [10, 2, 0, 2].into(),
                (false, true) => [0xfd02, 0, 0, 0, 0, 0, 0, 2].into(),
            };
            return [vec![ours], vec![theirs]];
        }
        [list(1), if plan.far { vec![FAR.into()] } else { list(2) }]
    }

    /// Whether packets of a plan travel in UDP.
    fn encapsulated(&self, plan: &Plan) -> bool {
        !(self.is_guest() || plan.raw) || plan.udp || plan.links.is_some()
    }

    /// Bytes of the headers of IP and UDP around an SCTP packet.
    pub(super) fn headers(&self, plan: &Plan) -> usize {
        let ip = if plan.ipv6 { 40 } else { 20 };
        ip + if self.encapsulated(plan) { 8 } else { 0 }
    }

    /// Settings of Tresse's associations.
    pub(super) fn association(&self, plan: &Plan) -> AssociationConfig {
        let overrides = if plan.two_paths || self.cell.subject == Subject::Restart {
            IMPATIENT
        } else if plan.curious || plan.initial_streams.is_some() {
            CURIOUS
        } else {
            plan.overrides
        };
        let profile = Profile::tresse().with_overrides(overrides);
        let mut profile = profile.expect("the parameters exist");
        if let Some(scheduler) = plan.scheduler {
            profile.streams.scheduler = scheduler;
        }
        let profile = profile.into();
        let outbound_streams = plan.initial_streams.unwrap_or(plan.payload.streams.max(16));
        let mut config =
            AssociationConfig { profile, outbound_streams, ..AssociationConfig::default() };
        config.extensions.zero_checksum = plan.zero_checksum;
        config.extensions.address_reconfiguration = plan.moving;
        config.extensions.ecn = plan.ecn;
        config.extensions.packet_drop_reports = plan.drop_reports;
        config.reconfiguration = plan.reconfiguration;
        if let Some(discovery) = plan.mtu_discovery {
            config.mtu_discovery = discovery;
        }
        if plan.wide {
            config.mtu_discovery = MtuDiscovery::probes(usize::from(WIDE));
        }
        if let Some(bytes) = plan.receive_buffer {
            config.receive_buffer = bytes;
        }
        if let Some(bytes) = plan.send_buffer {
            config.send_buffer = bytes;
        }
        config.partial_delivery_point = plan.partial_delivery;
        if plan.interleaving {
            config.extensions.interleaving = true;
            // All may wait at a time.
            config.send_buffer = 16 << 20;
        }
        if let Some(authentication) = &plan.authentication {
            config.extensions.authentication = true;
            config.authentication = Arc::clone(authentication);
        }
        config
    }

    /// Tresse's endpoint, on the ports of this scene.
    pub(super) fn config(&self, plan: &Plan) -> Config {
        let [mut ours, _] = self.addresses(plan);
        if plan.wildcard {
            ours = vec![Ipv4Addr::UNSPECIFIED.into()];
        }
        let carrier = if self.encapsulated(plan) {
            let udp = self.udp.0;
            Carrier::Udp { local: ours.into_iter().map(|ip| SocketAddr::new(ip, udp)).collect() }
        } else {
            Carrier::RawIp { local: ours }
        };
        let server = self.cell.role == Role::Server;
        let local_port = if server { self.ports.get().0 } else { self.ports.get().1 };
        let association = self.association(plan);
        let sctp =
            EndpointConfig { local_port, accept: server, association, ..EndpointConfig::default() };
        let observer = Some(Box::new(self.recorder.clone()) as _);
        Config { carrier, sctp, observer, ..Config::default() }
    }

    /// Where a client sends to: the server itself or a relay before it.
    fn relay(&self, plan: &Plan, server: SocketAddr) -> Option<Relay> {
        let links = plan.links.clone()?;
        let here = if self.is_guest() { [10, 99, 0, 1].into() } else { Ipv4Addr::LOCALHOST.into() };
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).expect("there is a random source");
        let relay =
            Relay::start(here, server, links, u64::from_ne_bytes(seed), plan.meddler.clone());
        Some(relay.expect("the address is ours"))
    }

    /// Starts the peer; a client goes to `server`.
    pub(super) fn start_peer(&self, plan: &Plan, server: Option<SocketAddr>) -> Peer {
        let [ours, theirs] = self.addresses(plan);
        let list = |addresses: &[IpAddr]| {
            addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(",")
        };
        let Payload { messages, size, streams, unordered, .. } = plan.payload;
        let (role, port, peer_port) = match self.cell.role {
            Role::Client => ("server", self.ports.get().0, self.ports.get().1),
            Role::Server => ("client", self.ports.get().1, self.ports.get().0),
        };
        let mut words = format!(
            "{role} --address {} --port {port} --peer-port {peer_port} --messages {messages} \
             --size {size} --streams {streams} --timeout {}",
            list(&theirs),
            self.limit.as_secs().saturating_sub(2).max(1),
        );
        let mut add = |word: String| words.extend([" ", &word]);
        if unordered {
            add("--unordered".into());
        }
        if plan.two_paths {
            add("--fast-failover".into());
        }
        if !self.is_guest() && self.encapsulated(plan) {
            add(format!("--udp {}", self.udp.1));
        }
        if let Some(server) = server {
            let all = server.ip() == ours[0] && !plan.wildcard;
            let peer = if all { list(&ours) } else { server.ip().to_string() };
            add(format!("--peer {peer}"));
            if self.encapsulated(plan) {
                add(format!("--peer-udp {}", server.port()));
            }
        }
        add(plan.options.clone());
        let mut peer = match &self.host {
            Host::Guest(guest) => self.network.at_peer(Some(guest), || guest.start(&words)),
            Host::Here(program) => {
                let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
                self.network.at_peer(None, || program.start(&words))
            }
        };
        peer.keep(&self.words);
        peer
    }

    /// An association between the two as the plan says.
    pub(super) async fn meet(&self, plan: &Plan) -> Met {
        match self.cell.role {
            Role::Client => {
                let peer = self.start_server(plan);
                let (endpoint, driver) =
                    Endpoint::open(self.config(plan)).expect("it can be bound");
                tokio::spawn(driver);
                let (association, relay) = self.connect(plan, &endpoint).await;
                let association = association.unwrap_or_else(|e| panic!("connect: {e}"));
                Met { endpoint, association, peer, relay }
            }
            Role::Server => {
                let endpoint = Endpoint::bind(self.config(plan)).expect("it can be bound");
                let (association, peer, relay) = self.accept(plan, &endpoint).await;
                Met { endpoint, association, peer, relay }
            }
        }
    }

    /// Starts the peer as a server, and waits until it listens.
    pub(super) fn start_server(&self, plan: &Plan) -> Peer {
        let mut peer = self.start_peer(plan, None);
        peer.wait_for("READY", self.limit);
        peer
    }

    /// Opens an association with the peer that listens.
    pub(super) async fn connect(
        &self,
        plan: &Plan,
        endpoint: &Endpoint,
    ) -> (Result<Association, ConnectError>, Option<Relay>) {
        let [_, theirs] = self.addresses(plan);
        let server = SocketAddr::new(theirs[0], self.udp.1);
        let relay = self.relay(plan, server);
        let (address, udp) = match &relay {
            Some(relay) => (relay.address(), relay.port()),
            None => (server.ip(), server.port()),
        };
        let peer = (SocketAddr::new(address, udp), self.ports.get().0);
        (endpoint.connect_with(peer, self.association(plan)).await, relay)
    }

    /// Starts the peer as a client, and accepts what it opens.
    pub(super) async fn accept(
        &self,
        plan: &Plan,
        endpoint: &Endpoint,
    ) -> (Association, Peer, Option<Relay>) {
        let mut server = endpoint.local_addr();
        if plan.wildcard {
            // From outside it is reached at its NAT.
            let own = || self.addresses(plan)[0][0];
            server.set_ip(self.network.nat().map_or_else(own, |_| Nat::ADDRESS.into()));
        }
        let relay = self.relay(plan, server);
        let reached = relay.as_ref().map_or(server, |r| SocketAddr::new(r.address(), r.port()));
        let mut peer = self.start_peer(plan, Some(reached));
        let limit = self.limit;
        let up = blocking(move || {
            peer.wait_for("UP", limit);
            peer
        });
        // A peer that cannot do this says so and never connects; that ends the wait.
        let (association, peer) = tokio::join!(endpoint.accept(), up);
        (association.expect("the endpoint is open"), peer, relay)
    }
}
