//! What becomes of associations whose program has gone.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;
use tresse::{Association, CloseReason, Closed, Config, Endpoint};

use super::*;

const PORT: u16 = 7100;

/// How long anything may take on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// An engine, and a peer that is no program of it.
struct Stage {
    folder: TempDir,
    server: Server,
    peer: Endpoint,
}

impl Stage {
    /// With a peer that takes this many bytes before they are read; in a runtime.
    fn new(profile: &Arc<Profile>, receive_buffer: u32) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::server("127.0.0.1:0".parse().unwrap(), PORT);
        config.sctp.association.receive_buffer = receive_buffer;
        let peer = Endpoint::bind(config).unwrap();
        let settings = Settings {
            carrier: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
            peer_udp_port: peer.local_addr().port(),
            profile: Arc::clone(profile),
            ..Settings::default()
        };
        let server = Server::bind(&folder.path().join("engine"), &settings).unwrap();
        Stage { folder, server, peer }
    }
}

/// A socket that has connected to the peer, and how its messages begin.
fn connected(path: &Path, style: i32) -> (Client, TxHeader) {
    let client = Client::socket(path, style);
    // SO_SNDBUF: there is soon no room any more.
    client.set((1, 7), &20_000_u32.to_ne_bytes()).unwrap();
    let to = encode_addresses(&[SocketAddr::from(([127, 0, 0, 1], PORT))]);
    let (association, _) = client.call(Op::Connect, 1, 0, &to).unwrap();
    let association = u32::try_from(association).unwrap();
    (client, TxHeader { association, flags: flag::DEFAULTS, ..TxHeader::default() })
}

/// A program's socket without room, and the connection of a message of which the program has written half.
struct Filled {
    client: Client,
    _half: OwnedFd,
}

/// When the engine is to end.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// Once the peer has seen what it wants to see.
    AfterPeer,
    /// Soon after the program.
    AfterProgram,
}

/// Has a program write to a peer until there is no room anywhere, so that a message waits for some, and then
/// leave; what the peer sees of that.
fn abandoned<T>(
    (style, profile, end): (i32, &str, End),
    leave: impl FnOnce(Filled) + Send + 'static,
    see: impl AsyncFnOnce(Association, u32) -> T,
) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let profile = Arc::new(Profile::tresse().with_overrides(profile).unwrap());
        let Stage { folder, server, peer } = Stage::new(&profile, 64 << 10);
        let waits = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&waits);
        let program = tokio::task::spawn_blocking(move || {
            let (client, header) = connected(&folder.path().join("engine"), style);
            let half = long::begin_with(&client, header, 500_000).unwrap();
            send(&half, &[7; 100_000], SendFlags::NOSIGNAL).unwrap();
            let (mut sent, mut before) = (0, 1);
            while sent > before || !waits.load(Ordering::Relaxed) {
                before = sent;
                std::thread::sleep(Duration::from_millis(100));
                sent = write_to_until_full(&client, header, sent);
            }
            leave(Filled { client, _half: half });
            sent
        });
        let engine = Rc::clone(&server.engine);
        let watch = async {
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                let held_up = engine.borrow().sockets.values().any(|socket| socket.is_held_up());
                seen.store(held_up, Ordering::Relaxed);
            }
        };
        let (left, gone) = tokio::sync::oneshot::channel();
        let (done, over) = tokio::sync::oneshot::channel::<()>();
        let stop = async {
            let _ = gone.await;
            if end == End::AfterPeer {
                let _ = over.await;
            }
            Stop { close: false, grace: Duration::from_millis(100) }
        };
        let peer_sees = async {
            let association = peer.accept().await.unwrap();
            let sent = program.await.unwrap();
            let _ = left.send(());
            let result = see(association, sent).await;
            let _ = done.send(());
            result
        };
        let played = async { tokio::join!(server.run(stop, std::future::pending()), peer_sees) };
        tokio::select! {
            played = tokio::time::timeout(LONG, played) => {
                let (ended, result) = played.expect("the peer hears of the end, and the engine ends");
                ended.unwrap();
                result
            }
            () = watch => unreachable!(),
        }
    })
}

async fn ends(association: Association, _: u32) -> Closed {
    association.closed().await
}

fn is_aborted(ended: &Closed) -> bool {
    matches!(ended, Closed::Association(CloseReason::PeerAborted { .. }))
}

const STYLES: [i32; 2] = [SOCK_STREAM, SOCK_SEQPACKET];

/// A program dies while a peer that reads nothing has closed its window. The peer answers every probe, so
/// nothing ends the association for as long as T5-shutdown-guard runs (five minutes); the engine does not
/// stay that long, and tells the peer.
#[test]
fn a_peer_that_reads_no_more_is_told_when_the_time_is_over() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let Stage { folder, server, peer } = Stage::new(&Profile::tresse(), 4096);
        let program = tokio::task::spawn_blocking(move || {
            let (client, header) = connected(&folder.path().join("engine"), SOCK_STREAM);
            for _ in 0..20 {
                client.send(header, &[7; 1000]);
            }
        });
        let stop = async {
            program.await.unwrap();
            Stop { close: false, grace: Duration::from_millis(100) }
        };
        let (ended, accepted) =
            tokio::join!(server.run(stop, std::future::pending()), peer.accept());
        ended.unwrap();
        let told = tokio::time::timeout(LONG, accepted.unwrap().closed()).await;
        let told = told.expect("the peer hears of the end");
        assert!(is_aborted(&told), "{told}");
    });
}

