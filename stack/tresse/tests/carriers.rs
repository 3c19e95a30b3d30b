//! Endpoints over every carrier, with one and with several local addresses, on loopback.

use std::io::ErrorKind;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tresse::{
    Association, Carrier, Config, Direction, Ecn, Endpoint, ObservedPacket, Observer, PathState,
    Peer, StreamId,
};

/// Each test has its own SCTP ports: all raw sockets of a host see the packets of all.
const BASE: u16 = 6100;

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .unwrap_or_else(|_| panic!("{what} takes too long"))
}

/// An endpoint, or a word on stderr that the test is skipped.
fn bind(config: Config) -> Option<Endpoint> {
    match Endpoint::bind(config) {
        Ok(endpoint) => Some(endpoint),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            let required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some_and(|v| v == "1");
            assert!(!required, "{e}, and TRESSE_REQUIRE_PEERS=1 forbids to skip");
            let _ = std::io::stderr().write_all(format!("skipped: {e}\n").as_bytes()); // At once: other tests write, too.
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn v4(last: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, last).into()
}

/// Sends messages of many sizes and takes them back from a peer that echoes them.
async fn exchange(client: &Association, server: &Association) {
    let sizes = [1, 50, 1_400, 1_500, 65_536];
    let send = async {
        for size in sizes {
            client.send(StreamId(1), vec![size as u8; size]).await.unwrap();
        }
    };
    let echo = async {
        for _ in sizes {
            let message = server.recv().await.expect("a message");
            server.send(message.stream, message.payload).await.unwrap();
        }
    };
    let receive = async {
        for size in sizes {
            let message = client.recv().await.expect("the echo");
            assert_eq!(message.payload, vec![size as u8; size]);
        }
    };
    soon("the exchange", async { tokio::join!(send, echo, receive) }).await;
}

async fn pair(client: &Endpoint, server: &Endpoint, to: &[IpAddr]) -> (Association, Association) {
    let peer = Peer::multihomed(to.iter().copied(), server.sctp_port());
    let connecting = client.connect(peer.on_udp_port(server.local_addr().port()));
    let (client, server) =
        soon("the handshake", async { tokio::join!(connecting, server.accept()) }).await;
    (client.unwrap(), server.expect("an association"))
}

#[tokio::test]
async fn raw_ip_carries_an_association_from_handshake_to_shutdown() {
    let addresses: [(IpAddr, IpAddr); 2] =
        [(v4(61), v4(62)), (Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into())];
    for (i, (here, there)) in addresses.into_iter().enumerate() {
        if UdpSocket::bind((here, 0)).is_err() {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: no IPv6 on this host (sysctl net.ipv6.conf.all.disable_ipv6=0)"
            );
            continue;
        }
        let raw = |local| Carrier::RawIp { local: vec![local] };
        let server = bind(Config::server_over(raw(there), BASE + i as u16));
        let (Some(server), Some(client)) = (server, bind(Config::client_over(raw(here)))) else {
            return;
        };
        let (ours, theirs) = pair(&client, &server, &[there]).await;
        exchange(&ours, &theirs).await;
        assert_eq!(ours.path_stats().len(), 1);
        assert_eq!(theirs.path_stats()[0].remote, here);
        soon("the shutdown", ours.shutdown()).await.unwrap();
        assert!(soon("the end", theirs.closed()).await.is_graceful());
    }
}

/// How many packets left and came with ECT(0), and how many came otherwise marked than they can be.
#[derive(Clone, Default)]
struct Fields(Arc<Mutex<(u64, u64, u64)>>);

impl Observer for Fields {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        let mut fields = self.0.lock().unwrap();
        match (packet.direction, packet.ecn) {
            (_, Ecn::NotEct) => {}
            (Direction::Out, Ecn::Ect0) => fields.0 += 1,
            (Direction::In, Ecn::Ect0) => fields.1 += 1,
            _ => fields.2 += 1,
        }
    }
}

#[tokio::test]
async fn the_ecn_field_passes_over_each_carrier() {
    let (here, there) = (v4(63), v4(64));
    for raw in [false, true] {
        let carrier = |address: IpAddr| match raw {
            true => Carrier::RawIp { local: vec![address] },
            false => Carrier::Udp { local: vec![SocketAddr::new(address, 0)] },
        };
        let (ours, theirs) = (Fields::default(), Fields::default());
        let observed = |mut config: Config, fields: &Fields| {
            config.sctp.association.extensions.ecn = true;
            config.observer = Some(Box::new(fields.clone()));
            config
        };
        let server = Config::server_over(carrier(there), BASE + 40);
        let client = Config::client_over(carrier(here));
        let server = bind(observed(server, &theirs));
        let (Some(server), Some(client)) = (server, bind(observed(client, &ours))) else { return };
        let (a, z) = pair(&client, &server, &[there]).await;
        exchange(&a, &z).await;
        soon("the shutdown", a.shutdown()).await.unwrap();
        let sent = a.stats().ect_packets_sent;
        assert!(sent > 40 && z.stats().ect_packets_sent > 40);
        let (ours, theirs) = (*ours.0.lock().unwrap(), *theirs.0.lock().unwrap());
        assert_eq!((ours.0, ours.2, theirs.2), (sent, 0, 0));
        assert_eq!(theirs.1, sent, "raw: {raw}");
        assert_eq!(theirs.0, ours.1, "raw: {raw}");
    }
}

