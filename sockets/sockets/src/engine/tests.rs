//! The engine through its protocol: each test plays the client by hand.

mod asleep;
mod authentication;
mod crowd;
mod ends;
mod flood;
mod gone;
mod groups;
mod labels;
mod long;
mod options;
mod parts;
mod paths;
mod restarts;
mod returned;
mod silent;
mod unended;
mod unread;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::fstat;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};

use tresse::Profile;

use super::Engine;
use super::serve::{Server, Stop};
use super::settings::Settings;
use tresse_socket_protocol::abi::{AF_INET, AF_INET6, SCTP, SOCK_SEQPACKET, SOCK_STREAM, errno};
use tresse_socket_protocol::protocol::*;

/// An engine that talks to itself, so that its port must be known before it has it.
fn bind_to_itself(path: &Path, profile: &Arc<Profile>) -> Server {
    loop {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let local: SocketAddr = free.local_addr().unwrap();
        let settings = Settings {
            carrier: local.into(),
            peer_udp_port: local.port(),
            profile: Arc::clone(profile),
            ..Settings::default()
        };
        drop(free);
        match Server::bind(path, &settings) {
            // Another test was faster.
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            other => return other.unwrap(),
        }
    }
}

/// Runs an engine, and `client` on another thread.
fn with_engine(client: impl FnOnce(&Path) + Send + 'static) {
    with_watched_engine(|_| {}, client);
}

/// Runs an engine that `watch` looks at every few milliseconds, and `client` on another thread.
fn with_watched_engine(watch: impl Fn(&Engine), client: impl FnOnce(&Path) + Send + 'static) {
    with_driven_engine(|engine| watch(engine), client);
}

/// Runs an engine to which `drive` does something every few milliseconds, and `client` on another thread.
fn with_driven_engine(drive: impl Fn(&mut Engine), client: impl FnOnce(&Path) + Send + 'static) {
    run_engine(|_| {}, drive, client);
}

/// Runs an engine that `prepare` has seen before, the same otherwise.
fn run_engine(
    prepare: impl FnOnce(&mut Server),
    drive: impl Fn(&mut Engine),
    client: impl FnOnce(&Path) + Send + 'static,
) {
    run_boxed(Box::new(prepare), &drive, Box::new(client));
}

/// Not generic: the engine would be compiled once for each test.
fn run_boxed(
    prepare: Box<dyn FnOnce(&mut Server) + '_>,
    drive: &dyn Fn(&mut Engine),
    client: Box<dyn FnOnce(&Path) + Send>,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut server = bind_to_itself(&path, &Profile::tresse());
        prepare(&mut server);
        let path = path.clone();
        let client = tokio::task::spawn_blocking(move || client(&path));
        let (done, stop) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let _ = done.send(client.await);
        });
        let mut result = None;
        let stop = async {
            result = stop.await.ok();
            Stop { close: false, grace: Duration::from_secs(5) }
        };
        let engine = std::rc::Rc::clone(&server.engine);
        let watched = async {
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                drive(&mut engine.borrow_mut());
            }
        };
        // A socket whose message waits for ever would keep the engine from its end.
        let run =
            tokio::time::timeout(Duration::from_secs(60), server.run(stop, std::future::pending()));
        tokio::select! {
            ended = run => ended.expect("it ends").unwrap(),
            () = watched => unreachable!(),
        }
        result.unwrap().unwrap();
    });
}

fn dial(path: &Path) -> OwnedFd {
    let kind = SocketType::SEQPACKET;
    let fd = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
    connect(&fd, &SocketAddrUnix::new(path).unwrap()).unwrap();
    fd
}

fn receive(fd: &OwnedFd) -> Vec<u8> {
    let mut buffer = vec![0; 300_000];
    let (len, _) = recv(fd, &mut buffer[..], RecvFlags::empty()).unwrap();
    buffer.truncate(len);
    buffer
}

