//! Two endpoints of Tresse on networks that fail, are narrow, or rebind addresses: what loopback does
//! not have. Hosts are network namespaces; sockets stay in the one where they were opened.
#![cfg(target_os = "linux")]

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tresse::{Association, AssociationConfig, Carrier, Config, Endpoint, PathState, Peer, Profile};
use tresse_peers::traffic::{BRIEF, BULK, LARGE, LIMIT, exchange, receive_all, run, send_all};
use tresse_peers::{Namespace, Payload, Unavailable, command, skipped};

const PORT: u16 = 5001;
const UDP: u16 = 9899;

/// New hosts, each in a namespace of its own; `None`, and a word on stderr, without the permission.
fn hosts<const N: usize>() -> Option<[Namespace; N]> {
    let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(132)));
    if raw.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
        let how = "run as root, or with CAP_NET_RAW".to_owned();
        skipped(&Unavailable { what: "permission for raw sockets".to_owned(), how });
        return None;
    }
    let mut hosts = Vec::new();
    for _ in 0..N {
        match Namespace::new() {
            Ok(host) => hosts.push(host),
            Err(why) => {
                skipped(&why);
                return None;
            }
        }
    }
    hosts.try_into().ok()
}

fn address(net: u8, last: u8) -> IpAddr {
    Ipv4Addr::new(10, net, 0, last).into()
}

fn carriers(addresses: &[IpAddr]) -> [Carrier; 2] {
    let udp = addresses.iter().map(|a| SocketAddr::new(*a, UDP)).collect();
    [Carrier::RawIp { local: addresses.to_vec() }, Carrier::Udp { local: udp }]
}

fn settings(payload: Payload, overrides: &str) -> AssociationConfig {
    let profile = Profile::tresse().with_overrides(overrides).unwrap();
    AssociationConfig {
        profile: profile.into(),
        outbound_streams: payload.streams,
        ..AssociationConfig::default()
    }
}

fn open(host: &Namespace, carrier: Carrier, association: &AssociationConfig) -> Endpoint {
    host.enter();
    let mut config = Config::server_over(carrier, PORT);
    config.sctp.association = association.clone();
    Endpoint::bind(config).unwrap()
}

async fn connect(
    from: &Endpoint,
    to: &Endpoint,
    config: AssociationConfig,
) -> (Association, Association) {
    let peer = Peer::multihomed([to.local_addr().ip()], PORT);
    let (ours, theirs) = tokio::join!(from.connect_with(peer, config), to.accept());
    (ours.unwrap(), theirs.unwrap())
}

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Two networks; the interface of the path in use goes down in the middle of a transfer, in the other
/// case it loses its address.
#[test]
fn an_interface_that_goes_loses_nothing() {
    let fast_failover = "
        rto = { initial_ms = 200, min_ms = 100, max_ms = 500 }
        heartbeat = { interval_ms = 200 }
        limits = { path_max_retrans = 2 }
    ";
    let payload = Payload { messages: 4_000, ..BULK };
    for (kind, disaster) in
        [(0, "ip link set to1 down"), (1, "ip link set to1 down"), (0, "ip addr flush dev to1")]
    {
        let Some([here, there]) = hosts() else { return };
        here.join(&there, 1);
        here.join(&there, 2);
        run(async {
            let config = settings(payload, fast_failover);
            let pick = |last| carriers(&[address(1, last), address(2, last)])[kind].clone();
            let (client, server) = (open(&here, pick(1), &config), open(&there, pick(2), &config));
            let (ours, theirs) = connect(&client, &server, config).await;
            let active = |a: &Association| {
                a.path_stats().iter().filter(|p| p.state == PathState::Active).count()
            };
            until(|| active(&ours) == 2 && active(&theirs) == 2).await;
            let halfway = async {
                until(|| ours.stats().messages_received > payload.messages / 4).await;
                here.enter();
                command(disaster);
            };
            tokio::join!(
                halfway,
                send_all(&ours, payload),
                receive_all(&ours, payload),
                send_all(&theirs, payload),
                receive_all(&theirs, payload),
            );
            ours.shutdown().await.unwrap();
            assert!(theirs.closed().await.is_graceful());
            let failed = &ours.path_stats()[0];
            assert!(
                failed.state != PathState::Active || failed.errors > 0,
                "{disaster}: {failed:?}"
            );
        });
    }
}