/// Several raw endpoints on one host: each sees the packets of all, and is quiet about those of the
/// others.
#[tokio::test]
async fn raw_endpoints_pass_over_the_ports_of_others() {
    let raw = || Carrier::RawIp { local: vec![Ipv4Addr::UNSPECIFIED.into()] };
    let (Some(first), Some(second), Some(client)) = (
        bind(Config::server_over(raw(), BASE + 10)),
        bind(Config::server_over(raw(), BASE + 11)),
        bind(Config::client_over(raw())),
    ) else {
        return;
    };
    let (a, b) = (pair(&client, &first, &[v4(63)]).await, pair(&client, &second, &[v4(64)]).await);
    exchange(&a.0, &a.1).await;
    exchange(&b.0, &b.1).await;
    assert_eq!(a.0.path_stats()[0].remote, v4(63));
    for association in [&a.0, &a.1, &b.0, &b.1] {
        assert_eq!(association.close_reason(), None);
    }
    // Answers leave from the address that was asked, although the socket has all of them.
    assert_eq!(a.1.path_stats()[0].local, Some(v4(63)));
}

#[tokio::test]
async fn all_addresses_of_both_ends_become_paths() {
    let at = |last| SocketAddr::new(v4(last), 0);
    let server = Config::server_over(Carrier::Udp { local: vec![at(65), at(66)] }, BASE + 20);
    let server = Endpoint::bind(server).unwrap();
    let client = Config::client_over(Carrier::Udp { local: vec![at(67), at(68)] });
    let client = Endpoint::bind(client).unwrap();
    assert_eq!(server.local_addrs().len(), 2);
    // One address is told, the other one is learned in the handshake, on both sides.
    let (ours, theirs) = pair(&client, &server, &[v4(65)]).await;
    exchange(&ours, &theirs).await;
    for (association, remotes) in [(&ours, [v4(65), v4(66)]), (&theirs, [v4(67), v4(68)])] {
        let confirmed = async {
            while association.path_stats().iter().any(|p| p.state != PathState::Active) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        soon("the heartbeats", confirmed).await;
        let paths = association.path_stats();
        assert_eq!(paths.iter().map(|p| p.remote).collect::<Vec<_>>(), remotes);
        // Each path has a local address of its own.
        assert_ne!(paths[0].local, paths[1].local);
    }
}

/// As above, over sockets that were bound before.
#[tokio::test]
async fn sockets_from_outside_make_a_multihomed_endpoint() {
    let sockets = |[a, b]: [u8; 2]| {
        let first = UdpSocket::bind((v4(a), 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        [first, UdpSocket::bind((v4(b), port)).unwrap()]
    };
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let server = Config::server(any, BASE + 30);
    let server = Endpoint::from_sockets(server, sockets([71, 72])).unwrap();
    let client = Endpoint::from_sockets(Config::client(any), sockets([73, 74])).unwrap();
    assert_eq!(
        server.local_addrs().iter().map(SocketAddr::ip).collect::<Vec<_>>(),
        [v4(71), v4(72)]
    );
    let (ours, theirs) = pair(&client, &server, &[v4(71)]).await;
    exchange(&ours, &theirs).await;
    assert_eq!(ours.peer().addresses, [v4(71), v4(72)]);
    assert_eq!(theirs.peer().addresses, [v4(73), v4(74)]);
    soon("the shutdown", ours.shutdown()).await.unwrap();
}

#[tokio::test]
async fn a_socket_from_outside_may_be_a_wildcard_and_says_what_is_wrong_with_it() {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let config = Config::server(socket.local_addr().unwrap(), BASE + 31);
    let server = Endpoint::from_sockets(config, [socket]).unwrap();
    let client = Endpoint::bind(Config::client((v4(1), 0).into())).unwrap();
    let (ours, theirs) = pair(&client, &server, &[v4(75)]).await;
    exchange(&ours, &theirs).await;
    // The wildcard itself is offered to nobody.
    assert!(ours.peer().addresses.iter().all(|address| !address.is_unspecified()));

    let connected = UdpSocket::bind("127.0.0.1:0").unwrap();
    connected.connect("127.0.0.1:9").unwrap();
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let error = Endpoint::from_sockets(Config::client(any), [connected]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("is connected to 127.0.0.1:9"), "{error}");
}

#[tokio::test]
async fn bad_addresses_are_named() {
    let nowhere = |carrier: Carrier| Endpoint::bind(Config::client_over(carrier)).unwrap_err();
    let udp = nowhere(Carrier::Udp { local: vec!["192.0.2.77:0".parse().unwrap()] });
    assert!(udp.to_string().contains("192.0.2.77"), "{udp}");
    let none = nowhere(Carrier::Udp { local: Vec::new() });
    assert!(none.to_string().contains("at least one local address"), "{none}");
    let raw = nowhere(Carrier::RawIp { local: vec!["192.0.2.77".parse().unwrap()] });
    let text = raw.to_string();
    assert!(text.contains("192.0.2.77") || text.contains("CAP_NET_RAW"), "{text}");
}
