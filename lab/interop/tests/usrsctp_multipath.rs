//! Concurrent multipath transfer and NR-SACK with usrsctp, the implementation that the mechanisms of
//! Sarnow (2017) come from, over UDP encapsulation on several loopback addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use tresse::{
    Carrier, CloseReason, Closed, Config, Direction, Endpoint, ObservedPacket, Observer, Peer,
    Profile,
};
use tresse_peers::traffic::{BULK, LIMIT, PEER_TIMEOUT_SECONDS, all_of, exchange, run};
use tresse_peers::{Namespace, Payload, PeerProgram, Unavailable, command, free_udp_port, skipped};

const PORT: u16 = 5001;
const CLIENT_PORT: u16 = 5002;
/// Where usrsctp and Tresse live.
const THEIRS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];
const OURS: [&str; 2] = ["127.0.0.3", "127.0.0.4"];

const DATA: u8 = 0;
const SACK: u8 = 3;
const NR_SACK: u8 = 0x10;

/// Whether it left, the type of a chunk, and its destination.
type Kind = (bool, u8, IpAddr);

/// Chunks seen.
#[derive(Clone, Default)]
struct Chunks(Arc<Mutex<BTreeMap<Kind, u64>>>);

impl Chunks {
    fn count(&self, direction: Direction, kind: u8) -> u64 {
        let seen = self.0.lock().unwrap();
        let out = direction == Direction::Out;
        seen.iter().filter(|((o, k, _), _)| *o == out && *k == kind).map(|(_, n)| n).sum()
    }

    /// The smallest number of DATA chunks that went to one of the addresses.
    fn least_data(&self, direction: Direction, to: [&str; 2]) -> u64 {
        let seen = self.0.lock().unwrap();
        let out = direction == Direction::Out;
        let data = |to: &str| seen.get(&(out, DATA, ip(to))).copied().unwrap_or(0);
        to.map(data).into_iter().min().unwrap_or(0)
    }
}

impl Observer for Chunks {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        let out = packet.direction == Direction::Out;
        let to = if out { packet.remote.ip() } else { packet.local.ip() };
        let mut seen = self.0.lock().unwrap();
        let mut rest = packet.packet.get(12..).unwrap_or_default();
        while let [kind, _, high, low, ..] = *rest {
            *seen.entry((out, kind, to)).or_default() += 1;
            let len = usize::from(u16::from_be_bytes([high, low])).max(4);
            rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// The peer program, and a network of its own for this thread: usrsctp binds to addresses that an
/// interface lists, and loopback lists 127.0.0.1 alone.
fn peer() -> Option<(&'static PeerProgram, Namespace)> {
    static PROGRAM: OnceLock<Result<PeerProgram, Unavailable>> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = PROGRAM.get_or_init(|| PeerProgram::usrsctp(folder)).as_ref();
    let both = program.map_err(Unavailable::clone).and_then(|p| Ok((p, Namespace::new()?)));
    let both = both.inspect_err(skipped).ok()?;
    for address in THEIRS.iter().chain(&OURS).filter(|address| **address != "127.0.0.1") {
        command(&format!("ip address add {address}/8 dev lo"));
    }
    Some(both)
}

fn arguments(role: &str, payload: Payload, options: &str) -> Vec<String> {
    let Payload { messages, size, streams, .. } = payload;
    let text = format!(
        "{role} --address {} --messages {messages} --size {size} --streams {streams} --duplex \
         --timeout {PEER_TIMEOUT_SECONDS} {options}",
        THEIRS.join(",")
    );
    text.split_whitespace().map(str::to_owned).collect()
}

/// Tresse's end, on both of its addresses.
fn config(profile: &str, port: Option<u16>, chunks: &Chunks) -> Config {
    let udp = free_udp_port().unwrap();
    let local = OURS.map(|address| SocketAddr::new(ip(address), udp)).to_vec();
    let carrier = Carrier::Udp { local };
    let mut config = match port {
        Some(port) => Config::server_over(carrier, port),
        None => Config::client_over(carrier),
    };
    let association = &mut config.sctp.association;
    association.profile = Arc::new(Profile::named(profile).unwrap());
    association.concurrent_transfer = true;
    association.outbound_streams = 16;
    config.observer = Some(Box::new(chunks.clone()));
    config
}

/// Both ends send over both paths; SACKs are of one kind.
fn judge(chunks: &Chunks, kind: u8) {
    let out = chunks.least_data(Direction::Out, THEIRS);
    assert!(out > BULK.messages / 20, "{out} of our chunks took one of the paths");
    let other = if kind == SACK { NR_SACK } else { SACK };
    for direction in [Direction::In, Direction::Out] {
        assert!(chunks.count(direction, kind) > 0, "{direction:?}");
        assert_eq!(chunks.count(direction, other), 0, "{direction:?}");
    }
}

fn tresse_as_client(profile: &str, with: &str, kind: u8) {
    let Some((program, _network)) = peer() else { return };
    let udp = free_udp_port().unwrap();
    let options = format!("--udp {udp} --port {PORT} {with}");
    let mut peer = program.start(&arguments("server", BULK, &options));
    peer.wait_for("READY", LIMIT);
    let chunks = Chunks::default();
    run(async {
        let endpoint = Endpoint::bind(config(profile, None, &chunks)).unwrap();
        let settings = config(profile, None, &chunks).sctp.association;
        let peer = Peer::multihomed(THEIRS.map(ip), PORT).on_udp_port(udp);
        let association = endpoint.connect_with(peer, settings).await.unwrap();
        exchange(&association, BULK).await;
        association.shutdown().await.unwrap();
    });
    assert_eq!(peer.finish(LIMIT), all_of(BULK, "shutdown"));
    judge(&chunks, kind);
}

fn tresse_as_server(profile: &str, with: &str, kind: u8) {
    let Some((program, _network)) = peer() else { return };
    let chunks = Chunks::default();
    let mut peer = None;
    run(async {
        let endpoint = Endpoint::bind(config(profile, Some(PORT), &chunks)).unwrap();
        let options = format!(
            "--udp {} --peer-udp {} --peer {} --peer-port {PORT} --port {CLIENT_PORT} {with}",
            free_udp_port().unwrap(),
            endpoint.local_addr().port(),
            OURS[0]
        );
        peer = Some(program.start(&arguments("client", BULK, &options)));
        let association = endpoint.accept().await.unwrap();
        exchange(&association, BULK).await;
        assert!(association.recv().await.is_err());
        assert_eq!(association.closed().await, Closed::Association(CloseReason::Shutdown));
    });
    assert_eq!(peer.unwrap().finish(LIMIT), all_of(BULK, "shutdown"));
    judge(&chunks, kind);
}

#[test]
fn both_ends_send_over_both_paths() {
    tresse_as_client("tresse", "--with cmt", SACK);
    tresse_as_server("tresse", "--with cmt", SACK);
}

#[test]
fn nr_sacks_and_delayed_acks_for_concurrent_transfer_are_understood() {
    tresse_as_client("tresse+nr-sack+dac", "--with cmt,nr-sack,dac", NR_SACK);
    tresse_as_server("freebsd-cmt+nr-sack+dac", "--with cmt,nr-sack,dac", NR_SACK);
}

#[test]
fn an_end_without_nr_sacks_gets_sacks() {
    tresse_as_client("tresse+nr-sack", "--with cmt", SACK);
    tresse_as_client("tresse", "--with cmt,nr-sack", SACK);
}
