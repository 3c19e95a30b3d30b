//! What `poll` says of a descriptor once its association has ended, and that its own end is noticed then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;
use tresse_socket_protocol::abi::{SOL_SOCKET, Struct};

const ALL: PollFlags = PollFlags::IN.union(PollFlags::OUT).union(PollFlags::RDHUP);
const READ_SHUT: PollFlags = ALL;
const BROKEN: PollFlags = ALL.union(PollFlags::HUP);

fn shown(socket: &Client) -> PollFlags {
    let mut fds = [PollFd::new(&socket.fd, ALL)];
    poll(&mut fds, Some(&Timespec::default())).unwrap();
    fds[0].revents()
}

/// Waits until `poll` says that.
fn shows(socket: &Client, expected: PollFlags) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while shown(socket) != expected {
        assert!(Instant::now() < deadline, "{:?} instead of {expected:?}", shown(socket));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Aborts when it is closed.
fn abort(socket: Client) {
    socket.set((SOL_SOCKET, 13), &[1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    drop(socket);
}

fn shut(socket: &Client, how: i64) {
    socket.call(Op::Shutdown, how, 0, &[]).unwrap();
}

#[test]
fn an_end_is_shown_as_the_peer_made_it() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        shows(&client, PollFlags::OUT);
        shut(&server, 1);
        shows(&client, READ_SHUT);
        // Whoever shut down first has no peer that shut down.
        shows(&server, PollFlags::IN | PollFlags::OUT);
    });
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        abort(server);
        shows(&client, BROKEN);
        // The library asks, and says POLLERR until the error is taken.
        let kernels = || client.call(Op::Shown, 0, 0, &[]).unwrap().0;
        assert_eq!(kernels(), PollFlags::ERR.bits().into());
        client.call(Op::TakeError, 0, 0, &[]).unwrap();
        assert_eq!(kernels(), 0);
    });
    with_engine(|path| {
        let (_listener, client, _server) = pair(path);
        shut(&client, 0);
        shows(&client, READ_SHUT);
        shut(&client, 1);
        shows(&client, BROKEN);
        let both = PollFlags::RDHUP.union(PollFlags::HUP);
        assert_eq!(client.call(Op::Shown, 0, 0, &[]).unwrap().0, both.bits().into());
    });
}

/// The marks of ends come behind what is there, and those who write past one are refused.
#[test]
fn what_the_peer_sent_before_its_end_is_read_first() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        server.send(TxHeader::default(), b"last words");
        drop(server);
        shows(&client, READ_SHUT);
        let message = TxHeader::default();
        let asked = client.call(Op::CheckSend, 0, 0, &message.encode());
        assert_eq!(asked.map(|_| ()), Err(errno::EPIPE));
        assert_eq!(client.receive().1, b"last words");
        assert_eq!(client.receive().0.kind, kind::END);
    });
}

/// An attempt to connect that failed can be followed by another one, and its descriptor says that it is
/// writable only until the program knows.
#[test]
fn a_failed_attempt_leaves_a_new_socket() {
    with_engine(|path| {
        let client = Client::socket(path, SOCK_STREAM);
        let filler = TxHeader { kind: kind::FILLER, ..TxHeader::default() }.encode();
        let fill = || {
            let frame = [&filler[..], &[0; 200_000]].concat();
            send(&client.fd, &frame, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).unwrap();
        };
        fill();
        shows(&client, PollFlags::empty());
        for _ in 0..2 {
            let nowhere = encode_addresses(&["127.0.0.1:7009".parse().unwrap()]);
            client.call(Op::Connect, 0, 0, &nowhere).unwrap();
            shows(&client, PollFlags::IN | PollFlags::OUT);
            assert_eq!(client.receive().0.kind, kind::FAILED);
            let error = i64::from(errno::ECONNREFUSED);
            assert_eq!(client.call(Op::TakeError, 0, 0, &[]), Ok((error, vec![3])));
            fill();
            shows(&client, PollFlags::empty());
        }
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind("127.0.0.1:7009").unwrap();
        listener.call(Op::Listen, 5, 0, &[]).unwrap();
        let there = encode_addresses(&["127.0.0.1:7009".parse().unwrap()]);
        client.call(Op::Connect, 0, 0, &there).unwrap();
        shows(&client, PollFlags::OUT);
    });
}

