//! Authenticated chunks (RFC 4895), as the sockets API has them.

use super::*;

const CHUNK: (i32, i32) = (SCTP, 21);
const ALGORITHMS: (i32, i32) = (SCTP, 22);
const KEY: (i32, i32) = (SCTP, 23);
const ACTIVE: (i32, i32) = (SCTP, 24);
const DELETE: (i32, i32) = (SCTP, 25);
const PEERS: (i32, i32) = (SCTP, 26);
const OURS: (i32, i32) = (SCTP, 27);
const DEACTIVATE: (i32, i32) = (SCTP, 35);
const SUPPORTED: (i32, i32) = (SCTP, 129);

fn numbers(list: &[u32]) -> Vec<u8> {
    list.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

/// `struct sctp_authkey`.
fn key(number: u16, secret: &[u8]) -> Vec<u8> {
    let len = secret.len() as u16;
    [&[0; 4], &number.to_ne_bytes()[..], &len.to_ne_bytes(), secret].concat()
}

/// `struct sctp_authkeyid`.
fn key_id(number: u16) -> Vec<u8> {
    [&[0; 4], &number.to_ne_bytes()[..], &[0; 2]].concat()
}

/// Both ends of an association, once the listener listens.
fn joined(path: &Path, listener: &Client, client: Client) -> (Client, Client) {
    listener.call(Op::Listen, 5, 0, &[]).unwrap();
    let to = encode_addresses(&["127.0.0.1:7000".parse().unwrap()]);
    client.call(Op::Connect, 1, 0, &to).unwrap();
    let (header, _) = listener.receive();
    assert_eq!(header.kind, kind::ACCEPT);
    let server = Client::open(path, Op::Accept, header.association.into(), 0);
    (client, server)
}

#[test]
fn what_is_not_switched_on_is_refused() {
    with_engine(|path| {
        let socket = Client::socket(path, SOCK_STREAM);
        assert_eq!(socket.get(SUPPORTED, &[0; 8]), Ok(numbers(&[0, 0])));
        assert_eq!(socket.set(CHUNK, &[0]), Err(errno::EACCES));
        assert_eq!(socket.set(KEY, &key(1, b"secret")), Err(errno::EACCES));
        assert_eq!(socket.get(OURS, &[0; 40]), Err(errno::EACCES));
        assert_eq!(socket.set(SUPPORTED, &numbers(&[0, 1])), Ok(()));
        assert_eq!(socket.get(SUPPORTED, &[0; 8]), Ok(numbers(&[0, 1])));
        assert_eq!(socket.set(CHUNK, &[0]), Ok(()));
        for never in [1, 2, 14, 15] {
            assert_eq!(socket.set(CHUNK, &[never]), Err(errno::EINVAL), "{never}");
        }
        assert_eq!(socket.get(OURS, &[0; 40]), Ok([&numbers(&[0, 1])[..], &[0]].concat()));
        assert_eq!(socket.get(OURS, &[0; 8]), Err(errno::EINVAL), "there is no room");
        assert_eq!(socket.get(PEERS, &[0; 40]), Err(errno::EINVAL), "there is no peer");
    });
}

#[test]
fn algorithms_are_those_that_are_known() {
    with_engine(|path| {
        let socket = Client::socket(path, SOCK_STREAM);
        let list = |list: &[u16]| {
            let count = (list.len() as u32).to_ne_bytes().to_vec();
            [count, list.iter().flat_map(|n| n.to_ne_bytes()).collect()].concat()
        };
        assert_eq!(socket.set(ALGORITHMS, &list(&[1])), Err(errno::EACCES));
        assert_eq!(socket.set(SUPPORTED, &numbers(&[0, 1])), Ok(()));
        assert_eq!(socket.get(ALGORITHMS, &[0; 20]), Ok(list(&[1])), "that of Linux");
        assert_eq!(socket.set(ALGORITHMS, &list(&[3, 1])), Ok(()));
        assert_eq!(socket.get(ALGORITHMS, &[0; 20]), Ok(list(&[3, 1])));
        assert_eq!(socket.set(ALGORITHMS, &list(&[3])), Err(errno::EINVAL), "without SHA-1");
        assert_eq!(socket.set(ALGORITHMS, &list(&[1, 2])), Err(errno::EOPNOTSUPP));
        assert_eq!(socket.set(ALGORITHMS, &list(&[])), Err(errno::EINVAL));
        assert_eq!(socket.set(ALGORITHMS, &numbers(&[2])), Err(errno::EINVAL), "cut short");
    });
}

#[test]
fn keys_are_changed_while_messages_cross() {
    with_engine(|path| {
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind("127.0.0.1:7000").unwrap();
        let client = Client::socket(path, SOCK_STREAM);
        for socket in [&listener, &client] {
            assert_eq!(socket.set(SUPPORTED, &numbers(&[0, 1])), Ok(()));
            assert_eq!(socket.set(CHUNK, &[0]), Ok(()));
            assert_eq!(socket.set(KEY, &key(1, b"the first")), Ok(()));
            assert_eq!(socket.set(ACTIVE, &key_id(1)), Ok(()));
        }
        let (client, server) = joined(path, &listener, client);
        let list = [&numbers(&[0, 1])[..], &[0]].concat();
        for socket in [&client, &server] {
            assert_eq!(socket.get(SUPPORTED, &[0; 8]), Ok(numbers(&[0, 1])));
            assert_eq!(socket.get(PEERS, &[0; 40]), Ok(list.clone()));
            assert_eq!(socket.get(OURS, &[0; 40]), Ok(list.clone()));
            assert_eq!(socket.get(ACTIVE, &[0; 8]), Ok(key_id(1)));
            assert_eq!(socket.set(ACTIVE, &key_id(2)), Err(errno::EINVAL), "no such key");
            assert_eq!(socket.set(KEY, &key(2, b"the second")), Ok(()));
        }
        client.send(TxHeader::default(), b"one");
        assert_eq!(server.receive().1, b"one");
        assert_eq!(client.set(ACTIVE, &key_id(2)), Ok(()));
        client.send(TxHeader::default(), b"two");
        assert_eq!(server.receive().1, b"two");
        assert_eq!(client.set(DELETE, &key_id(2)), Err(errno::EINVAL), "it is active");
        assert_eq!(client.set(DEACTIVATE, &key_id(1)), Ok(()));
        assert_eq!(client.set(ACTIVE, &key_id(1)), Err(errno::EINVAL), "it was deactivated");
        assert_eq!(client.set(DELETE, &key_id(1)), Ok(()));
        assert_eq!(client.set(DELETE, &key_id(1)), Err(errno::EINVAL), "it is gone");
    });
}
