//! Messages that one frame cannot hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rustix::net::socketpair;
use tokio::task::LocalSet;

use super::super::serve::serve_connection;
use super::*;

/// Begins a message of several frames: its connection.
fn begin(client: &Client, len: usize) -> Result<OwnedFd, i32> {
    begin_with(client, TxHeader::default(), len)
}

pub(super) fn begin_with(client: &Client, header: TxHeader, len: usize) -> Result<OwnedFd, i32> {
    let conn = dial(&client.path);
    let payload = TxHeader { kind: kind::DATA, ..header }.encode().to_vec();
    let request = Request { op: Op::Long, socket: client.id, a: len as i64, b: 0, payload };
    exchange(&conn, &request).map(|_| conn)
}

#[test]
fn half_a_message_is_nothing() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        let given_up = begin(&client, 500_000).unwrap();
        send(&given_up, &[7; 100_000], SendFlags::NOSIGNAL).unwrap();
        drop(given_up);
        client.send(TxHeader::default(), b"whole");
        assert_eq!(server.receive().1, b"whole");
        assert_eq!(begin(&client, 17 << 20).map(|_| ()), Err(errno::EMSGSIZE));
        // Nobody sends it any more.
        let late = begin(&client, 3).unwrap();
        drop(client);
        assert_eq!(server.receive().0.kind, kind::END);
        send(&late, b"abc", SendFlags::NOSIGNAL).unwrap();
        assert_eq!(read_reply(&receive(&late)).unwrap().0, errno::EBADF);
    });
}

/// Who has begun need not wait for the peer, whatever other threads write meanwhile; and of that no more is
/// taken than has room, but for one message.
#[test]
fn what_has_begun_is_taken_and_nothing_else_while_the_peer_does_not_read() {
    const LONG: usize = 1_000_000;
    let stalled = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&stalled);
    let watch = move |engine: &Engine| {
        let most = engine.sockets.values().map(|socket| socket.stalled.len()).max();
        seen.fetch_max(most.unwrap_or(0), Ordering::Relaxed);
    };
    with_watched_engine(watch, move |path| {
        let (_listener, client, server) = pair(path);
        let conn = begin(&client, LONG).unwrap();
        let (mut sent, mut before) = (write_until_full(&client, 0), 0);
        while sent > before {
            std::thread::sleep(Duration::from_millis(100));
            before = sent;
            sent = write_until_full(&client, sent);
        }
        assert_eq!(stalled.load(Ordering::Relaxed), 1);
        assert_eq!(begin(&client, LONG).map(|_| ()), Err(errno::EAGAIN));
        set_socket_timeout(&conn, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
        for piece in [7; LONG].chunks(100_000) {
            send(&conn, piece, SendFlags::NOSIGNAL).unwrap();
        }
        assert_eq!(read_reply(&receive(&conn)).unwrap().0, 0);
        // Nobody reads until that was seen.
        let began = Instant::now();
        while stalled.load(Ordering::Relaxed) < 2 {
            assert!(began.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(5));
        }
        set_socket_timeout(&server.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
        let (mut short, mut long) = (0_u32, 0);
        while (short, long) != (sent, LONG) {
            let (_, body) = server.receive();
            if body[0] == 7 {
                assert_eq!(body, vec![7; body.len()]);
                long += body.len();
            } else {
                assert_eq!(body[..4], short.to_be_bytes());
                short += 1;
            }
        }
        assert_eq!(stalled.load(Ordering::Relaxed), 2);
    });
}

/// Nobody is served while the engine has no other descriptor.
#[test]
fn what_may_last_is_refused_on_the_last_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let server = bind_to_itself(&folder.path().join("engine"), &Profile::tresse());
        for (op, a) in [(Op::Long, 1_000_000), (Op::Connect, 1)] {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let kind = SocketType::SEQPACKET;
            let (here, there) = socketpair(AddressFamily::UNIX, kind, flags, None).unwrap();
            let request = Request { op, socket: 1, a, b: 0, payload: vec![0; HEADER] };
            send(&here, &request.encode(), SendFlags::NOSIGNAL).unwrap();
            serve_connection(std::rc::Rc::clone(&server.engine), there, true).await;
            assert_eq!(read_reply(&receive(&here)).unwrap().0, errno::ENOBUFS);
        }
    });
}

/// As in the kernel; and who can never send is not asked to wait for room.
#[test]
fn a_one_to_one_socket_has_no_others_to_send_to() {
    with_engine(|path| {
        let (listener, client, server) = pair(path);
        let to_all = TxHeader { kind: kind::DATA, sinfo_flags: 0x40, ..TxHeader::default() };
        let begin_for_all = |client: &Client| begin_with(client, to_all, 3);
        let conn = begin_for_all(&client).unwrap();
        send(&conn, b"abc", SendFlags::NOSIGNAL).unwrap();
        assert_eq!(read_reply(&receive(&conn)).unwrap().0, 0);
        assert_eq!(server.receive().1, b"abc");
        client.send(to_all, b"def");
        assert_eq!(server.receive().1, b"def");
        let alone = Client::socket(path, SOCK_STREAM);
        for socket in [&alone, &listener] {
            assert_eq!(begin_for_all(socket).map(|_| ()), Err(errno::EPIPE));
        }
        client.call(Op::Shutdown, 1, 0, &[]).unwrap();
        assert_eq!(begin_for_all(&client).map(|_| ()), Err(errno::EPIPE));
    });
}

/// The last of them waits for room when the program ends, and nothing else has happened on its socket since.
#[test]
fn who_ends_behind_long_messages_loses_none() {
    const LONG: usize = 1_000_000;
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        client.set((1, 7), &20_000_u32.to_ne_bytes()).unwrap();
        set_socket_timeout(&server.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
        let mut sent = 0;
        while let Ok(conn) = begin(&client, LONG) {
            for piece in [7; LONG].chunks(100_000) {
                send(&conn, piece, SendFlags::NOSIGNAL).unwrap();
            }
            assert_eq!(read_reply(&receive(&conn)).unwrap().0, 0);
            sent += LONG;
        }
        assert!(sent > LONG);
        drop(client);
        let mut read = 0;
        while read < sent {
            let (header, body) = server.receive();
            assert_eq!(header.kind, kind::DATA, "after {read} of {sent} bytes");
            read += body.len();
        }
        assert_eq!(server.receive().0.kind, kind::END);
        assert_eq!(server.call(Op::TakeError, 0, 0, &[]), Ok((0, vec![1])));
    });
}