/// A router on the way has a link that takes 1000 bytes; on the other side that link begins at the
/// host itself.
#[test]
fn a_narrow_link_is_found_by_icmp() {
    for kind in 0..2 {
        let Some([here, router, there]) = hosts() else { return };
        here.join(&router, 1);
        router.join(&there, 2);
        router.enter();
        command("sysctl -qw net.ipv4.ip_forward=1");
        command("ip link set to2 mtu 1000");
        there.enter();
        command("ip link set to2 mtu 1000");
        command("ip route add default via 10.2.0.1");
        here.enter();
        command("ip route add default via 10.1.0.2");
        run(async {
            let config = settings(LARGE, "");
            let client = open(&here, carriers(&[address(1, 1)])[kind].clone(), &config);
            let server = open(&there, carriers(&[address(2, 2)])[kind].clone(), &config);
            let (ours, theirs) = connect(&client, &server, config).await;
            tokio::join!(exchange(&ours, LARGE), exchange(&theirs, LARGE));
            // The client learns it from the router, with proof, the server from its own interface.
            for (endpoint, association) in [(&client, &ours), (&server, &theirs)] {
                assert_eq!(association.path_stats()[0].mtu, 1000);
                assert!(endpoint.stats().icmp_accepted > 0);
            }
            ours.shutdown().await.unwrap();
        });
    }
}

/// On a host that speaks no SCTP the system says so, and nobody waits in vain.
#[test]
fn a_host_without_sctp_is_named_at_once() {
    let Some([here, there]) = hosts() else { return };
    here.join(&there, 1);
    for carrier in carriers(&[address(1, 1)]) {
        run(async {
            let client = open(&here, carrier, &AssociationConfig::default());
            let nobody = Peer::multihomed([address(1, 2)], PORT);
            let result = client.connect(nobody).await;
            let error = result.unwrap_err().to_string();
            assert!(error.contains("does not speak SCTP"), "{error}");
        });
    }
}

/// Passes datagrams between a client and the server at `server`, as a NAT does; when `rebind` is
/// told, from another port than before.
async fn nat(near: UdpSocket, server: SocketAddr, mut rebind: tokio::sync::mpsc::Receiver<()>) {
    let outside = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let mut far = outside().await.unwrap();
    let (mut inbound, mut outbound) = (vec![0; 65_535], vec![0; 65_535]);
    let mut client = None;
    loop {
        tokio::select! {
            Ok((length, from)) = near.recv_from(&mut outbound) => {
                client = Some(from);
                let _ = far.send_to(&outbound[..length], server).await;
            }
            Ok((length, _)) = far.recv_from(&mut inbound) => {
                if let Some(client) = client {
                    let _ = near.send_to(&inbound[..length], client).await;
                }
            }
            Some(()) = rebind.recv() => far = outside().await.unwrap(),
        }
    }
}

/// The port of the client changes under way; the server follows it.
#[test]
fn a_nat_that_rebinds_is_followed() {
    run(async {
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = Endpoint::bind(Config::server(local(0), PORT)).unwrap();
        let client = Endpoint::bind(Config::client(local(0))).unwrap();
        let near = UdpSocket::bind(local(0)).await.unwrap();
        let entrance = near.local_addr().unwrap();
        let (rebind, told) = tokio::sync::mpsc::channel(1);
        tokio::spawn(nat(near, server.local_addr(), told));
        let (ours, theirs) = tokio::join!(client.connect((entrance, PORT)), server.accept());
        let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
        for _ in 0..3 {
            let payload = Payload { streams: 16, ..BRIEF };
            let both = async {
                tokio::join!(send_all(&ours, payload), receive_all(&theirs, payload));
                tokio::join!(send_all(&theirs, payload), receive_all(&ours, payload));
            };
            tokio::time::timeout(LIMIT / 3, both).await.expect("it goes on over the new port");
            rebind.send(()).await.unwrap();
        }
        assert_eq!(server.stats().bad_cookies + theirs.stats().wrong_tag, 0);
    });
}
