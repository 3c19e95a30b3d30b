//! Against SCTP in the Linux kernel, which runs as a guest on this host (user-mode Linux), directly
//! on IP and over UDP encapsulation.
#![cfg(target_os = "linux")]

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tresse::{
    Association, AssociationConfig, Carrier, CloseReason, Closed, Config, Endpoint, PathState,
    Peer, Profile,
};
use tresse_peers::traffic::{
    BRIEF, BULK, LARGE, LIMIT, PEER_TIMEOUT_SECONDS, SMALL, all_of, exchange, interrupt,
    receive_all, run, send_all,
};
use tresse_peers::{Guest, Payload, PeerReport, Unavailable, drop_packets, skipped};

/// An SCTP port for whoever is the server: another one each time, for the kernel keeps that of an
/// association which a failed test left behind.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(5001);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
/// UDP port of both ends.
const UDP: u16 = 9899;

/// How packets travel in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Raw,
    Udp,
}

/// The one guest of this process, for one test at a time; `None`, and a word on stderr, when it
/// cannot be had. The calling thread is in its network afterwards, and nothing of an earlier test is
/// left there.
fn guest() -> Option<MutexGuard<'static, Option<Result<Guest, Unavailable>>>> {
    static GUEST: Mutex<Option<Result<Guest, Unavailable>>> = Mutex::new(None);
    let mut guest = GUEST.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    match guest.get_or_insert_with(|| Guest::boot(folder, 2, Duration::from_secs(1500))) {
        Ok(guest) => guest.reset(),
        Err(why) => {
            skipped(why);
            return None;
        }
    }
    Some(guest)
}

/// The guest that [`guest`] gave.
fn booted<'a>(guest: &'a MutexGuard<'_, Option<Result<Guest, Unavailable>>>) -> &'a Guest {
    guest.as_ref().and_then(|guest| guest.as_ref().ok()).expect("it was booted")
}

fn ours(interface: u8) -> IpAddr {
    IpAddr::from([10, 99, interface, 1])
}

fn theirs(interface: u8) -> IpAddr {
    IpAddr::from([10, 99, interface, 2])
}

fn carrier(over: Over, addresses: &[IpAddr]) -> Carrier {
    match over {
        Over::Raw => Carrier::RawIp { local: addresses.to_vec() },
        Over::Udp => {
            Carrier::Udp { local: addresses.iter().map(|a| SocketAddr::new(*a, UDP)).collect() }
        }
    }
}

fn settings(payload: Payload) -> AssociationConfig {
    AssociationConfig { outbound_streams: payload.streams.max(16), ..AssociationConfig::default() }
}

fn client(over: Over, addresses: &[IpAddr]) -> Endpoint {
    Endpoint::bind(Config::client_over(carrier(over, addresses))).unwrap()
}

fn server(over: Over, port: u16, payload: Payload) -> Endpoint {
    let mut config = Config::server_over(carrier(over, &[ours(0)]), port);
    config.sctp.association = settings(payload);
    Endpoint::bind(config).unwrap()
}

/// Command line of the peer.
fn arguments(role: &str, payload: Payload, options: &str) -> String {
    let Payload { messages, size, streams, unordered, .. } = payload;
    let unordered = if unordered { "--unordered" } else { "" };
    format!(
        "{role} --messages {messages} --size {size} --streams {streams} {unordered} \
         --timeout {PEER_TIMEOUT_SECONDS} {options}"
    )
}

/// Switches UDP encapsulation in the guest on, if the test is about that.
fn prepare(guest: &Guest, over: Over) {
    if over == Over::Udp {
        guest.run(&format!("sysctl -qw net.sctp.udp_port={UDP} net.sctp.encap_port={UDP}"));
    }
}

/// Drops packets that come in and go out on this side, if they also fit the rules.
fn drop_sctp(incoming: &str, outgoing: &str) {
    for (hook, rule) in [("input", incoming), ("output", outgoing)] {
        drop_packets(hook, &format!("ip protocol 132 {rule}"));
    }
}

/// Tresse connects to the kernel, exchanges `payload` and shuts down.
fn tresse_as_client(over: Over, payload: Payload) {
    tresse_as_client_through(over, payload, None::<fn()>);
}

/// The same, with something done to the network before it begins.
fn tresse_as_client_through(over: Over, payload: Payload, disturb: Option<impl FnOnce()>) {
    let Some(lock) = guest() else { return };
    let guest = booted(&lock);
    prepare(guest, over);
    let port = port();
    let options = format!("--address 10.99.0.2 --port {port}");
    let mut peer = guest.start(&arguments("server", payload, &options));
    peer.wait_for("READY", LIMIT);
    let lossy = disturb.is_some();
    if let Some(disturb) = disturb {
        disturb();
    }
    run(async {
        let endpoint = client(over, &[ours(0)]);
        let association = endpoint
            .connect_with(Peer::multihomed([theirs(0)], port), settings(payload))
            .await
            .unwrap();
        exchange(&association, payload).await;
        association.shutdown().await.unwrap();
        let stats = association.stats();
        assert!(!lossy || stats.retransmissions() > 0);
        assert_eq!((stats.wrong_tag, stats.malformed_chunks), (0, 0));
    });
    assert_eq!(peer.finish(LIMIT), all_of(payload, "shutdown"));
}

