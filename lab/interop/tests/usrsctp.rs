//! Against usrsctp (FreeBSD's stack in user space) over UDP encapsulation on loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::net::UdpSocket;
use tresse::{Association, CloseReason, Closed, Config, Endpoint};
use tresse_peers::traffic::{
    BRIEF, BULK, LARGE, LIMIT, PEER_TIMEOUT_SECONDS, SMALL, all_of, exchange, interrupt, run,
    send_all,
};
use tresse_peers::{Payload, Peer, PeerProgram, PeerReport, Unavailable, free_udp_port, skipped};

/// SCTP port of whoever is the server.
const PORT: u16 = 5001;

/// The peer program, built once; `None`, and a word on stderr, when it cannot be had.
fn usrsctp() -> Option<&'static PeerProgram> {
    static PROGRAM: OnceLock<Result<PeerProgram, Unavailable>> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    match PROGRAM.get_or_init(|| PeerProgram::usrsctp(folder)) {
        Ok(program) => Some(program),
        Err(why) => {
            skipped(why);
            None
        }
    }
}

/// Command line of a peer that exchanges `payload` each way, with further `options`.
fn arguments(role: &str, udp: u16, payload: Payload, options: &str) -> Vec<String> {
    let Payload { messages, size, streams, unordered, .. } = payload;
    let unordered = if unordered { "--unordered" } else { "" };
    format!(
        "{role} --udp {udp} --messages {messages} --size {size} --streams {streams} {unordered} \
         --timeout {PEER_TIMEOUT_SECONDS} {options}"
    )
    .split_whitespace()
    .map(str::to_owned)
    .collect()
}

fn start_server(program: &PeerProgram, udp: u16, payload: Payload, options: &str) -> Peer {
    let options = format!("--port {PORT} {options}");
    let mut peer = program.start(&arguments("server", udp, payload, &options));
    peer.wait_for("READY", LIMIT);
    peer
}

