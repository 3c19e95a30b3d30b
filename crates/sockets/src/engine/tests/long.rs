//! Messages that one frame cannot hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Begins a message of several frames: its connection.
fn begin(client: &Client, len: usize) -> Result<OwnedFd, i32> {
    let conn = dial(&client.path);
    let payload = TxHeader { kind: kind::DATA, ..TxHeader::default() }.encode().to_vec();
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