/// The kernel connects to Tresse, exchanges `payload` and shuts down.
fn tresse_as_server(over: Over, payload: Payload) {
    let Some(lock) = guest() else { return };
    let guest = booted(&lock);
    prepare(guest, over);
    let mut peer = None;
    let port = port();
    run(async {
        let endpoint = server(over, port, payload);
        let options = format!("--address 10.99.0.2 --peer 10.99.0.1 --peer-port {port}");
        peer = Some(guest.start(&arguments("client", payload, &options)));
        let association = endpoint.accept().await.unwrap();
        exchange(&association, payload).await;
        assert!(association.recv().await.is_err());
        assert_eq!(association.closed().await, Closed::Association(CloseReason::Shutdown));
    });
    assert_eq!(peer.unwrap().finish(LIMIT), all_of(payload, "shutdown"));
}

#[test]
fn client_moves_ten_megabytes_each_way() {
    tresse_as_client(Over::Raw, BULK);
}

#[test]
fn server_moves_ten_megabytes_each_way() {
    tresse_as_server(Over::Raw, BULK);
}

#[test]
fn client_moves_ten_megabytes_each_way_over_udp() {
    tresse_as_client(Over::Udp, BULK);
}

#[test]
fn server_moves_ten_megabytes_each_way_over_udp() {
    tresse_as_server(Over::Udp, BULK);
}

#[test]
fn small_messages_on_many_streams() {
    tresse_as_client(Over::Raw, SMALL);
    tresse_as_server(Over::Raw, SMALL);
}

#[test]
fn messages_of_64_kib() {
    tresse_as_client(Over::Raw, LARGE);
    tresse_as_server(Over::Udp, LARGE);
}

#[test]
fn unordered_messages_of_several_fragments() {
    let payload =
        Payload { messages: 1_000, size: 4_000, streams: 3, unordered: true, ..Payload::PLAIN };
    tresse_as_client(Over::Raw, payload);
}

/// 5 % of the packets of each direction are lost.
#[test]
fn loss_of_five_percent_is_recovered_from() {
    let payload = Payload { messages: 2_000, ..BULK };
    let disturb = || drop_sctp("numgen random mod 20 == 0", "numgen random mod 20 == 0");
    tresse_as_client_through(Over::Raw, payload, Some(disturb));
}

#[test]
fn the_kernel_sees_our_abort() {
    let Some(lock) = guest() else { return };
    let guest = booted(&lock);
    let endless = Payload { messages: 1_000_000, ..BRIEF };
    let port = port();
    let options = format!("--address 10.99.0.2 --port {port} --duplex --expect-abort");
    let mut peer = guest.start(&arguments("server", endless, &options));
    peer.wait_for("READY", LIMIT);
    run(async {
        let endpoint = client(Over::Raw, &[ours(0)]);
        let association = endpoint
            .connect_with(Peer::multihomed([theirs(0)], port), settings(endless))
            .await
            .unwrap();
        interrupt(&association).await;
    });
    let report = peer.finish(LIMIT);
    assert_eq!((report.end.as_str(), report.received), ("aborted", 0));
}

#[test]
fn we_see_the_abort_of_the_kernel() {
    let Some(lock) = guest() else { return };
    let guest = booted(&lock);
    let port = port();
    let options = format!("--address 10.99.0.2 --port {port} --send 0 --close abort");
    let mut peer = guest.start(&arguments("server", BRIEF, &options));
    peer.wait_for("READY", LIMIT);
    run(async {
        let endpoint = client(Over::Raw, &[ours(0)]);
        let association = endpoint
            .connect_with(Peer::multihomed([theirs(0)], port), settings(BRIEF))
            .await
            .unwrap();
        send_all(&association, BRIEF).await;
        let closed = association.closed().await;
        // RFC 9260 §3.3.10.12: User-Initiated Abort.
        let Closed::Association(CloseReason::PeerAborted { cause: 12, .. }) = &closed else {
            panic!("{closed}");
        };
    });
    assert_eq!(peer.finish(LIMIT), PeerReport { sent: 0, ..all_of(BRIEF, "aborted") });
}