fn exchange(fd: &OwnedFd, request: &Request) -> Result<(i64, Vec<u8>), i32> {
    send(fd, &request.encode(), SendFlags::NOSIGNAL).unwrap();
    let frame = receive(fd);
    match read_reply(&frame).unwrap() {
        (0, value, payload) => Ok((value, payload.to_vec())),
        (error, ..) => Err(error),
    }
}

/// A program's socket.
struct Client {
    path: PathBuf,
    fd: OwnedFd,
    id: u64,
}

impl Client {
    fn open(path: &Path, op: Op, a: i64, b: i64) -> Client {
        let fd = dial(path);
        let id = fstat(&fd).unwrap().st_ino;
        exchange(&fd, &Request { op, socket: id, a, b, payload: Vec::new() }).unwrap();
        Client { path: path.to_owned(), fd, id }
    }

    fn socket(path: &Path, style: i32) -> Client {
        Client::open(path, Op::Socket, AF_INET.into(), style.into())
    }

    fn call(&self, op: Op, a: i64, b: i64, payload: &[u8]) -> Result<(i64, Vec<u8>), i32> {
        let request = Request { op, socket: self.id, a, b, payload: payload.to_vec() };
        exchange(&dial(&self.path), &request)
    }

    fn bind(&self, address: &str) -> Result<(), i32> {
        let list = encode_addresses(&[address.parse().unwrap()]);
        self.call(Op::Bind, 0, 0, &list).map(|_| ())
    }

    fn set(&self, option: (i32, i32), value: &[u8]) -> Result<(), i32> {
        self.call(Op::SetOption, option.0.into(), option.1.into(), value).map(|_| ())
    }

    fn get(&self, option: (i32, i32), given: &[u8]) -> Result<Vec<u8>, i32> {
        self.call(Op::GetOption, option.0.into(), option.1.into(), given).map(|(_, value)| value)
    }

    fn send(&self, header: TxHeader, payload: &[u8]) {
        let header = TxHeader { kind: kind::DATA, ..header };
        let frame = [&header.encode()[..], payload].concat();
        send(&self.fd, &frame, SendFlags::NOSIGNAL).unwrap();
    }

    fn receive(&self) -> (RxHeader, Vec<u8>) {
        let frame = receive(&self.fd);
        (RxHeader::decode(&frame).unwrap(), frame[HEADER..].to_vec())
    }
}

/// A listener on a port, a client that has connected to it, and what the listener was told.
fn waiting(path: &Path) -> (Client, Client, RxHeader) {
    let listener = Client::socket(path, SOCK_STREAM);
    listener.bind("127.0.0.1:7000").unwrap();
    listener.call(Op::Listen, 5, 0, &[]).unwrap();
    let client = Client::socket(path, SOCK_STREAM);
    let to = encode_addresses(&["127.0.0.1:7000".parse().unwrap()]);
    client.call(Op::Connect, 0, 0, &to).unwrap();
    let (header, _) = listener.receive();
    assert_eq!(header.kind, kind::ACCEPT);
    (listener, client, header)
}

/// A listener on a port, and a connected pair.
fn pair(path: &Path) -> (Client, Client, Client) {
    let (listener, client, header) = waiting(path);
    let server = Client::open(path, Op::Accept, header.association.into(), 0);
    (listener, client, server)
}

#[test]
fn messages_cross_and_the_end_is_told_after_them() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        for size in [1, 1000, 100_000] {
            client.send(TxHeader { stream: 3, ppid: 7, ..TxHeader::default() }, &vec![9; size]);
            let (header, payload) = server.receive();
            assert_eq!((header.kind, header.stream, header.ppid), (kind::DATA, 3, 7));
            assert_eq!((header.length as usize, payload), (size, vec![9; size]));
        }
        client.send(TxHeader::default(), b"last words");
        drop(client);
        assert_eq!(server.receive().1, b"last words");
        assert_eq!(server.receive().0.kind, kind::END);
        assert_eq!(server.call(Op::TakeError, 0, 0, &[]), Ok((0, vec![1])));
    });
}

