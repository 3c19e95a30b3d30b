//! Messages that are handed over in parts (RFC 6458 §8.1.20, §8.1.21, §6.1.7).

use tresse_socket_protocol::abi::{Fields, SOL_SOCKET};

use super::super::option_names::name;
use super::*;

/// More than the receiver has room for.
const LONG: usize = 300_000;

fn set(client: &Client, level: i32, option: i32, value: u32) {
    client.set((level, option), &value.to_ne_bytes()).unwrap();
}

/// A one-to-many socket with little room that listens, and does so at this level.
fn crowded(path: &Path, level: u32) -> Client {
    let server = Client::socket(path, SOCK_SEQPACKET);
    set(&server, SOL_SOCKET, name::SO_RCVBUF, 8192);
    set(&server, SCTP, name::FRAGMENT_INTERLEAVE, level);
    server.bind("127.0.0.1:7000").unwrap();
    server.call(Op::Listen, 5, 0, &[]).unwrap();
    set_socket_timeout(&server.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
    server
}

fn connected(path: &Path) -> Client {
    let client = Client::socket(path, SOCK_STREAM);
    let to = encode_addresses(&["127.0.0.1:7000".parse().unwrap()]);
    client.call(Op::Connect, 1, 0, &to).unwrap();
    client
}

/// Writes a long message.
fn write_long(client: &Client) {
    let conn = long::begin_with(client, TxHeader::default(), LONG).unwrap();
    for piece in [7; LONG].chunks(100_000) {
        send(&conn, piece, SendFlags::NOSIGNAL).unwrap();
    }
    assert_eq!(read_reply(&receive(&conn)).unwrap().0, 0);
}

#[test]
fn a_message_larger_than_the_buffer_comes_in_parts() {
    with_engine(|path| {
        let server = crowded(path, 1);
        let client = connected(path);
        write_long(&client);
        client.send(TxHeader::default(), b"next");
        let (mut len, mut later) = (0, 0);
        loop {
            let (header, body) = server.receive();
            assert_eq!((header.kind, header.ssn), (kind::DATA, 0));
            len += body.len();
            // What is here of a message is read in one go.
            later += usize::from(header.flags & flag::LATER != 0);
            if header.flags & flag::END != 0 {
                break;
            }
        }
        assert_eq!(len, LONG);
        assert!(later > 1, "{later} parts");
        let (header, body) = server.receive();
        assert_eq!(
            (&body[..], header.flags & (flag::END | flag::LATER)),
            (&b"next"[..], flag::END)
        );
    });
}

#[test]
fn at_level_0_nothing_else_comes_before_the_end() {
    for level in [0, 1] {
        with_engine(move |path| {
            let server = crowded(path, level);
            let wanted = [0u32.to_ne_bytes(), [5, 0x80, 1, 0]].concat();
            server.set((SCTP, name::EVENT), &wanted).unwrap();
            let (client, other) = (connected(path), connected(path));
            write_long(&client);
            let first = server.receive();
            assert_eq!(first.0.flags & flag::END, 0);
            let mut len = first.1.len();
            other.send(TxHeader::default(), b"other");
            other.call(Op::Shutdown, 1, 0, &[]).unwrap();
            let mut seen = Vec::new();
            while len < LONG || seen.len() < 2 {
                let (header, body) = server.receive();
                if header.association == first.0.association {
                    len += body.len();
                } else {
                    // Its message, and then the news of its end.
                    seen.push((header.kind, len == LONG));
                }
            }
            let kinds: Vec<u8> = seen.iter().map(|(kind, _)| *kind).collect();
            assert_eq!(kinds, [kind::DATA, kind::NOTIFICATION]);
            let last = level == 0;
            assert!(seen.iter().all(|(_, behind)| *behind == last), "level {level}: {seen:?}");
        });
    }
}

#[test]
fn the_end_of_an_association_is_told_where_the_rest_would_be() {
    with_engine(|path| {
        let server = crowded(path, 0);
        let both = [[6, 0x80, 1, 0], [1, 0x80, 1, 0]];
        let client = connected(path);
        for wanted in both {
            // Of SCTP_ALL_ASSOC.
            let wanted = [2u32.to_ne_bytes(), wanted].concat();
            server.set((SCTP, name::EVENT), &wanted).unwrap();
        }
        let linger = [1u32.to_ne_bytes(), 0u32.to_ne_bytes()].concat();
        client.set((SOL_SOCKET, name::SO_LINGER), &linger).unwrap();
        write_long(&client);
        let (header, _) = server.receive();
        assert_eq!(header.flags & flag::END, 0);
        drop(client);
        let told = loop {
            let (next, body) = server.receive();
            if next.kind == kind::NOTIFICATION {
                break body;
            }
            assert_eq!(next.flags & flag::END, 0);
        };
        let f = Fields(&told);
        assert_eq!((f.u16(0), f.u32(8), f.u32(12)), (0x8006, 0, header.association));
        assert_eq!((f.u32(16), f.u32(20)), (0, 0));
        // SCTP_COMM_LOST comes behind it, and others are served.
        assert_eq!(Fields(&server.receive().1).u16(8), 1);
        let other = connected(path);
        other.send(TxHeader::default(), b"other");
        let up = server.receive();
        assert_eq!((up.0.kind, Fields(&up.1).u16(8)), (kind::NOTIFICATION, 0));
        assert_eq!(server.receive().1, b"other");
    });
}

#[test]
fn a_peeled_off_association_takes_its_message_along() {
    with_engine(|path| {
        let server = crowded(path, 0);
        let (client, other) = (connected(path), connected(path));
        write_long(&client);
        let (header, body) = server.receive();
        other.send(TxHeader::default(), b"other");
        server.call(Op::PeelOff, header.association.into(), 0, &[]).unwrap();
        let peeled = Client::open(path, Op::Accept, header.association.into(), 0);
        let mut len = body.len();
        // What the descriptor had is read there; then it is the turn of the other one.
        loop {
            let (next, body) = server.receive();
            if next.association != header.association {
                assert_eq!(body, b"other");
                break;
            }
            len += body.len();
        }
        while len < LONG {
            len += peeled.receive().1.len();
        }
        assert_eq!(len, LONG);
    });
}