/// The same while a message waits for room in the send buffer, and others behind it in the connection.
#[test]
fn a_full_send_buffer_does_not_keep_the_engine() {
    for style in STYLES {
        let told = abandoned((style, "", End::AfterProgram), drop, ends);
        assert!(is_aborted(&told), "{told}");
    }
}

/// And if the engine stays, as other programs have sockets.
#[test]
fn a_full_send_buffer_does_not_outlive_its_program_for_ever() {
    let guard = "[rto]\nmax_ms = 1000\n[limits]\nshutdown_guard_rto_max = 1";
    let shut = |how| {
        move |left: Filled| {
            left.client.call(Op::Shutdown, how, 0, &[]).unwrap();
        }
    };
    let end = End::AfterPeer;
    for told in [
        abandoned((SOCK_STREAM, guard, end), drop, ends),
        abandoned((SOCK_SEQPACKET, guard, end), drop, ends),
        abandoned((SOCK_STREAM, guard, end), shut(1), ends),
        abandoned((SOCK_STREAM, guard, end), shut(2), ends),
    ] {
        assert!(is_aborted(&told), "{told}");
    }
}

/// SO_LINGER with 0 waits for nothing, neither for the guard nor for the peer.
#[test]
fn what_waits_for_room_is_thrown_away_if_the_program_says_so() {
    for style in STYLES {
        let leave = |left: Filled| {
            left.client.set((1, 13), &[1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        };
        let told = abandoned((style, "", End::AfterPeer), leave, ends);
        assert!(is_aborted(&told), "{told}");
    }
}

/// A message of several frames that the program wrote half of is none; all others reach a peer that reads
/// late, and whole.
#[test]
fn what_was_taken_and_waits_for_room_arrives_after_the_end_of_the_program() {
    let ways: [fn(&Client); 3] = [
        |_| {},
        |client| drop(client.call(Op::Shutdown, 1, 0, &[]).unwrap()),
        |client| drop(client.call(Op::Shutdown, 2, 0, &[]).unwrap()),
    ];
    for (style, way) in [
        (SOCK_SEQPACKET, ways[0]),
        (SOCK_STREAM, ways[0]),
        (SOCK_STREAM, ways[1]),
        (SOCK_STREAM, ways[2]),
    ] {
        let read = async |association: Association, sent: u32| {
            // The engine has no doubt seen the end of the program by then.
            tokio::time::sleep(Duration::from_millis(200)).await;
            for n in 0..sent {
                let message = association.recv().await.expect("nothing is lost");
                assert_eq!(
                    (message.payload.len(), &message.payload[..4]),
                    (10_004, &n.to_be_bytes()[..])
                );
            }
            assert!(association.recv().await.is_err());
            association.closed().await
        };
        let leave = move |left: Filled| way(&left.client);
        let ended = abandoned((style, "", End::AfterPeer), leave, read);
        assert!(ended.is_graceful(), "{ended}");
    }
}

/// As in Linux: whoever closes with data unread has lost it, and says so, whatever it has yet to send.
#[test]
fn data_unread_is_not_forgotten_over_data_unsent() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        server.send(TxHeader::default(), b"never read");
        recv(&client.fd, &mut [0; 1][..], RecvFlags::PEEK).unwrap();
        let (mut sent, mut before) = (write_until_full(&client, 0), 0);
        while sent > before {
            std::thread::sleep(Duration::from_millis(100));
            before = sent;
            sent = write_until_full(&client, sent);
        }
        drop(client);
        set_socket_timeout(&server.fd, Timeout::Recv, Some(LONG)).unwrap();
        while server.receive().0.kind == kind::DATA {}
        assert_eq!(server.call(Op::TakeError, 0, 0, &[]), Ok((errno::ECONNRESET.into(), vec![2])));
    });
}

/// RFC 9260 §10 and RFC 6951 §5.5: a host without SCTP says so by ICMP, which is handled like an ABORT.
#[test]
fn where_nobody_speaks_sctp_connections_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // A port that somebody had, and nobody has.
        let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let settings = Settings {
            carrier: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
            peer_udp_port: closed.port(),
            ..Settings::default()
        };
        let server = Server::bind(&path, &settings).unwrap();
        let program = tokio::task::spawn_blocking(move || {
            let client = Client::socket(&path, SOCK_STREAM);
            let to = encode_addresses(&[SocketAddr::from(([127, 0, 0, 1], PORT))]);
            client.call(Op::Connect, 1, 0, &to).map(|_| ())
        });
        let mut refused = Ok(());
        let stop = async {
            refused = program.await.unwrap();
            Stop { close: true, grace: Duration::ZERO }
        };
        server.run(stop, std::future::pending()).await.unwrap();
        assert_eq!(refused, Err(errno::ECONNREFUSED));
    });
}
