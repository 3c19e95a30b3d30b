//! Endpoints that talk over real sockets on the loopback interface.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::net::UdpSocket;
use tresse::{
    AddressChange, AddressError, AddressOutcome, Association, Bytes, CloseReason, Closed, Config,
    ConnectError, Direction, Endpoint, Event, NotOpened, ObservedPacket, Observer, Peer,
    PeerFilter, Ppid, Profile, ReconfigurationError, ReconfigurationOutcome, ResetDirection,
    SendError, SendOptions, StreamId,
};

const PORT: u16 = 5001;

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn server() -> Endpoint {
    Endpoint::bind(Config::server(loopback(), PORT)).unwrap()
}

/// A profile that gives up within a fraction of a second.
fn impatient() -> Arc<Profile> {
    let toml = "
        rto = { initial_ms = 20, min_ms = 20, max_ms = 40 }
        limits = { association_max_retrans = 3, max_init_retransmits = 3, path_max_retrans = 2 }
    ";
    Arc::new(Profile::standard().with_overrides(toml).unwrap())
}

/// What the settings say of it and the peer contradict each other.
#[tokio::test]
async fn another_encapsulation_than_that_of_the_peer_is_refused() {
    let (server, client) = (server(), Endpoint::bind(Config::client(loopback())).unwrap());
    let port = server.local_addr().port();
    let peer = || Peer::from((server.local_addr(), PORT));
    let settings =
        |encapsulation| tresse::AssociationConfig { encapsulation, ..Default::default() };
    let other = client.connect_with(peer(), settings(Some(port ^ 1))).await;
    let said =
        format!("unusable setting: encapsulation = {}, but the peer has UDP port {port}", port ^ 1);
    let Err(ConnectError::NotOpened(other @ NotOpened::Config(_))) = other else {
        panic!("{other:?}");
    };
    assert!(other.to_string().starts_with(&said), "{other}");
    let same = soon("connecting", client.connect_with(peer(), settings(Some(port)))).await;
    assert!(same.is_ok(), "{same:?}");
}

/// The UDP port of the endpoint's settings is that of peers that have none of their own.
#[tokio::test]
async fn the_encapsulation_of_the_settings_is_that_of_peers_without_a_udp_port() {
    let server = server();
    let (address, port) = (server.local_addr(), server.local_addr().port());
    let endpoint = |encapsulation| {
        let mut config = Config::client(loopback());
        config.sctp.association.encapsulation = Some(encapsulation);
        Endpoint::bind(config).unwrap()
    };
    let somewhere = Peer::multihomed([address.ip()], PORT);
    let there = soon("connecting", endpoint(port).connect(somewhere.clone())).await.unwrap();
    assert_eq!(there.peer(), somewhere.on_udp_port(port));
    let named = soon("connecting", endpoint(port ^ 1).connect((address, PORT))).await.unwrap();
    assert_eq!(named.peer().udp_port, Some(port));
}

async fn pair() -> (Association, Association) {
    let server = server();
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let (client, server) =
        tokio::join!(client.connect((server.local_addr(), PORT)), async { server.accept().await });
    (client.unwrap(), server.unwrap())
}

async fn within<T>(limit: Duration, what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| panic!("{what} took {limit:?}"))
}

async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    within(Duration::from_secs(20), what, work).await
}