/// RFC 9260 §8.4: an INIT that nobody waits for is answered by ABORT, by either side.
#[test]
fn who_does_not_listen_refuses() {
    let Some(lock) = guest() else { return };
    let guest = booted(&lock);
    run(async {
        let endpoint = client(Over::Raw, &[ours(0)]);
        let refused = endpoint
            .connect_with(Peer::multihomed([theirs(0)], 5999), settings(BRIEF))
            .await
            .unwrap_err();
        assert!(refused.to_string().contains("the peer refused"), "{refused}");
        let port = endpoint.sctp_port();
        let options = format!("--address 10.99.0.2 --peer 10.99.0.1 --peer-port {port}");
        let mut peer = guest.start(&arguments("client", BRIEF, &options));
        let said = tokio::task::spawn_blocking(move || peer.wait_for("FAIL", LIMIT)).await.unwrap();
        assert!(said.contains("refused"), "{said}");
    });
}

/// Quick to notice that a path has failed.
fn fast_failover(payload: Payload) -> AssociationConfig {
    let toml = "
        rto = { initial_ms = 200, min_ms = 100, max_ms = 500 }
        heartbeat = { interval_ms = 200 }
        limits = { path_max_retrans = 2 }
    ";
    let profile = Profile::tresse().with_overrides(toml).unwrap();
    AssociationConfig { profile: profile.into(), ..settings(payload) }
}

async fn confirmed(association: &Association, paths: usize) {
    while association.path_stats().iter().filter(|p| p.state == PathState::Active).count() < paths {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Two paths; the one in use goes down in the middle, in both directions.
#[test]
fn a_path_that_fails_loses_nothing() {
    let Some(lock) = guest() else { return };
    let guest = booted(&lock);
    let payload = Payload { messages: 4_000, ..BULK };
    // The kernel's own timers, for what it sends.
    guest.run(
        "cd /proc/sys/net/sctp && echo 100 >rto_min && echo 200 >rto_initial && \
         echo 500 >rto_max && echo 2 >path_max_retrans && echo 500 >hb_interval",
    );
    let port = port();
    let options = format!("--address 10.99.0.2,10.99.1.2 --port {port} --duplex");
    let mut peer = guest.start(&arguments("server", payload, &options));
    peer.wait_for("READY", LIMIT);
    run(async {
        let endpoint = client(Over::Raw, &[ours(0), ours(1)]);
        let association = endpoint
            .connect_with(Peer::multihomed([theirs(0)], port), fast_failover(payload))
            .await
            .unwrap();
        confirmed(&association, 2).await;
        let halfway = async {
            while association.stats().messages_received < payload.messages / 4 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop_sctp("iifname peer0", "oifname peer0");
        };
        let transfer = async {
            tokio::join!(send_all(&association, payload), receive_all(&association, payload));
        };
        tokio::join!(halfway, transfer);
        association.shutdown().await.unwrap();
        let paths = association.path_stats();
        assert_eq!(paths.len(), 2);
        assert!(paths[0].state != PathState::Active || paths[0].timeouts > 0, "{paths:?}");
    });
    assert_eq!(peer.finish(LIMIT), all_of(payload, "shutdown"));
}

/// Both ends are bound to every address that they have, and say nothing of them: the client knows one of
/// the server's, and each end finds both paths.
fn wildcards(over: Over, tresse_is_server: bool) {
    let Some(lock) = guest() else { return };
    let guest = booted(&lock);
    prepare(guest, over);
    let any = carrier(over, &[IpAddr::from([0, 0, 0, 0])]);
    let port = port();
    let mut peer = None;
    run(async {
        let (association, endpoint);
        if tresse_is_server {
            let mut config = Config::server_over(any, port);
            config.sctp.association = settings(BRIEF);
            endpoint = Endpoint::bind(config).unwrap();
            let options = format!("--address 0.0.0.0 --peer 10.99.0.1 --peer-port {port}");
            peer = Some(guest.start(&arguments("client", BRIEF, &options)));
            association = endpoint.accept().await.unwrap();
        } else {
            let options = format!("--address 0.0.0.0 --port {port}");
            let peer = peer.insert(guest.start(&arguments("server", BRIEF, &options)));
            peer.wait_for("READY", LIMIT);
            endpoint = Endpoint::bind(Config::client_over(any)).unwrap();
            let connected =
                endpoint.connect_with(Peer::multihomed([theirs(0)], port), settings(BRIEF)).await;
            association = connected.unwrap();
        }
        confirmed(&association, 2).await;
        exchange(&association, BRIEF).await;
        if tresse_is_server {
            assert!(association.recv().await.is_err());
            assert!(association.closed().await.is_graceful());
        } else {
            association.shutdown().await.unwrap();
        }
        let mut remote: Vec<IpAddr> = association.path_stats().iter().map(|p| p.remote).collect();
        remote.sort();
        assert_eq!(remote, [theirs(0), theirs(1)]);
    });
    assert_eq!(peer.expect("it was started").finish(LIMIT), all_of(BRIEF, "shutdown"));
}

#[test]
fn a_wildcard_client_has_every_path_to_the_kernel() {
    wildcards(Over::Raw, false);
    wildcards(Over::Udp, false);
}

#[test]
fn a_wildcard_server_has_every_path_to_the_kernel() {
    wildcards(Over::Raw, true);
    wildcards(Over::Udp, true);
}