#[test]
fn what_arrives_before_accept_is_read_after_it() {
    with_engine(|path| {
        let (_listener, client, header) = waiting(path);
        client.send(TxHeader::default(), b"early");
        drop(client);
        let late = Client::socket(path, SOCK_STREAM);
        // Nobody listens there: by the time that this is known, the message has arrived.
        let nowhere = encode_addresses(&["127.0.0.1:7009".parse().unwrap()]);
        late.call(Op::Connect, 0, 0, &nowhere).unwrap();
        assert_eq!(late.receive().0.kind, kind::FAILED);
        let server = Client::open(path, Op::Accept, header.association.into(), 0);
        assert_eq!(server.receive().1, b"early");
        assert_eq!(server.receive().0.kind, kind::END);
    });
}

/// What becomes of an association that waits is told after it was accepted, and to nobody else.
#[test]
fn a_listener_is_told_of_associations_only() {
    with_engine(|path| {
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind("127.0.0.1:7000").unwrap();
        listener.call(Op::Listen, 5, 0, &[]).unwrap();
        listener.call(Op::SetOption, SCTP.into(), 11, &[1, 1, 0, 0, 0, 1]).unwrap();
        let to = encode_addresses(&["127.0.0.1:7000".parse().unwrap()]);
        let numbers = [(); 2].map(|()| {
            let client = Client::socket(path, SOCK_STREAM);
            client.call(Op::Connect, 0, 0, &to).unwrap();
            let (header, _) = listener.receive();
            assert_eq!(header.kind, kind::ACCEPT);
            client.send(TxHeader::default(), b"early");
            // The end arrives when the peer has had everything.
            client.call(Op::Linger, 10_000, 0, &[]).unwrap();
            header.association
        });
        for number in numbers {
            let server = Client::open(path, Op::Accept, number.into(), 0);
            let told = |server: &Client| -> u16 {
                let (header, body) = server.receive();
                assert_eq!(header.kind, kind::NOTIFICATION);
                u16::from_ne_bytes([body[0], body[1]])
            };
            assert_eq!(told(&server), 0x8001, "SCTP_ASSOC_CHANGE");
            assert_eq!(server.receive().1, b"early");
            assert_eq!(told(&server), 0x8005, "SCTP_SHUTDOWN_EVENT");
            assert_eq!(told(&server), 0x8001);
            assert_eq!(server.receive().0.kind, kind::END);
        }
    });
}

//= RFC 9260 1.3-3
#[test]
fn calls_fail_as_those_of_the_kernel() {
    with_engine(|path| {
        let (listener, client, server) = pair(path);
        let other = Client::socket(path, SOCK_STREAM);
        assert_eq!(other.bind("127.0.0.1:7000"), Err(errno::EADDRINUSE));
        assert_eq!(other.bind("192.0.2.1:7001"), Err(errno::EADDRNOTAVAIL));
        other.bind("127.0.0.1:7001").unwrap();
        assert_eq!(other.bind("127.0.0.1:7002"), Err(errno::EINVAL));
        let to = |port: u16| encode_addresses(&[([127, 0, 0, 1], port).into()]);
        assert_eq!(client.call(Op::Connect, 0, 0, &to(7000)).map(|_| ()), Err(errno::EISCONN));
        assert_eq!(other.call(Op::Shutdown, 1, 0, &[]).map(|_| ()), Err(errno::ENOTCONN));
        assert_eq!(other.call(Op::Name, 1, 0, &[]).map(|_| ()), Err(errno::ENOTCONN));
        let message = TxHeader { stream: 99, ..TxHeader::default() };
        let check = |socket: &Client| socket.call(Op::CheckSend, 0, 0, &message.encode());
        assert_eq!(check(&client), Err(errno::EINVAL), "no such stream");
        assert_eq!(check(&other), Err(errno::EPIPE), "not connected");
        let level = i64::from(SCTP);
        assert_eq!(server.call(Op::SetOption, level, 0, &[0; 3]).map(|_| ()), Err(errno::EINVAL));
        assert_eq!(server.call(Op::GetOption, level, 99, &[]).map(|_| ()), Err(errno::ENOPROTOOPT));
        // Nobody listens there.
        other.call(Op::Connect, 0, 0, &to(7009)).unwrap();
        assert_eq!(other.receive().0.kind, kind::FAILED);
        assert_eq!(other.call(Op::TakeError, 0, 0, &[]), Ok((errno::ECONNREFUSED.into(), vec![3])));
        assert_eq!(other.call(Op::TakeError, 0, 0, &[]), Ok((0, vec![0])));
        drop(listener);
    });
}