/// Whoever accepts it then hears why.
#[test]
fn an_association_that_is_aborted_before_it_is_accepted_is_reset() {
    with_engine(|path| {
        let (listener, client, waiting) = waiting(path);
        abort(client);
        // The engine has heard of the ABORT before it answers this.
        std::thread::sleep(Duration::from_millis(200));
        let server = Client::open(path, Op::Accept, waiting.association.into(), 0);
        shows(&server, BROKEN);
        assert_eq!(server.receive().0.kind, kind::END);
        let error = i64::from(errno::ECONNRESET);
        assert_eq!(server.call(Op::TakeError, 0, 0, &[]).unwrap().0, error);
        drop(listener);
    });
}

/// With both directions shut, the kernel says of the program's end what it says of one that is closed.
#[test]
fn whoever_closes_after_the_end_is_forgotten() {
    let sockets = Arc::new(AtomicUsize::new(usize::MAX));
    let watched = Arc::clone(&sockets);
    let watch = move |engine: &Engine| watched.store(engine.sockets.len(), Ordering::Relaxed);
    with_watched_engine(watch, move |path| {
        let left = |expected: usize| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while sockets.load(Ordering::Relaxed) != expected {
                assert!(
                    Instant::now() < deadline,
                    "{} instead of {expected}",
                    sockets.load(Ordering::Relaxed)
                );
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        for reads_the_mark in [false, true] {
            let (listener, client, server) = pair(path);
            abort(server);
            shows(&client, BROKEN);
            if reads_the_mark {
                assert_eq!(client.receive().0.kind, kind::END);
            }
            left(2);
            drop(client);
            left(1);
            drop(listener);
            left(0);
        }
        let (listener, client, server) = pair(path);
        shut(&client, 0);
        // What was written before is sent, although the descriptor looks closed meanwhile.
        for n in 0..200_u8 {
            client.send(TxHeader::default(), &[n; 1000]);
        }
        shut(&client, 1);
        shows(&client, BROKEN);
        drop(client);
        for n in 0..200_u8 {
            assert_eq!(server.receive().1, [n; 1000]);
        }
        assert_eq!(server.receive().0.kind, kind::END);
        drop((listener, server));
        left(0);
    });
}

/// A reset of streams is told once all before it was read, which may be when the peer has shut down already.
#[test]
fn messages_behind_a_reset_are_read_before_the_end() {
    with_engine(|path| {
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind("127.0.0.1:7000").unwrap();
        let client = Client::socket(path, SOCK_STREAM);
        for socket in [&listener, &client] {
            // SCTP_RECONFIG_SUPPORTED, and SCTP_ENABLE_STREAM_RESET: of streams.
            socket.set((SCTP, 117), &Struct::default().u32(0).u32(1).0).unwrap();
            socket.set((SCTP, 118), &Struct::default().u32(0).u32(1).0).unwrap();
        }
        listener.call(Op::Listen, 5, 0, &[]).unwrap();
        let there = encode_addresses(&["127.0.0.1:7000".parse().unwrap()]);
        client.call(Op::Connect, 0, 0, &there).unwrap();
        let (header, _) = listener.receive();
        let server = Client::open(path, Op::Accept, header.association.into(), 0);
        // The association stays in SHUTDOWN-RECEIVED: what it has sent is not read.
        write_until_stuck(&server);
        let write = |n: u32| {
            let mut message = vec![0; 1000];
            message[..4].copy_from_slice(&n.to_be_bytes());
            client.send(TxHeader::default(), &message);
        };
        // More than the program's end of its connection holds.
        (0..400).for_each(write);
        // SCTP_RESET_STREAMS: SCTP_STREAM_RESET_OUTGOING, all.
        client.set((SCTP, 119), &Struct::default().u32(0).u16(2).u16(0).0).unwrap();
        (400..410).for_each(write);
        shut(&client, 1);
        // The engine has heard of the SHUTDOWN before anything is read.
        std::thread::sleep(Duration::from_millis(300));
        for n in 0..410 {
            let (header, message) = server.receive();
            assert_eq!(header.kind, kind::DATA, "before message {n}");
            assert_eq!(message[..4], u32::to_be_bytes(n));
        }
        assert_eq!(server.receive().0.kind, kind::END);
    });
}
