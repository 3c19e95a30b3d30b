//! Messages that were taken and cannot be sent any more.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use tresse_socket_protocol::abi::{Fields, sinfo};

/// The next notification of a type; others are passed over.
fn told(socket: &Client, kind: u16) -> Vec<u8> {
    loop {
        let (header, body) = socket.receive();
        assert_eq!(header.kind, kind::NOTIFICATION);
        if Fields(&body).u16(0) == kind {
            return body;
        }
    }
}

#[test]
fn a_message_for_an_association_that_has_ended_comes_back() {
    with_engine(|path| {
        let (server, client) = one_to_many(path);
        let address = Some("127.0.0.1:7000".parse().unwrap());
        let header = TxHeader { address, ..TxHeader::default() };
        let (_, number) = client.call(Op::CheckSend, 0, 0, &header.encode()).unwrap();
        let association = Fields(&number).u32(0);
        client.send(header, b"hello");
        assert_eq!(server.receive().0.kind, kind::NOTIFICATION);
        let (data, _) = server.receive();
        let flags = sinfo::ABORT;
        let end = TxHeader { sinfo_flags: flags, association: data.association, ..header };
        server.send(TxHeader { address: None, ..end }, b"");
        // SCTP_ASSOC_CHANGE: up, and lost.
        assert_eq!(Fields(&told(&client, 0x8001)).u16(8), 0);
        assert_eq!(Fields(&told(&client, 0x8001)).u16(8), 1);
        // Written before the program has read that. It is not for another association with that peer.
        let late = TxHeader { association, stream: 3, context: 77, ..header };
        for size in [1, 1000] {
            client.send(late, &vec![5; size]);
            let failed = told(&client, 0x8003);
            let f = Fields(&failed);
            assert_eq!((f.u16(12), f.u32(24), f.u32(44)), (3, 77, association));
            assert_eq!(failed[48..], vec![5; size], "SCTP_SEND_FAILED has it whole");
        }
        let open = client.get((SCTP, 28), &[]).unwrap();
        assert_eq!(Fields(&open).u32(0), 0, "SCTP_GET_ASSOC_NUMBER");
    });
}

#[test]
fn who_waits_for_a_connection_hears_how_it_ended() {
    with_engine(|path| {
        let (_server, client) = one_to_many(path);
        let to = |port: u16| encode_addresses(&[([127, 0, 0, 1], port).into()]);
        let wait = |port| client.call(Op::Connect, 1, 0, &to(port)).map(|_| ());
        assert_eq!(wait(7009), Err(errno::ECONNREFUSED));
        assert_eq!(wait(7000), Ok(()));
        assert_eq!(wait(7000), Err(errno::EISCONN));
        // This engine has an address of IPv4 only.
        let six = Client::open(path, Op::Socket, AF_INET6.into(), SOCK_SEQPACKET.into());
        let peer = encode_addresses(&["[::1]:7000".parse().unwrap()]);
        let refused = six.call(Op::Connect, 1, 0, &peer).map(|_| ());
        assert_eq!(refused, Err(errno::ENETUNREACH));
        // Nothing could ever leave for a link-local address without its interface.
        let peer = encode_addresses(&["[fe80::1]:7000".parse().unwrap()]);
        let refused = six.call(Op::Connect, 1, 0, &peer).map(|_| ());
        assert_eq!(refused, Err(errno::EINVAL));
    });
}

/// How many messages [`filled`] sends.
const SENT: usize = 60;

/// A server, and a client that has sent it more with SCTP_SENDALL than there is room for.
fn filled(path: &Path) -> (Client, Client, TxHeader) {
    let (server, client) = one_to_many(path);
    for socket in [&server, &client] {
        set_socket_timeout(&socket.fd, Timeout::Recv, Some(Duration::from_secs(5))).unwrap();
    }
    let address = Some("127.0.0.1:7000".parse().unwrap());
    let to = TxHeader { address, ..TxHeader::default() };
    client.call(Op::CheckSend, 0, 0, &to.encode()).unwrap();
    // SCTP_ASSOC_CHANGE: up.
    assert_eq!(Fields(&told(&client, 0x8001)).u16(8), 0);
    let all = TxHeader { sinfo_flags: sinfo::SENDALL, ..TxHeader::default() };
    for _ in 0..SENT {
        client.send(all, &[9; 100_000]);
    }
    (server, client, all)
}

/// SCTP_SENDALL waits for nobody: what finds no room comes back, and is not lost without a word.
#[test]
fn what_not_all_have_room_for_comes_back() {
    with_engine(|path| {
        let (server, client, _) = filled(path);
        let (mut failed, mut arrived) = (0, 0);
        client.call(Op::GetOption, SCTP.into(), 28, &[]).unwrap();
        while arrived < SENT {
            let mut buffer = vec![0; 300_000];
            let Ok((len, _)) = recv(&server.fd, &mut buffer[..], RecvFlags::empty()) else { break };
            let header = RxHeader::decode(&buffer[..len]).unwrap();
            arrived += usize::from(header.kind == kind::DATA && header.flags & flag::END != 0);
        }
        while failed + arrived < SENT {
            let (header, body) = client.receive();
            let what = Fields(&body).u16(0);
            failed += usize::from(header.kind == kind::NOTIFICATION && what == 0x8003);
        }
        assert!(failed > 0, "there was room for all");
    });
}

/// Whether a message was given back for want of room: that is in what comes until nothing more does.
fn came_back(client: &Client, context: u32) -> bool {
    set_socket_timeout(&client.fd, Timeout::Recv, Some(Duration::from_millis(500))).unwrap();
    let mut buffer = vec![0; 300_000];
    while let Ok((len, _)) = recv(&client.fd, &mut buffer[..], RecvFlags::empty()) {
        let body = Fields(&buffer[HEADER..len]);
        if body.u16(0) == 0x8003 && body.u32(24) == context {
            return true;
        }
    }
    false
}

/// An association without room for the message of an SCTP_SENDALL is shut down by its SCTP_EOF all the same.
#[test]
fn an_end_for_all_is_one_for_those_without_room() {
    let refused = Arc::new(AtomicBool::new(false));
    // What was sent first is still on its way, and may make room for the last one: then it is done again.
    for _ in 0..20 {
        let seen = Arc::clone(&refused);
        with_engine(move |path| {
            let (server, client, all) = filled(path);
            let sinfo_flags = sinfo::SENDALL | sinfo::EOF;
            client.send(TxHeader { sinfo_flags, context: 7, ..all }, &[9; 100_000]);
            if !came_back(&client, 7) {
                return;
            }
            seen.store(true, Ordering::Relaxed);
            loop {
                let (header, body) = server.receive();
                // SCTP_SHUTDOWN_EVENT.
                if header.kind == kind::NOTIFICATION && Fields(&body).u16(0) == 0x8005 {
                    break;
                }
            }
        });
        if refused.load(Ordering::Relaxed) {
            return;
        }
    }
    panic!("there was always room for all");
}
