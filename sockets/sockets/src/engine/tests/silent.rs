//! Associations of one socket, one of whose peers does not read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::*;
use tresse_socket_protocol::abi::sinfo;

/// Bytes of a message.
const SIZE: usize = 1000;

/// A one-to-many socket with an association to each of two sockets: these, and how messages to them begin.
fn one_to_two(path: &Path) -> (Client, [(Client, TxHeader); 2]) {
    let client = Client::socket(path, SOCK_SEQPACKET);
    // SO_SNDBUF: there is soon no room any more.
    client.set((1, 7), &20_000_u32.to_ne_bytes()).unwrap();
    let peers = [7000, 7001].map(|port| {
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind(&format!("127.0.0.1:{port}")).unwrap();
        listener.set((1, 8), &100_000_u32.to_ne_bytes()).unwrap();
        listener.call(Op::Listen, 5, 0, &[]).unwrap();
        let to = encode_addresses(&[([127, 0, 0, 1], port).into()]);
        let (association, _) = client.call(Op::Connect, 1, 0, &to).unwrap();
        let association = association.try_into().unwrap();
        let (header, _) = listener.receive();
        let server = Client::open(path, Op::Accept, header.association.into(), 0);
        set_socket_timeout(&server.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
        (server, TxHeader { association, flags: flag::DEFAULTS, ..TxHeader::default() })
    });
    (client, peers)
}

fn check(client: &Client, header: TxHeader) -> Result<(), i32> {
    client.call(Op::CheckSend, SIZE as i64, 0, &header.encode()).map(|_| ())
}

/// Sends numbered messages for as long as it may, and until it has been refused for a while; how many.
fn send_until_refused(client: &Client, header: TxHeader) -> u32 {
    let (mut sent, mut last) = (0_u32, Instant::now());
    while last.elapsed() < Duration::from_millis(300) {
        match check(client, header) {
            Ok(()) => {
                let mut body = vec![0; SIZE];
                body[..4].copy_from_slice(&sent.to_be_bytes());
                client.send(header, &body);
                (sent, last) = (sent + 1, Instant::now());
                assert!(sent < 10_000, "nothing bounds what is taken");
            }
            Err(error) => {
                assert_eq!(error, errno::EAGAIN);
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
    sent
}

//= RFC 6458 3.3-3 3.3-4
/// RFC 6458 §3.3: "The application should at least be able to send messages to the non-stalled associations."
#[test]
fn a_peer_that_does_not_read_keeps_no_other_one_waiting() {
    with_engine(|path| {
        let (client, [(silent, to_silent), (other, to_other)]) = one_to_two(path);
        let sent = send_until_refused(&client, to_silent);
        for n in 0..500_u32 {
            check(&client, to_other).unwrap();
            client.send(to_other, &n.to_be_bytes());
            assert_eq!(other.receive().1, n.to_be_bytes());
        }
        assert_eq!(check(&client, to_silent), Err(errno::EAGAIN));
        for n in 0..sent {
            assert_eq!(silent.receive().1[..4], n.to_be_bytes());
        }
        let began = Instant::now();
        while check(&client, to_silent) == Err(errno::EAGAIN) {
            assert!(began.elapsed() < Duration::from_secs(20), "there is room again");
            std::thread::sleep(Duration::from_millis(5));
        }
        client.send(to_silent, b"and so on");
        assert_eq!(silent.receive().1, b"and so on");
    });
}

/// SCTP_ABORT waits for nobody, and what waited comes back.
#[test]
fn an_association_without_room_is_aborted_at_once() {
    with_engine(|path| {
        let (client, [(silent, to_silent), (other, to_other)]) = one_to_two(path);
        send_until_refused(&client, to_silent);
        let end = TxHeader { sinfo_flags: sinfo::ABORT, ..to_silent };
        client.call(Op::CheckSend, 4, 0, &end.encode()).unwrap();
        client.send(end, b"over");
        let began = Instant::now();
        while check(&client, to_silent) != Err(errno::EPIPE) {
            assert!(began.elapsed() < Duration::from_secs(20), "it ends");
            std::thread::sleep(Duration::from_millis(5));
        }
        while silent.receive().0.kind != kind::END {}
        check(&client, to_other).unwrap();
        client.send(to_other, b"still here");
        assert_eq!(other.receive().1, b"still here");
    });
}

/// Nothing of an over-full socket is read, and an abort waits for nobody all the same.
#[test]
fn an_overfull_association_is_aborted_at_once() {
    with_engine(|path| {
        let (client, [(_silent, to_silent), (other, to_other)]) = one_to_two(path);
        set_socket_timeout(&client.fd, Timeout::Send, Some(Duration::from_millis(300))).unwrap();
        let header = TxHeader { kind: kind::DATA, ..to_silent };
        let frame = [&header.encode()[..], &[7; 10 * SIZE]].concat();
        while send(&client.fd, &frame, SendFlags::NOSIGNAL).is_ok() {}
        assert_eq!(long::begin_with(&client, to_silent, 4).map(|_| ()), Err(errno::EAGAIN));
        let end = TxHeader { sinfo_flags: sinfo::ABORT, ..to_silent };
        let conn = long::begin_with(&client, end, 4).unwrap();
        send(&conn, b"over", SendFlags::NOSIGNAL).unwrap();
        assert_eq!(read_reply(&receive(&conn)).unwrap().0, 0);
        let began = Instant::now();
        while check(&client, to_silent) != Err(errno::EPIPE) {
            assert!(began.elapsed() < Duration::from_secs(20), "it ends");
            std::thread::sleep(Duration::from_millis(5));
        }
        check(&client, to_other).unwrap();
        client.send(to_other, b"still here");
        assert_eq!(other.receive().1, b"still here");
    });
}

/// SCTP_EOF without data needs no room, and comes once.
#[test]
fn an_association_without_room_ends_once() {
    with_engine(|path| {
        let (client, [(silent, to_silent), _]) = one_to_two(path);
        let sent = send_until_refused(&client, to_silent);
        let end = TxHeader { sinfo_flags: sinfo::EOF, ..to_silent };
        let ask = || client.call(Op::CheckSend, 0, 0, &end.encode()).map(|_| ());
        ask().unwrap();
        client.send(end, b"");
        assert_eq!(ask(), Err(errno::EPIPE));
        assert_eq!(check(&client, to_silent), Err(errno::EPIPE));
        for n in 0..sent {
            assert_eq!(silent.receive().1[..4], n.to_be_bytes());
        }
        assert_eq!(silent.receive().0.kind, kind::END);
    });
}

/// Who waits is answered when there is room, and holds up nobody meanwhile.
#[test]
fn room_is_told_to_who_waits_for_it() {
    with_engine(|path| {
        let (client, [(silent, to_silent), (other, to_other)]) = one_to_two(path);
        let sent = send_until_refused(&client, to_silent);
        let payload = to_silent.encode().to_vec();
        let (op, socket, a) = (Op::CheckSend, client.id, SIZE as i64);
        let request = Request { op, socket, a, b: 1, payload };
        let [interrupted, patient] = [(); 2].map(|()| {
            let conn = dial(path);
            send(&conn, &request.encode(), SendFlags::NOSIGNAL).unwrap();
            set_socket_timeout(&conn, Timeout::Recv, Some(Duration::from_millis(100))).unwrap();
            assert_eq!(recv(&conn, &mut [0; 100][..], RecvFlags::empty()), Err(Errno::AGAIN));
            conn
        });
        drop(interrupted);
        check(&client, to_other).unwrap();
        client.send(to_other, b"meanwhile");
        assert_eq!(other.receive().1, b"meanwhile");
        for n in 0..sent {
            assert_eq!(silent.receive().1[..4], n.to_be_bytes());
        }
        set_socket_timeout(&patient, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
        assert_eq!(read_reply(&receive(&patient)).unwrap().0, 0);
        client.send(to_silent, b"and so on");
        assert_eq!(silent.receive().1, b"and so on");
    });
}

/// A program that asks for nothing and writes to one that does not read is held up, so that memory is bounded.
#[test]
fn who_does_not_ask_is_held_up() {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let watch = move |engine: &Engine| {
        let waiting = engine.sockets.values().map(|socket| socket.stalled.len()).max();
        seen.fetch_max(waiting.unwrap_or(0), Ordering::Relaxed);
    };
    with_watched_engine(watch, move |path| {
        let (client, [(silent, to_silent), (other, to_other)]) = one_to_two(path);
        set_socket_timeout(&client.fd, Timeout::Send, Some(Duration::from_millis(300))).unwrap();
        let header = TxHeader { kind: kind::DATA, ..to_silent };
        let frame = [&header.encode()[..], &[7; 10 * SIZE]].concat();
        let mut sent = 0;
        while send(&client.fd, &frame, SendFlags::NOSIGNAL).is_ok() {
            sent += 1;
            assert!(sent < 10_000, "nothing bounds what is taken");
        }
        let waiting = most.load(Ordering::Relaxed);
        assert!((2..600).contains(&waiting), "{waiting} messages of 10 kB wait");
        for _ in 0..sent {
            assert_eq!(silent.receive().1.len(), 10 * SIZE);
        }
        client.send(to_other, b"still here");
        assert_eq!(other.receive().1, b"still here");
    });
}

/// Whether the descriptor becomes writable within this many milliseconds.
fn is_writable(client: &Client, timeout: i64) -> bool {
    let mut fds = [PollFd::new(&client.fd, PollFlags::OUT)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: timeout * 1_000_000 };
    poll(&mut fds, Some(&timeout)).unwrap() > 0
}

/// As in the kernel an only association without room keeps the descriptor from being writable; but not when there is another
/// one that could be sent to, also if nothing else happens.
#[test]
fn a_new_peer_can_be_sent_to() {
    with_engine(|path| {
        let server = Client::socket(path, SOCK_SEQPACKET);
        server.set((1, 7), &20_000_u32.to_ne_bytes()).unwrap();
        server.bind("127.0.0.1:7000").unwrap();
        server.call(Op::Listen, 5, 0, &[]).unwrap();
        let connect = || {
            let client = Client::socket(path, SOCK_STREAM);
            client.set((1, 8), &50_000_u32.to_ne_bytes()).unwrap();
            client
                .call(Op::Connect, 1, 0, &encode_addresses(&["127.0.0.1:7000".parse().unwrap()]))
                .unwrap();
            client
        };
        let _silent = {
            let silent = connect();
            silent.send(TxHeader::default(), b"here");
            silent
        };
        let (header, _) = server.receive();
        let to_silent = TxHeader { association: header.association, ..TxHeader::default() };
        send_until_refused(&server, to_silent);
        assert_eq!(check(&server, to_silent), Err(errno::EAGAIN));
        // As the client does then.
        let filler = TxHeader { kind: kind::FILLER, ..TxHeader::default() }.encode();
        let filler = [&filler[..], &[0; 100_000]].concat();
        while is_writable(&server, 0) {
            send(&server.fd, &filler, SendFlags::NOSIGNAL).unwrap();
        }
        assert!(!is_writable(&server, 300));
        let _other = connect();
        assert!(is_writable(&server, 999));
    });
}

/// They come one after the other, and wait behind what is there without keeping the socket from being read.
#[test]
fn long_messages_to_one_keep_no_other_one_waiting() {
    const LONG: usize = 8 << 20;
    with_engine(|path| {
        let (client, [(_silent, to_silent), (other, to_other)]) = one_to_two(path);
        let first = long::begin_with(&client, to_silent, LONG).unwrap();
        let second = || long::begin_with(&client, to_silent, LONG).map(|_| ());
        assert_eq!(second(), Err(errno::EAGAIN));
        send_until_refused(&client, to_silent);
        for piece in vec![7; LONG].chunks(MAX_PIECE) {
            send(&first, piece, SendFlags::NOSIGNAL).unwrap();
        }
        assert_eq!(read_reply(&receive(&first)).unwrap().0, 0);
        assert_eq!(second(), Err(errno::EAGAIN));
        check(&client, to_other).unwrap();
        client.send(to_other, b"still here");
        assert_eq!(other.receive().1, b"still here");
    });
}