/// Two one-to-many sockets that want every notification; the first one listens at 127.0.0.1:7000.
fn one_to_many(path: &Path) -> (Client, Client) {
    let server = Client::socket(path, SOCK_SEQPACKET);
    let client = Client::socket(path, SOCK_SEQPACKET);
    server.bind("127.0.0.1:7000").unwrap();
    server.call(Op::Listen, 5, 0, &[]).unwrap();
    for socket in [&server, &client] {
        // All of `struct sctp_event_subscribe`.
        socket.call(Op::SetOption, SCTP.into(), 11, &[1; 6]).unwrap();
    }
    (server, client)
}

#[test]
fn one_to_many_sockets_open_associations_by_sending_and_tell_of_them() {
    with_engine(|path| {
        let (server, client) = one_to_many(path);
        let address = Some("127.0.0.1:7000".parse().unwrap());
        let header = TxHeader { address, ..TxHeader::default() };
        client.call(Op::CheckSend, 0, 0, &header.encode()).unwrap();
        client.send(header, b"hello");
        let (up, body) = server.receive();
        assert_eq!((up.kind, &body[..2]), (kind::NOTIFICATION, &0x8001u16.to_ne_bytes()[..]));
        let (data, body) = server.receive();
        assert_eq!((data.kind, body), (kind::DATA, b"hello".to_vec()));
        assert!(data.flags & flag::SNDRCVINFO != 0);
        server.send(TxHeader { association: data.association, ..TxHeader::default() }, b"answer");
        assert_eq!(client.receive().0.kind, kind::NOTIFICATION);
        assert_eq!(client.receive().1, b"answer");
        // SCTP_EOF.
        client.send(TxHeader { sinfo_flags: 0x200, address, ..TxHeader::default() }, b"");
        let (_, body) = server.receive();
        assert_eq!(body[..2], 0x8005u16.to_ne_bytes(), "SCTP_SHUTDOWN_EVENT");
        let (_, body) = server.receive();
        assert_eq!((body[..2].to_vec(), body[8]), (0x8001u16.to_ne_bytes().to_vec(), 3));
    });
}

//= RFC 9260 9-1
#[test]
fn whoever_dies_with_data_unread_aborts() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        client.send(TxHeader::default(), b"never read");
        // It has arrived once a look at the queue finds it.
        let mut byte = [0; 1];
        recv(&server.fd, &mut byte[..], RecvFlags::PEEK).unwrap();
        drop(server);
        assert_eq!(client.receive().0.kind, kind::END);
        assert_eq!(client.call(Op::TakeError, 0, 0, &[]), Ok((errno::ECONNRESET.into(), vec![2])));
    });
}