fn start_client(program: &PeerProgram, server: u16, payload: Payload, options: &str) -> Peer {
    let options = format!("--peer-udp {server} --peer-port {PORT} {options}");
    program.start(&arguments("client", free_udp_port().unwrap(), payload, &options))
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn client_config(payload: Payload) -> Config {
    let mut config = Config::client(SocketAddr::new(LOOPBACK, 0));
    // More than the peer takes, or as many: the smaller number holds (RFC 9260 §5.1.1).
    config.sctp.association.outbound_streams = payload.streams.max(16);
    config
}

fn server_config(payload: Payload) -> Config {
    let mut config = Config::server(SocketAddr::new(LOOPBACK, 0), PORT);
    config.sctp.association.outbound_streams = payload.streams.max(16);
    config
}

async fn connect(config: Config, udp: u16) -> (Endpoint, Association) {
    let endpoint = Endpoint::bind(config).unwrap();
    let address = SocketAddr::new(endpoint.local_addr().ip(), udp);
    let association = endpoint.connect((address, PORT)).await.unwrap();
    (endpoint, association)
}

/// Tresse connects to a usrsctp server, exchanges `payload` and shuts down.
fn tresse_as_client(payload: Payload, options: &str) {
    let Some(program) = usrsctp() else { return };
    let udp = free_udp_port().unwrap();
    let peer = start_server(program, udp, payload, options);
    run(async {
        let (_endpoint, association) = connect(client_config(payload), udp).await;
        exchange(&association, payload).await;
        association.shutdown().await.unwrap();
    });
    assert_eq!(peer.finish(LIMIT), all_of(payload, "shutdown"));
}

/// A usrsctp client connects to Tresse, exchanges `payload` and shuts down.
fn tresse_as_server(payload: Payload, options: &str) {
    let Some(program) = usrsctp() else { return };
    let mut peer = None;
    run(async {
        let endpoint = Endpoint::bind(server_config(payload)).unwrap();
        peer = Some(start_client(program, endpoint.local_addr().port(), payload, options));
        let association = endpoint.accept().await.unwrap();
        exchange(&association, payload).await;
        assert!(association.recv().await.is_err());
        assert_eq!(association.closed().await, Closed::Association(CloseReason::Shutdown));
    });
    assert_eq!(peer.unwrap().finish(LIMIT), all_of(payload, "shutdown"));
}

/// The peer is known to be good before it judges anyone.
#[test]
fn the_peer_agrees_with_itself() {
    let Some(program) = usrsctp() else { return };
    let unordered = Payload { unordered: true, ..LARGE };
    for (payload, options) in [(BULK, ""), (SMALL, "--duplex"), (unordered, "--address ::1")] {
        let udp = free_udp_port().unwrap();
        let server = start_server(program, udp, payload, options);
        let client = start_client(program, udp, payload, options);
        assert_eq!(client.finish(LIMIT), all_of(payload, "shutdown"));
        assert_eq!(server.finish(LIMIT), all_of(payload, "shutdown"));
    }
}

#[test]
fn client_moves_ten_megabytes_each_way() {
    tresse_as_client(BULK, "");
}

#[test]
fn server_moves_ten_megabytes_each_way() {
    tresse_as_server(BULK, "");
}

#[test]
fn both_directions_at_once() {
    tresse_as_client(BULK, "--duplex");
}

#[test]
fn client_sends_small_messages_on_many_streams() {
    tresse_as_client(SMALL, "");
}

#[test]
fn server_sends_small_messages_on_many_streams() {
    tresse_as_server(SMALL, "");
}

#[test]
fn client_sends_messages_of_64_kib() {
    tresse_as_client(LARGE, "");
}

#[test]
fn server_sends_messages_of_64_kib() {
    tresse_as_server(LARGE, "");
}

#[test]
fn unordered_messages_of_several_fragments() {
    let payload =
        Payload { messages: 1_000, size: 4_000, streams: 3, unordered: true, ..Payload::PLAIN };
    tresse_as_client(payload, "--duplex");
}

#[test]
fn packets_larger_than_our_own_are_taken() {
    tresse_as_client(LARGE, "--mtu 9000");
}

#[test]
fn over_ipv6() {
    let Some(program) = usrsctp() else { return };
    let udp = free_udp_port().unwrap();
    let peer = start_server(program, udp, BRIEF, "--address ::1");
    run(async {
        let mut config = client_config(BRIEF);
        config.carrier = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 0).into();
        let (_endpoint, association) = connect(config, udp).await;
        exchange(&association, BRIEF).await;
        association.shutdown().await.unwrap();
    });
    assert_eq!(peer.finish(LIMIT), all_of(BRIEF, "shutdown"));
}

/// The server shuts down: Tresse in one run, the peer in the other.
#[test]
fn the_server_shuts_down() {
    let Some(program) = usrsctp() else { return };
    let mut peer = None;
    run(async {
        let endpoint = Endpoint::bind(server_config(BRIEF)).unwrap();
        let port = endpoint.local_addr().port();
        peer = Some(start_client(program, port, BRIEF, "--close wait"));
        let association = endpoint.accept().await.unwrap();
        exchange(&association, BRIEF).await;
        association.shutdown().await.unwrap();
    });
    assert_eq!(peer.unwrap().finish(LIMIT), all_of(BRIEF, "shutdown"));

    let udp = free_udp_port().unwrap();
    let peer = start_server(program, udp, BRIEF, "--close shutdown");
    run(async {
        let (_endpoint, association) = connect(client_config(BRIEF), udp).await;
        exchange(&association, BRIEF).await;
        assert_eq!(association.closed().await, Closed::Association(CloseReason::Shutdown));
    });
    assert_eq!(peer.finish(LIMIT), all_of(BRIEF, "shutdown"));
}

/// Both ends shut down when they have what they want, about at the same moment.
#[test]
fn shutdowns_that_may_cross() {
    tresse_as_client(BRIEF, "--close shutdown --duplex");
}

#[test]
fn the_peer_sees_our_abort() {
    let Some(program) = usrsctp() else { return };
    let udp = free_udp_port().unwrap();
    let endless = Payload { messages: 1_000_000, ..BRIEF };
    let peer = start_server(program, udp, endless, "--duplex --expect-abort");
    run(async {
        let (_endpoint, association) = connect(client_config(endless), udp).await;
        interrupt(&association).await;
    });
    let report = peer.finish(LIMIT);
    assert_eq!((report.end.as_str(), report.received), ("aborted", 0));
}