fn numbered(n: u32, size: usize) -> Bytes {
    let mut bytes = vec![n as u8; size.max(4)];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    bytes.into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_keep_their_order_per_stream_both_ways() {
    let (a, b) = pair().await;
    let echo = tokio::spawn(async move {
        while let Ok(received) = b.recv().await {
            let m = received;
            let options =
                SendOptions { ppid: m.ppid, unordered: m.unordered, ..SendOptions::default() };
            b.send_with(m.stream, m.payload, options).await.unwrap();
        }
        b.close_reason()
    });
    const MESSAGES: u32 = 5_000;
    let sender = a.clone();
    let send = tokio::spawn(async move {
        for n in 0..MESSAGES {
            let options = SendOptions { ppid: Ppid(n), ..SendOptions::default() };
            let size = [10, 100, 1_000, 3_000][n as usize % 4];
            sender.send_with(StreamId((n % 7) as u16), numbered(n, size), options).await.unwrap();
        }
    });
    let mut next: Vec<u32> = (0..7).collect();
    for _ in 0..MESSAGES {
        let m = soon("the echo", a.recv()).await.unwrap();
        let expected = &mut next[usize::from(m.stream.0)];
        assert_eq!(
            (m.ppid, m.payload),
            (Ppid(*expected), numbered(*expected, [10, 100, 1_000, 3_000][*expected as usize % 4]))
        );
        *expected += 7;
    }
    send.await.unwrap();
    soon("the shutdown", a.shutdown()).await.unwrap();
    let closed = echo.await.unwrap().unwrap();
    assert!(closed.is_graceful(), "{closed}");
    assert_eq!(a.stats().messages_sent, u64::from(MESSAGES));
}

#[tokio::test]
async fn large_messages_arrive_whole() {
    // Larger than the send buffer and the receive buffer, whose limits are 1 MiB.
    let (a, b) = pair().await;
    let message: Bytes = (0..6 << 20).map(|n: u32| (n * 7 + n / 251) as u8).collect();
    let expected = message.clone();
    let sending = tokio::spawn(async move {
        for unordered in [false, true] {
            let options = SendOptions { unordered, ..SendOptions::default() };
            a.send_with(StreamId(1), message.clone(), options).await.unwrap();
            a.send_with(StreamId(2), "small", options).await.unwrap();
        }
        a.shutdown().await
    });
    let mut large = 0;
    for _ in 0..4 {
        let m = soon("a large message", b.recv()).await.unwrap();
        if m.stream == StreamId(1) {
            assert!(m.payload == expected, "the large message differs");
            large += 1;
        }
    }
    assert_eq!(large, 2);
    soon("the shutdown", sending).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_slow_reader_holds_the_sender_back() {
    let (a, b) = pair().await;
    let (mut accepted, mut refused) = (0, 0);
    // The buffers of both sides fill up, and stay full.
    while refused < 10 {
        match a.try_send(StreamId(0), numbered(accepted, 1_000)) {
            Ok(()) => (accepted, refused) = (accepted + 1, 0),
            Err(SendError::WouldBlock) => {
                refused += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(e) => panic!("{e}"),
        }
    }
    let (sending, receiving) = (a.stats(), b.stats());
    assert!(sending.send_buffered > 900_000, "{sending:?}");
    assert!(receiving.receive_buffered > 900_000, "{receiving:?}");
    assert!((1_900..2_600).contains(&accepted), "{accepted}");

    let waiting = a.clone();
    let last = tokio::spawn(async move { waiting.send(StreamId(0), "last").await });
    for n in 0..accepted {
        assert_eq!(soon("a message", b.recv()).await.unwrap().payload, numbered(n, 1_000));
    }
    assert_eq!(soon("the last one", b.recv()).await.unwrap().payload, "last");
    last.await.unwrap().unwrap();
}

/// Passes datagrams between the first that writes to `near` and the server at `server`.
async fn relay(near: Arc<UdpSocket>, server: SocketAddr) {
    let far = UdpSocket::bind(loopback()).await.unwrap();
    let (mut inbound, mut outbound) = ([0; 65_535], [0; 65_535]);
    let mut client = None;
    loop {
        tokio::select! {
            Ok((length, from)) = near.recv_from(&mut outbound) => {
                client = Some(from);
                far.send_to(&outbound[..length], server).await.unwrap();
            }
            Ok((length, _)) = far.recv_from(&mut inbound) => {
                near.send_to(&inbound[..length], client.unwrap()).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_dead_peer_is_noticed_in_bounded_time() {
    let server = server();
    // Kept when nothing passes any more: otherwise ICMP would tell that nobody uses the port.
    let near = Arc::new(UdpSocket::bind(loopback()).await.unwrap());
    let relay = tokio::spawn(relay(Arc::clone(&near), server.local_addr()));
    let mut config = Config::client(loopback());
    config.sctp.association.profile = impatient();
    let client = Endpoint::bind(config).unwrap();
    let a = soon("connecting", client.connect((near.local_addr().unwrap(), PORT))).await.unwrap();
    relay.abort();
    assert!(relay.await.unwrap_err().is_cancelled());

    for n in 0..10 {
        a.send(StreamId(0), numbered(n, 100)).await.unwrap();
    }
    let closed = within(Duration::from_secs(3), "noticing", a.closed()).await;
    assert_eq!(closed, Closed::Association(CloseReason::Unreachable));
    assert!(closed.to_string().contains("Association.Max.Retrans"));
    assert!(a.recv().await.is_err());
    assert_eq!(a.take_unacknowledged().len(), 10);
    assert!(a.stats().timeouts > 0, "the figures outlive the association");
    let error = a.send(StreamId(0), "x").await.unwrap_err();
    assert_eq!(error, SendError::Closed(closed));
}

#[tokio::test]
async fn nobody_there() {
    let silent = std::net::UdpSocket::bind(loopback()).unwrap();
    let mut config = Config::client(loopback());
    config.sctp.association.profile = impatient();
    let client = Endpoint::bind(config).unwrap();
    let address = silent.local_addr().unwrap();
    let error = within(Duration::from_secs(3), "giving up", client.connect((address, PORT))).await;
    let setup_failed = Closed::Association(CloseReason::SetupFailed);
    assert_eq!(error.unwrap_err(), ConnectError::Closed(setup_failed));
    client.wait_idle().await;
}

/// Nobody has the port: its host says so (RFC 6951 §5.5), which no timer has to find out.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_closed_port_is_named_at_once() {
    let address = {
        // No other test binds this address, so nobody takes the port meanwhile.
        let gone = std::net::UdpSocket::bind("127.77.0.1:0").unwrap();
        gone.local_addr().unwrap()
    };
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let error = soon("the refusal", client.connect((address, PORT))).await;
    let no_sctp = Closed::Association(CloseReason::NoSctp);
    assert_eq!(error.unwrap_err(), ConnectError::Closed(no_sctp));
}

#[tokio::test]
async fn an_endpoint_that_does_not_accept_refuses() {
    let deaf = Endpoint::bind(Config::client(loopback())).unwrap();
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let error = soon("the refusal", client.connect((deaf.local_addr(), deaf.sctp_port()))).await;
    assert!(
        matches!(
            error,
            Err(ConnectError::Closed(Closed::Association(CloseReason::PeerAborted { .. })))
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_cancelled_connect_leaves_nothing() {
    let silent = std::net::UdpSocket::bind(loopback()).unwrap();
    let (client, driver) = Endpoint::open(Config::client(loopback())).unwrap();
    let driver = tokio::spawn(driver);
    let connecting = client.connect((silent.local_addr().unwrap(), PORT));
    assert!(tokio::time::timeout(Duration::from_millis(50), connecting).await.is_err());
    soon("idleness", client.wait_idle()).await;
    drop(client);
    soon("the driver's end", driver).await.unwrap().unwrap();
}

/// What can never be is said at once.
#[tokio::test]
async fn a_peer_of_the_other_family_and_a_setting_out_of_range_are_named() {
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let peer: SocketAddr = "[::1]:9899".parse().unwrap();
    let error = soon("the answer", client.connect((peer, PORT))).await.unwrap_err();
    assert_eq!(error, ConnectError::OtherFamily { address: peer.ip() });
    let said = "::1 cannot be reached: the endpoint is not bound to an IPv6 address";
    assert_eq!(error.to_string(), said);

    // A group would be out of reach first, where a host has no route.
    let nobody: SocketAddr = "0.0.0.0:9899".parse().unwrap();
    let error = soon("the answer", client.connect((nobody, PORT))).await.unwrap_err();
    assert_eq!(error, ConnectError::NotOpened(NotOpened::NotUnicast(nobody.ip())));

    let mut config = Config::server(loopback(), PORT);
    config.sctp.association.mtu = 10;
    let error = Endpoint::bind(config).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "unusable setting: mtu is 10, not in 512 to 65535");
}

#[tokio::test]
async fn an_abort_tells_why() {
    let (a, b) = pair().await;
    b.abort("enough of this");
    assert_eq!(soon("our end", b.closed()).await, Closed::Association(CloseReason::Aborted));
    let closed = soon("the peer's end", a.closed()).await;
    assert!(closed.to_string().ends_with("(enough of this)"), "{closed}");
    assert!(matches!(a.next_event().await, Some(Event::Closed(_))));
    assert_eq!(a.next_event().await, None);
}

//= RFC 9260 9-1
#[tokio::test]
async fn a_closed_endpoint_takes_and_opens_no_association_and_keeps_those_it_has() {
    let server = server();
    let address = (server.local_addr(), PORT);
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let (ours, theirs) = tokio::join!(client.connect(address), server.accept());
    let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
    let waiting = tokio::spawn({
        let server = server.clone();
        async move { server.accept().await.is_err() }
    });
    tokio::task::yield_now().await;
    server.close();
    client.close();
    assert!(soon("whoever waits", waiting).await.unwrap());
    assert!(soon("accept", server.accept()).await.is_err());
    let refused = soon("connect", client.connect((server.local_addr(), PORT + 1))).await;
    assert!(matches!(refused, Err(ConnectError::EndpointClosed)));
    let other = Endpoint::bind(Config::client(loopback())).unwrap();
    match soon("a stranger", other.connect(address)).await {
        Ok(association) => assert!(
            soon("the end", association.closed()).await.to_string().contains("nobody accepts")
        ),
        Err(error) => assert!(matches!(error, ConnectError::Closed(_)), "{error}"),
    }
    ours.send(StreamId(0), numbered(7, 4)).await.unwrap();
    assert_eq!(soon("a message", theirs.recv()).await.unwrap().payload, numbered(7, 4));
    soon("shutdown", ours.shutdown()).await.unwrap();
    soon("idleness", server.wait_idle()).await;
}

#[tokio::test]
async fn dropping_the_last_handle_still_delivers() {
    let (a, b) = pair().await;
    for n in 0..500 {
        a.send(StreamId(0), numbered(n, 1_000)).await.unwrap();
    }
    drop(a);
    for n in 0..500 {
        assert_eq!(soon("a message", b.recv()).await.unwrap().payload, numbered(n, 1_000));
    }
    assert!(soon("the end", b.recv()).await.is_err());
    assert!(b.close_reason().unwrap().is_graceful());
}

#[tokio::test]
async fn what_arrives_for_a_dropped_handle_does_not_block_the_shutdown() {
    let (a, b) = pair().await;
    let flood = tokio::spawn(async move {
        while b.send(StreamId(0), numbered(1, 50_000)).await.is_ok() {}
        b.closed().await
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(a);
    assert!(soon("the shutdown", flood).await.unwrap().is_graceful());
}

#[tokio::test]
async fn many_associations_share_one_endpoint() {
    const CLIENTS: u16 = 100;
    let server = server();
    let address = server.local_addr();
    let serving = tokio::spawn(async move {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..CLIENTS {
            let b = server.accept().await.unwrap();
            tasks.spawn(async move {
                let mut bytes = 0;
                while let Ok(received) = b.recv().await {
                    bytes += received.payload.len();
                }
                assert!(b.close_reason().unwrap().is_graceful());
                bytes
            });
        }
        tasks.join_all().await.into_iter().sum::<usize>()
    });
    let mut clients = tokio::task::JoinSet::new();
    for n in 0..CLIENTS {
        clients.spawn(async move {
            let mut config = Config::client(loopback());
            // As behind one NAT, some have chosen the same SCTP port.
            config.sctp.local_port = 10_000 + n / 4;
            let client = Endpoint::bind(config).unwrap();
            let a = client.connect((address, PORT)).await.unwrap();
            for _ in 0..20 {
                a.send(StreamId(n % 16), numbered(1, 2_000)).await.unwrap();
            }
            a.shutdown().await.unwrap();
        });
    }
    soon("all clients", clients.join_all()).await;
    assert_eq!(soon("the server", serving).await.unwrap(), usize::from(CLIENTS) * 20 * 2_000);
}

/// Its IPv6 form means the same host.
#[tokio::test]
async fn an_ipv4_peer_may_be_written_as_ipv6() {
    let server = Endpoint::bind(Config::server(loopback(), PORT)).unwrap();
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let peer = format!("[::ffff:127.0.0.1]:{}", server.local_addr().port());
    let peer: SocketAddr = peer.parse().unwrap();
    let association = soon("the association", client.connect((peer, PORT))).await.unwrap();
    assert_eq!(association.peer().addresses, [loopback().ip()]);
}

/// The end is told by the driver, which has not run since.
#[tokio::test]
async fn who_sends_while_the_association_ends_is_told_how_it_ended() {
    let server = Endpoint::bind(Config::server(loopback(), PORT)).unwrap();
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let peer = (server.local_addr(), PORT);
    let association = soon("the association", client.connect(peer)).await.unwrap();
    association.abort("enough");
    assert_eq!(association.try_send(0, "late"), Err(SendError::WouldBlock));
    let error = soon("the answer", association.send(0, "late")).await.unwrap_err();
    let Some(closed) = association.close_reason() else { panic!("it has not ended") };
    assert_eq!(error, SendError::Closed(closed));
}

#[tokio::test]
async fn a_full_backlog_refuses() {
    let mut config = Config::server(loopback(), PORT);
    config.backlog = 1;
    let server = Endpoint::bind(config).unwrap();
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let first = client.connect((server.local_addr(), PORT)).await.unwrap();
    let other = Endpoint::bind(Config::client(loopback())).unwrap();
    let refused = async {
        let second = other.connect((server.local_addr(), PORT)).await?;
        Err::<(), _>(ConnectError::Closed(second.closed().await))
    };
    assert!(matches!(
        soon("the refusal", refused).await,
        Err(ConnectError::Closed(Closed::Association(CloseReason::PeerAborted { .. })))
    ));
    assert!(first.close_reason().is_none());
    assert!(server.accept().await.is_ok());
}

#[tokio::test]
async fn a_dropped_receive_loses_no_message() {
    let (a, b) = pair().await;
    let send = tokio::spawn(async move {
        for n in 0..300 {
            a.send(StreamId(0), numbered(n, 500)).await.unwrap();
            if n % 50 == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        a.shutdown().await
    });
    let mut expected = 0;
    loop {
        tokio::select! {
            biased;
            () = tokio::time::sleep(Duration::from_micros(300)) => {}
            received = b.recv() => {
                let Ok(received) = received else { break };
                assert_eq!(received.payload, numbered(expected, 500));
                expected += 1;
            }
        }
    }
    assert_eq!(expected, 300);
    send.await.unwrap().unwrap();
}

#[tokio::test]
async fn wrong_messages_are_refused_at_once() {
    let (a, _b) = pair().await;
    let refusal = async |stream, size| {
        let message = vec![1; size];
        a.send(stream, message).await.unwrap_err()
    };
    assert!(matches!(refusal(0, 0).await, SendError::Empty));
    assert!(matches!(refusal(a.outbound_streams(), 1).await, SendError::NoStream { .. }));
    assert!(matches!(refusal(0, (16 << 20) + 1).await, SendError::TooLarge { .. }));
    let shutdown = a.clone();
    let ending = tokio::spawn(async move { shutdown.shutdown().await });
    soon("the end", a.closed()).await;
    ending.await.unwrap().unwrap();
}

#[tokio::test]
async fn ipv6() {
    let v6: SocketAddr = "[::1]:0".parse().unwrap();
    let Ok(server) = Endpoint::bind(Config::server(v6, PORT)) else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no IPv6 loopback address on this host (sysctl net.ipv6.conf.all.disable_ipv6=0)"
        );
        return;
    };
    let client = Endpoint::bind(Config::client(v6)).unwrap();
    let a = soon("connecting", client.connect((server.local_addr(), PORT))).await.unwrap();
    a.send(StreamId(0), "six").await.unwrap();
    let b = server.accept().await.unwrap();
    assert_eq!(soon("a message", b.recv()).await.unwrap().payload, "six");
}

#[tokio::test]
async fn the_driver_ends_with_the_last_association() {
    let (server, driver) = Endpoint::open(Config::server(loopback(), PORT)).unwrap();
    let driver = tokio::spawn(driver);
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let a = client.connect((server.local_addr(), PORT)).await.unwrap();
    let b = server.accept().await.unwrap();
    drop(server);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!driver.is_finished());
    a.send(StreamId(0), "still here").await.unwrap();
    assert_eq!(soon("a message", b.recv()).await.unwrap().payload, "still here");
    drop(b);
    assert!(soon("the end", a.closed()).await.is_graceful());
    soon("the driver's end", driver).await.unwrap().unwrap();
}

#[tokio::test]
async fn observers_see_every_packet_and_decision() {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<(u64, u64, u64)>>);
    impl Observer for Log {
        fn packet(&mut self, packet: &ObservedPacket<'_>) {
            let mut log = self.0.lock().unwrap();
            assert!(packet.local.ip().is_loopback() && packet.remote.ip().is_loopback());
            match packet.direction {
                Direction::In => log.0 += 1,
                Direction::Out => log.1 += 1,
            }
        }
        fn trace(&mut self, _: tresse::AssociationId, _: tresse::Time, _: &tresse::TraceEvent) {
            self.0.lock().unwrap().2 += 1;
        }
    }
    let log = Log::default();
    let server = server();
    let mut config = Config::client(loopback());
    config.sctp.association.trace = true;
    config.observer = Some(Box::new(log.clone()));
    let client = Endpoint::bind(config).unwrap();
    let a = client.connect((server.local_addr(), PORT)).await.unwrap();
    a.send(StreamId(0), "hello").await.unwrap();
    a.shutdown().await.unwrap();
    let stats = client.carrier_stats();
    let (received, sent, decisions) = *log.0.lock().unwrap();
    assert_eq!((received, sent), (stats.datagrams_received, stats.datagrams_sent));
    assert!(received >= 4 && sent >= 4 && decisions > 0, "{received} {sent} {decisions}");
}

/// An association that has ended before anybody took it keeps no driver.
#[tokio::test]
async fn the_driver_ends_if_nobody_took_what_has_ended() {
    let (server, driver) = Endpoint::open(Config::server(loopback(), PORT)).unwrap();
    let driver = tokio::spawn(driver);
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let ours = client.connect((server.local_addr(), PORT)).await.unwrap();
    ours.abort("never mind");
    while !server.monitor().metrics(1).associations.is_empty()
        || server.stats().associations_begun == 0
    {
        tokio::task::yield_now().await;
    }
    drop(server);
    soon("the driver's end", driver).await.unwrap().unwrap();
}

/// `shutdown` has told the peer that its messages were delivered.
#[tokio::test]
async fn messages_are_read_if_the_end_comes_right_behind_the_handshake() {
    let (server, client) = (server(), Endpoint::bind(Config::client(loopback())).unwrap());
    let mut connecting = std::pin::pin!(client.connect((server.local_addr(), PORT)));
    let is_pending =
        std::future::poll_fn(|cx| Poll::Ready(connecting.as_mut().poll(cx).is_pending()));
    assert!(is_pending.await);
    let theirs = soon("the call", server.accept()).await.unwrap();
    theirs.send(0, "it is noon").await.unwrap();
    soon("the end", theirs.shutdown()).await.unwrap();
    // It looks only once all of that has come.
    soon("the end here", client.wait_idle()).await;
    let ours = soon("connecting", connecting).await.unwrap();
    assert_eq!(soon("a message", ours.recv()).await.unwrap().payload, "it is noon");
    assert!(soon("the end", ours.recv()).await.unwrap_err().is_graceful());
}

/// Who calls is known before the association is taken; refusing it, or dropping it, ends it.
#[tokio::test]
async fn incoming_associations_are_taken_or_refused() {
    let (server, client) = (server(), Endpoint::bind(Config::client(loopback())).unwrap());
    let call = || client.connect((server.local_addr(), PORT));
    let (ours, incoming) = tokio::join!(call(), server.incoming());
    let incoming = incoming.expect("the endpoint is open");
    let peer = incoming.peer();
    assert_eq!(peer.addresses, [client.local_addr().ip()]);
    let ports = (Some(client.local_addr().port()), client.sctp_port());
    assert_eq!((peer.udp_port, peer.sctp_port), ports);
    incoming.refuse("not today");
    let closed = soon("the end", ours.unwrap().closed()).await;
    assert!(closed.to_string().ends_with("(not today)"), "{closed}");

    let (ours, incoming) = tokio::join!(call(), server.incoming());
    drop(incoming);
    let closed = soon("the end", ours.unwrap().closed()).await;
    assert!(closed.to_string().contains("nobody took"), "{closed}");

    // Its peer has ended it before it is looked at.
    let (ours, incoming) = tokio::join!(call(), server.incoming());
    let incoming = incoming.expect("the endpoint is open");
    ours.unwrap().abort("never mind");
    soon("the end", server.wait_idle()).await;
    assert_eq!(incoming.peer(), peer);
    let theirs = incoming.accept();
    assert!(theirs.close_reason().is_some());
    assert_eq!(theirs.metrics().info.remote_port, client.sctp_port());

    let (ours, incoming) = tokio::join!(call(), server.incoming());
    let theirs = incoming.expect("the endpoint is open").accept();
    ours.unwrap().send(0, "hello").await.unwrap();
    assert_eq!(soon("a message", theirs.recv()).await.unwrap().payload, "hello");
}

/// Whom the filter turns away is answered as if nobody listened, and nothing is kept of him.
#[tokio::test]
async fn a_filter_turns_peers_away() {
    let mut config = Config::server(loopback(), PORT);
    let caller = |sctp_port| {
        let mut config = Config::client(loopback());
        config.sctp.local_port = sctp_port;
        Endpoint::bind(config).unwrap()
    };
    let (welcome, stranger) = (caller(40_001), caller(40_002));
    config.sctp.peers = PeerFilter::new(|_, sctp_port| sctp_port == 40_001);
    let server = Endpoint::bind(config).unwrap();
    let refused = soon("the refusal", stranger.connect((server.local_addr(), PORT))).await;
    assert!(matches!(refused, Err(ConnectError::Closed(_))), "{refused:?}");
    assert_eq!(server.stats().refused, 1);
    assert_eq!(server.stats().associations_begun, 0);
    soon("connecting", welcome.connect((server.local_addr(), PORT))).await.unwrap();
}

#[tokio::test]
async fn halves_send_and_receive_in_two_tasks() {
    let (a, b) = pair().await;
    let (sender, mut receiver) = a.split();
    let echo = tokio::spawn(async move {
        while let Ok(received) = b.recv().await {
            b.send(received.stream, received.payload).await.unwrap();
        }
    });
    let sending = tokio::spawn(async move {
        for n in 0..200u32 {
            sender.send(1, n.to_be_bytes().to_vec()).await.unwrap();
        }
        sender
    });
    for n in 0..200u32 {
        let received = soon("an echo", receiver.recv()).await.unwrap();
        assert_eq!(received.payload, n.to_be_bytes().as_slice());
    }
    let sender = sending.await.unwrap();
    soon("the end", sender.shutdown()).await.unwrap();
    echo.await.unwrap();
}

/// RFC 8831 §6.7: a channel is closed by a reset of its outgoing stream, and its stream used again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_are_reset_and_added() {
    let (a, b) = pair().await;
    let performed = ReconfigurationOutcome::Performed;
    for round in 0..20u32 {
        for n in 0..50 {
            a.send(3, numbered(50 * round + n, 100)).await.unwrap();
        }
        a.reset_streams(ResetDirection::Outgoing, &[StreamId(3)]).unwrap();
        a.send(3, numbered(u32::MAX, 4)).await.unwrap();
        for n in 0..50 {
            let message = soon("a message", b.recv()).await.unwrap();
            assert_eq!(
                (message.ssn.0, message.payload),
                (n as u16 + u16::from(round > 0), numbered(50 * round + n, 100))
            );
        }
        let told = |direction| Event::StreamsReset {
            direction,
            streams: vec![StreamId(3)],
            outcome: performed,
        };
        assert_eq!(soon("the event", b.next_event()).await, Some(told(ResetDirection::Incoming)));
        assert_eq!(soon("the event", a.next_event()).await, Some(told(ResetDirection::Outgoing)));
        let message = soon("the first of the next ones", b.recv()).await.unwrap();
        assert_eq!((message.ssn.0, message.payload), (0, numbered(u32::MAX, 4)));
    }
    let (streams, inbound) = (a.outbound_streams(), a.inbound_streams());
    a.add_streams(2, 1).unwrap();
    assert_eq!(a.add_streams(1, 0), Err(ReconfigurationError::InProgress));
    // The peer has its own new stream only once it hears that we have it, too.
    while (a.outbound_streams(), a.inbound_streams()) != (streams + 2, inbound + 1) {
        let event = soon("more streams", a.next_event()).await;
        assert!(matches!(event, Some(Event::StreamsAdded { outcome, .. }) if outcome == performed));
    }
    while b.outbound_streams() != inbound + 1 {
        let event = soon("more streams of the peer", b.next_event()).await;
        assert!(matches!(event, Some(Event::StreamsAdded { outcome, .. }) if outcome == performed));
    }
    a.send(streams + 1, "new").await.unwrap();
    assert_eq!(soon("the message", b.recv()).await.unwrap().stream, StreamId(streams + 1));
    a.shutdown().await.unwrap();
}

/// Bound to a wildcard, with changes of addresses (RFC 5061).
fn mobile(mut config: Config) -> Config {
    let extensions = &mut config.sctp.association.extensions;
    (extensions.authentication, extensions.address_reconfiguration) = (true, true);
    config
}

/// The next event of that kind; those of paths come between.
async fn answer(association: &Association) -> (AddressChange, IpAddr, AddressOutcome) {
    loop {
        let event = soon("an answer", association.next_event()).await.expect("it is open");
        if let Event::AddressChanged { change, address, outcome } = event {
            return (change, address, outcome);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_come_and_go_while_data_flows() {
    let any: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let server = Endpoint::bind(mobile(Config::server(any, PORT))).unwrap();
    let client = Endpoint::bind(mobile(Config::client(any))).unwrap();
    let to = SocketAddr::new([127, 0, 0, 1].into(), server.local_addr().port());
    let (a, b) = tokio::join!(client.connect((to, PORT)), async { server.accept().await });
    let (a, b) = (a.unwrap(), b.unwrap());
    const MESSAGES: u32 = 3_000;
    let sending = tokio::spawn({
        let b = b.clone();
        async move {
            for n in 0..MESSAGES {
                b.send(0, numbered(n, 1000)).await.unwrap();
            }
        }
    });
    let receiving = tokio::spawn({
        let a = a.clone();
        async move {
            for n in 0..MESSAGES {
                let message = soon("a message", a.recv()).await.unwrap();
                assert_eq!(message.payload, numbered(n, 1000));
            }
        }
    });
    let (first, second) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
    let done = AddressOutcome::Done;
    let remotes = || b.path_stats().iter().map(|path| path.remote).collect::<Vec<_>>();
    assert_eq!(a.remove_address(first), Err(AddressError::Last));
    a.add_address(second).unwrap();
    assert_eq!(a.add_address(second), Err(AddressError::Known { address: second }));
    assert_eq!(answer(&a).await, (AddressChange::Add, second, done));
    assert_eq!((a.local_addresses(), remotes()), (vec![first, second], vec![first, second]));
    a.set_peer_primary(second).unwrap();
    assert_eq!(answer(&a).await, (AddressChange::SetPrimary, second, done));
    a.remove_address(first).unwrap();
    assert_eq!(answer(&a).await, (AddressChange::Delete, first, done));
    assert_eq!((a.local_addresses(), remotes()), (vec![second], vec![second]));
    sending.await.unwrap();
    receiving.await.unwrap();
    let mut told = Vec::new();
    while told.len() < 2 {
        match soon("the peer's event", b.next_event()).await.expect("it is open") {
            Event::PeerAddressAdded(_, address) => told.push((true, address)),
            Event::PeerAddressRemoved(_, address) => told.push((false, address)),
            _ => {}
        }
    }
    assert_eq!(told, [(true, second), (false, first)]);
    soon("the end", a.shutdown()).await.unwrap();
}

/// The peer would be told of an address from which nothing ever comes.
#[tokio::test]
async fn only_addresses_of_the_endpoint_are_added() {
    let server = Endpoint::bind(mobile(Config::server(loopback(), PORT))).unwrap();
    for (local, own) in [("127.0.0.3:0", false), ("0.0.0.0:0", true)] {
        let client = Endpoint::bind(mobile(Config::client(local.parse().unwrap()))).unwrap();
        let (a, _b) = tokio::join!(client.connect((server.local_addr(), PORT)), async {
            server.accept().await
        });
        let a = a.unwrap();
        let another = IpAddr::from([127, 0, 0, 9]);
        let unusable = |address| Err(AddressError::Unusable { address });
        assert_eq!(a.add_address(another), if own { Ok(()) } else { unusable(another) });
        // TEST-NET-1: of no host.
        let strange = IpAddr::from([192, 0, 2, 9]);
        assert_eq!(a.add_address(strange), unusable(strange));
    }
}

#[tokio::test]
async fn addresses_stay_where_the_peer_does_not_change_them() {
    let (a, _b) = pair().await;
    assert_eq!(a.add_address([127, 0, 0, 2].into()), Err(AddressError::NotSupported));
}