#[test]
fn each_direction_is_shut_as_in_the_kernel() {
    with_engine(|path| {
        let (listener, client, server) = pair(path);
        let shut = |socket: &Client, how| socket.call(Op::Shutdown, how, 0, &[]).map(|_| ());
        let seen = |socket: &Client| socket.call(Op::TakeError, 0, 0, &[]);
        assert_eq!(shut(&listener, 1), Ok(()));
        assert_eq!(shut(&listener, 0), Err(errno::EOPNOTSUPP));
        assert_eq!(shut(&Client::socket(path, SOCK_SEQPACKET), 1), Err(errno::ENOTCONN));
        // What had come can be read, then there is the end, and what comes later goes nowhere.
        client.send(TxHeader::default(), b"before");
        recv(&server.fd, &mut [0; 1][..], RecvFlags::PEEK).unwrap();
        assert_eq!(shut(&server, 0), Ok(()));
        assert_eq!(server.receive().1, b"before");
        assert_eq!((server.receive().0.kind, seen(&server)), (kind::END, Ok((0, vec![1]))));
        client.send(TxHeader::default(), b"after");
        server.send(TxHeader::default(), b"still sent");
        assert_eq!(client.receive().1, b"still sent");
        // Whoever shuts down first is told of no end: the association is gone.
        assert_eq!(shut(&client, 1), Ok(()));
        assert_eq!((client.receive().0.kind, seen(&client)), (kind::END, Ok((0, vec![2]))));
    });
}

#[test]
fn the_last_notification_comes_before_the_end() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        client.set((SCTP, 11), &[0, 1]).unwrap();
        drop(server);
        let (header, body) = client.receive();
        assert_eq!((header.kind, body[8]), (kind::NOTIFICATION, 3), "SCTP_SHUTDOWN_COMP");
        assert_eq!(client.receive().0.kind, kind::END);
    });
}

#[test]
fn whoever_leaves_notifications_unread_shuts_down() {
    with_engine(|path| {
        let (server, client) = one_to_many(path);
        let address = Some("127.0.0.1:7000".parse().unwrap());
        client.send(TxHeader { address, ..TxHeader::default() }, b"hello");
        // SCTP_COMM_UP is there.
        recv(&client.fd, &mut [0; 1][..], RecvFlags::PEEK).unwrap();
        drop(client);
        let kinds: Vec<u8> = (0..4)
            .map(|_| server.receive())
            .map(|(header, body)| if header.kind == kind::DATA { b'd' } else { body[0] })
            .collect();
        // SCTP_ASSOC_CHANGE, the message, SCTP_SHUTDOWN_EVENT, SCTP_ASSOC_CHANGE.
        assert_eq!(kinds, [1, b'd', 5, 1]);
    });
}

/// Writes numbered messages, beginning with `from`, until there is no room.
/// Writes numbered messages until there is no room, from that number on; the number of the next one.
fn write_until_full(to: &Client, from: u32) -> u32 {
    write_to_until_full(to, TxHeader::default(), from)
}

fn write_to_until_full(to: &Client, header: TxHeader, from: u32) -> u32 {
    let header = TxHeader { kind: kind::DATA, ..header };
    let mut n = from;
    loop {
        let frame = [&header.encode()[..], &n.to_be_bytes(), &[0; 10_000]].concat();
        if send(&to.fd, &frame, SendFlags::DONTWAIT).is_err() {
            return n;
        }
        n += 1;
        assert!(n < 10_000, "nothing ever stops the writer");
    }
}

/// Writes numbered messages until there is no room at the peer and here; how many.
fn write_until_stuck(to: &Client) -> u32 {
    let (mut sent, mut before) = (write_until_full(to, 0), 0);
    // Was that all? The engine may only have had no turn yet.
    while sent > before {
        std::thread::sleep(Duration::from_millis(100));
        before = sent;
        sent = write_until_full(to, sent);
    }
    sent
}

fn read_numbered(from: &Client, messages: u32) {
    set_socket_timeout(&from.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
    for n in 0..messages {
        assert_eq!(from.receive().1[..4], n.to_be_bytes());
    }
}

#[test]
fn a_full_peer_holds_the_writer_back_and_nothing_is_lost() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        let sent = write_until_stuck(&client);
        read_numbered(&server, sent);
    });
}