#[test]
fn we_see_the_abort_of_the_peer() {
    let Some(program) = usrsctp() else { return };
    let udp = free_udp_port().unwrap();
    let peer = start_server(program, udp, BRIEF, "--send 0 --close abort");
    run(async {
        let (_endpoint, association) = connect(client_config(BRIEF), udp).await;
        send_all(&association, BRIEF).await;
        let closed = association.closed().await;
        // RFC 9260 §3.3.10.12: cause 12 carries the reason of the user.
        let Closed::Association(CloseReason::PeerAborted { cause: 12, value }) = &closed else {
            panic!("{closed}");
        };
        assert_eq!(value, "peer asked to abort");
    });
    assert_eq!(peer.finish(LIMIT), PeerReport { sent: 0, ..all_of(BRIEF, "aborted") });
}

/// RFC 9260 §8.4: an INIT that nobody waits for is answered by ABORT, not by silence.
#[test]
fn an_endpoint_that_does_not_accept_refuses() {
    let Some(program) = usrsctp() else { return };
    run(async {
        let mut config = client_config(BRIEF);
        config.sctp.local_port = PORT;
        let endpoint = Endpoint::bind(config).unwrap();
        let mut peer = start_client(program, endpoint.local_addr().port(), BRIEF, "");
        let said = tokio::task::spawn_blocking(move || peer.wait_for("FAIL", LIMIT)).await.unwrap();
        assert!(said.contains("refused"), "{said}");
    });
}

/// Passes datagrams between a client and the server at `server`. While `lossy`, it drops every 40th
/// and lets every 25th wait until the next one has passed, in each direction.
async fn relay(near: UdpSocket, far: UdpSocket, server: SocketAddr, lossy: Arc<AtomicBool>) {
    let (mut near_buffer, mut far_buffer) = ([0; 65_535], [0; 65_535]);
    let mut client = None;
    let mut directions: [(u64, Option<Vec<u8>>); 2] = [(0, None), (0, None)];
    loop {
        let (direction, datagram) = tokio::select! {
            Ok((length, from)) = near.recv_from(&mut near_buffer) => {
                client = Some(from);
                (0, &near_buffer[..length])
            }
            Ok((length, _)) = far.recv_from(&mut far_buffer) => (1, &far_buffer[..length]),
        };
        let (count, held) = &mut directions[direction];
        *count += 1;
        if lossy.load(Ordering::Relaxed) {
            if *count % 40 == 0 {
                continue;
            }
            if *count % 25 == 0 && held.is_none() {
                *held = Some(datagram.to_vec());
                continue;
            }
        }
        for packet in [Some(datagram.to_vec()), held.take()].into_iter().flatten() {
            // What a socket refuses is lost, as on any network.
            let _ = match (direction, client) {
                (0, _) => far.send_to(&packet, server).await,
                (_, Some(client)) => near.send_to(&packet, client).await,
                (_, None) => Ok(0),
            };
        }
    }
}

#[test]
fn loss_and_reordering_are_recovered_from() {
    let Some(program) = usrsctp() else { return };
    let payload = Payload { messages: 2_000, ..BULK };
    let udp = free_udp_port().unwrap();
    let peer = start_server(program, udp, payload, "--duplex");
    run(async {
        let bind = || UdpSocket::bind(SocketAddr::new(LOOPBACK, 0));
        let (near, far) = (bind().await.unwrap(), bind().await.unwrap());
        let (relay_port, lossy) = (near.local_addr().unwrap().port(), Arc::new(true.into()));
        let server = SocketAddr::new(LOOPBACK, udp);
        tokio::spawn(relay(near, far, server, Arc::clone(&lossy)));
        let (_endpoint, association) = connect(client_config(payload), relay_port).await;
        exchange(&association, payload).await;
        // Who loses the last packet of a shutdown would wait for somebody who has gone.
        lossy.store(false, Ordering::Relaxed);
        association.shutdown().await.unwrap();
        assert!(association.stats().retransmissions() > 0);
        // The relay runs until the peer has ended.
        let finish = tokio::task::spawn_blocking(move || peer.finish(LIMIT));
        assert_eq!(finish.await.unwrap(), all_of(payload, "shutdown"));
    });
}
