//! Messages that are written in several calls (SCTP_EXPLICIT_EOR, RFC 6458 §8.1.26).

use super::*;
use tresse_socket_protocol::abi::sinfo;

const EXPLICIT_EOR: (i32, i32) = (SCTP, 1027);

/// Whether a piece of this many bytes may be written.
fn check(client: &Client, header: TxHeader, len: usize) -> Result<i64, i32> {
    client.call(Op::CheckSend, len as i64, 0, &header.encode()).map(|(streams, _)| streams)
}

/// Writes a piece of several frames.
fn write(client: &Client, header: TxHeader, len: usize) {
    let conn = long::begin_with(client, header, len).unwrap();
    for piece in vec![7; len].chunks(MAX_PIECE) {
        send(&conn, piece, SendFlags::NOSIGNAL).unwrap();
    }
    assert_eq!(read_reply(&receive(&conn)).unwrap().0, 0);
}

/// A one-to-many socket with the option, and how messages to each of `count` peers begin.
fn one_to(path: &Path, count: u16) -> (Client, Vec<(Client, TxHeader)>) {
    let client = Client::socket(path, SOCK_SEQPACKET);
    client.set(EXPLICIT_EOR, &1_u32.to_ne_bytes()).unwrap();
    let connected = |n| {
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind(&format!("127.0.0.1:{}", 7000 + n)).unwrap();
        listener.call(Op::Listen, 5, 0, &[]).unwrap();
        let to = encode_addresses(&[([127, 0, 0, 1], 7000 + n).into()]);
        let (association, _) = client.call(Op::Connect, 1, 0, &to).unwrap();
        let (header, _) = listener.receive();
        let server = Client::open(path, Op::Accept, header.association.into(), 0);
        set_socket_timeout(&server.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
        (server, TxHeader { association: association as u32, ..TxHeader::default() })
    };
    let peers = (0..count).map(connected).collect();
    (client, peers)
}

/// A socket that was accepted, or peeled off, has the option of the other one, and the engine is asked for each piece.
#[test]
fn a_socket_that_inherits_the_option_asks_for_each_piece() {
    with_engine(|path| {
        let (client, mut peers) = one_to(path, 1);
        let (server, to) = peers.remove(0);
        client.send(TxHeader { stream: 3, ..to }, b"half");
        client.call(Op::PeelOff, to.association.into(), 0, &[]).unwrap();
        let fd = dial(path);
        let id = fstat(&fd).unwrap().st_ino;
        let (op, a) = (Op::Accept, to.association.into());
        let request = Request { op, socket: id, a, b: 0, payload: Vec::new() };
        assert_eq!(exchange(&fd, &request).unwrap().0, 0, "no streams without asking");
        let peeled = Client { path: path.to_owned(), fd, id };
        assert_eq!(check(&peeled, TxHeader { stream: 4, ..to }, 1), Err(errno::EINVAL));
        let last = TxHeader { stream: 3, sinfo_flags: sinfo::EOR, ..to };
        assert_eq!(check(&peeled, last, 4), Ok(0));
        peeled.send(last, b" way");
        assert_eq!(server.receive().1, b"half way");
    });
}

/// First pieces count, too, and those that end a message are taken.
#[test]
fn what_has_no_end_is_bounded() {
    const LONG: usize = 15 << 20;
    with_engine(|path| {
        let (client, peers) = one_to(path, 5);
        for (_, to) in &peers[..4] {
            write(&client, *to, LONG);
        }
        // 60 of 64 MiB.
        let (ref server, fifth) = peers[4];
        assert_eq!(check(&client, fifth, 5 << 20), Err(errno::ENOBUFS));
        assert_eq!(check(&client, peers[0].1, 2 << 20), Err(errno::EMSGSIZE));
        let ends = |header| TxHeader { sinfo_flags: sinfo::EOR, ..header };
        assert_eq!(check(&client, ends(fifth), 5 << 20), Ok(0));
        assert_eq!(check(&client, fifth, 3 << 20), Ok(0));
        write(&client, fifth, 4 << 20);
        assert_eq!(check(&client, peers[0].1, 1), Err(errno::ENOBUFS));
        assert_eq!(check(&client, ends(peers[0].1), 1), Ok(0));
        client.send(ends(fifth), b"");
        let mut read = 0;
        while read < 4 << 20 {
            read += server.receive().1.len();
        }
        assert_eq!(check(&client, peers[0].1, 1), Ok(0));
        // With a socket of its own a message is counted there.
        client.call(Op::PeelOff, peers[0].1.association.into(), 0, &[]).unwrap();
        let _peeled = Client::open(path, Op::Accept, peers[0].1.association.into(), 0);
        assert_eq!(check(&client, fifth, 14 << 20), Ok(0));
        // Other programs need not ask.
        let (_, second) = peers[1];
        for _ in 0..20 {
            client.send(second, &[7; 100_000]);
        }
        assert_eq!(check(&client, ends(second), 100_000), Err(errno::EMSGSIZE));
    });
}

/// Nobody is there to end a message of a socket that was closed.
#[test]
fn what_has_no_end_goes_with_its_socket() {
    let watch = |engine: &Engine| {
        let mut closed = engine.associations.values().filter(|one| one.socket.is_none());
        assert!(closed.all(|one| one.unended.is_none()));
    };
    with_watched_engine(watch, |path| {
        let (client, peers) = one_to(path, 1);
        // What the peer does not read keeps the association from its end.
        let (_server, to) = &peers[0];
        for n in 0..100 {
            let end = TxHeader { sinfo_flags: sinfo::EOR, ..*to };
            if check(&client, end, 60_000).is_ok() {
                client.send(end, &vec![n; 60_000]);
            }
        }
        let _ = check(&client, *to, 9).map(|_| client.send(*to, b"no ending"));
        drop(client);
        std::thread::sleep(Duration::from_millis(100));
    });
}

/// The pieces before it are not read while a message waits for room, so nobody knows what may follow.
#[test]
fn a_piece_waits_for_those_before_it() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        client.set((SCTP, 1027), &1_u32.to_ne_bytes()).unwrap();
        client.set((1, 7), &20_000_u32.to_ne_bytes()).unwrap();
        let ends = TxHeader { sinfo_flags: sinfo::EOR, ..TxHeader::default() };
        let (mut sent, mut last) = (0, std::time::Instant::now());
        while last.elapsed() < Duration::from_millis(300) {
            match check(&client, ends, 60_000) {
                Ok(_) => {
                    client.send(ends, &[7; 60_000]);
                    (sent, last) = (sent + 60_000, std::time::Instant::now());
                }
                Err(error) => {
                    assert_eq!(error, errno::EAGAIN);
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
        for (header, len) in [(TxHeader::default(), 1), (ends, 1), (ends, 0)] {
            assert_eq!(check(&client, header, len), Err(errno::EAGAIN));
        }
        assert_eq!(long::begin_with(&client, ends, 1).map(|_| ()), Err(errno::EAGAIN));
        set_socket_timeout(&server.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
        let mut read = 0;
        while read < sent {
            read += server.receive().1.len();
        }
        let began = std::time::Instant::now();
        while check(&client, ends, 1) == Err(errno::EAGAIN) {
            assert!(began.elapsed() < Duration::from_secs(20), "there is room again");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(check(&client, ends, 0), Err(errno::EINVAL));
        client.send(ends, b"and so on");
        assert_eq!(server.receive().1, b"and so on");
    });
}