#[test]
fn two_that_write_before_they_read_are_not_stuck() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        let (mut sent, mut before) = ([0; 2], [1; 2]);
        while sent != before {
            before = sent;
            sent = [write_until_full(&client, sent[0]), write_until_full(&server, sent[1])];
            std::thread::sleep(Duration::from_millis(100));
        }
        // One reads all, and then the other one.
        read_numbered(&server, sent[0]);
        read_numbered(&client, sent[1]);
    });
}

#[test]
fn garbage_and_strangers_change_nothing() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        for garbage in [&b"x"[..], &[0; 64], &[255; 4096], b"TRS1 but nothing else"] {
            let fd = dial(path);
            let _ = send(&fd, garbage, SendFlags::NOSIGNAL);
            let mut byte = [0; 1];
            assert!(matches!(recv(&fd, &mut byte[..], RecvFlags::empty()), Ok((0, _)) | Err(_)));
        }
        let stranger = Request { op: Op::Listen, socket: 1, a: 1, b: 0, payload: Vec::new() };
        assert_eq!(exchange(&dial(path), &stranger), Err(errno::EBADF));
        let stolen = Request { op: Op::Socket, socket: client.id, a: 2, b: 1, payload: Vec::new() };
        assert_eq!(exchange(&dial(path), &stolen), Err(errno::EINVAL));
        client.send(TxHeader::default(), b"still here");
        assert_eq!(server.receive().1, b"still here");
    });
}

/// What a program writes past the C library is no frame. It was told that it was sent.
#[test]
fn garbage_on_a_socket_ends_its_association() {
    for garbage in [&b"x"[..], &[0; 64], &[255; 4096]] {
        with_engine(move |path| {
            let (_listener, client, server) = pair(path);
            send(&client.fd, garbage, SendFlags::NOSIGNAL).unwrap();
            assert_eq!(client.call(Op::TakeError, 0, 0, &[]).unwrap().0, errno::EINVAL.into());
            assert_eq!(server.receive().0.kind, kind::END);
            let error = i64::from(errno::ECONNRESET);
            assert_eq!(server.call(Op::TakeError, 0, 0, &[]).unwrap().0, error);
        });
    }
}

/// SO_SNDBUFFORCE and SO_RCVBUFFORCE are other names of SO_SNDBUF and SO_RCVBUF.
#[test]
fn buffers_may_be_forced() {
    with_engine(|path| {
        let client = Client::socket(path, SOCK_STREAM);
        let (sol_socket, size) = (1, 32_768_u32);
        for (forced, read) in [(32, 7), (33, 8)] {
            client.set((sol_socket, forced), &size.to_ne_bytes()).unwrap();
            let now = client.get((sol_socket, read), &[0; 4]).unwrap();
            assert_eq!(now, (2 * size).to_ne_bytes());
        }
    });
}

#[test]
fn options_are_what_was_set() {
    with_engine(|path| {
        let (_listener, client, _server) = pair(path);
        let (level, words) = (i64::from(SCTP), |list: &[u32]| -> Vec<u8> {
            list.iter().flat_map(|n| n.to_ne_bytes()).collect()
        });
        let rto = words(&[0, 500, 2000, 300]);
        client.call(Op::SetOption, level, 0, &rto).unwrap();
        let (_, value) = client.call(Op::GetOption, level, 0, &[0; 4]).unwrap();
        assert_eq!(value[4..], rto[4..]);
        client.call(Op::SetOption, level, 3, &words(&[1])).unwrap();
        assert_eq!(client.call(Op::GetOption, level, 3, &[]).unwrap().1, words(&[1]));
        let (_, status) = client.call(Op::GetOption, level, 14, &[0; 176]).unwrap();
        assert_eq!((status.len(), &status[4..8]), (176, &words(&[4])[..]), "ESTABLISHED");
        let (_, peers) = client.call(Op::GetOption, level, 108, &[0; 8]).unwrap();
        assert_eq!(&peers[4..8], &words(&[1])[..]);
    });
}
