//! What was acknowledged is delivered, in turn; what nobody will read is freed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::*;

/// How many associations the engine and the core have.
#[derive(Default)]
struct Counts([AtomicUsize; 2]);

impl Counts {
    /// Also checks that all parts of the engine say the same.
    fn take(&self, engine: &Engine) {
        assert_eq!(engine.associations.len(), engine.by_core.len());
        for (number, association) in &engine.associations {
            assert_eq!(engine.by_core.get(&association.core), Some(number));
            let socket = association.socket.map(|id| &engine.sockets[&id]);
            assert!(socket.is_none_or(|socket| socket.associations.contains(number)));
        }
        for (id, socket) in &engine.sockets {
            for number in &socket.associations {
                assert_eq!(engine.associations[number].socket, Some(*id));
            }
        }
        let core = engine.raw.act(|core, _| core.associations().len());
        self.0[0].store(engine.associations.len(), Ordering::Relaxed);
        self.0[1].store(core, Ordering::Relaxed);
    }

    fn wait_for(&self, expected: usize) {
        let deadline = Instant::now() + Duration::from_secs(10);
        let now = || [&self.0[0], &self.0[1]].map(|n| n.load(Ordering::Relaxed));
        while now() != [expected; 2] {
            assert!(Instant::now() < deadline, "engine and core have {:?}", now());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Runs an engine whose associations are counted.
fn counted(client: impl FnOnce(&Path, &Counts) + Send + 'static) {
    let counts = Arc::new(Counts::default());
    let watched = Arc::clone(&counts);
    with_watched_engine(move |engine| watched.take(engine), move |path| client(path, &counts));
}

const PORT: u16 = 7000;

fn listener(path: &Path, style: i32) -> Client {
    let listener = Client::socket(path, style);
    listener.bind("127.0.0.1:7000").unwrap();
    listener.call(Op::SetOption, SCTP.into(), 11, &[1; 6]).unwrap();
    listener.call(Op::Listen, 1000, 0, &[]).unwrap();
    set_socket_timeout(&listener.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
    listener
}

fn dial_listener(path: &Path) -> Client {
    let client = Client::socket(path, SOCK_STREAM);
    let to = encode_addresses(&[([127, 0, 0, 1], PORT).into()]);
    client.call(Op::Connect, 0, 0, &to).unwrap();
    client
}

/// A message of a size, that begins with who sends it and its number.
fn numbered(who: u32, n: u32, size: usize) -> Vec<u8> {
    let mut message = vec![0; size.max(8)];
    message[..4].copy_from_slice(&who.to_be_bytes());
    message[4..8].copy_from_slice(&n.to_be_bytes());
    message
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(*bytes[at..].first_chunk().unwrap())
}

/// What was read of one association.
#[derive(Default, Debug, PartialEq)]
struct Read {
    who: u32,
    messages: u32,
    /// Types of notifications that came after the first message, and states.
    last: Vec<(u16, u16)>,
}

/// Reads until this many associations have ended.
fn read_all(server: &Client, ends: usize) -> Vec<Read> {
    let (mut all, mut ended): (BTreeMap<u32, Read>, _) = (BTreeMap::new(), Vec::new());
    while ended.len() < ends {
        let (header, body) = server.receive();
        let one = all.entry(header.association).or_default();
        if header.kind == kind::DATA {
            one.who = word(&body, 0);
            assert_eq!(one.last, [], "nothing comes after the end of {}", one.who);
            assert_eq!(word(&body, 4), one.messages, "of {}", one.who);
            one.messages += 1;
            continue;
        }
        let field = |at: usize| u16::from_ne_bytes([body[at], body[at + 1]]);
        match (field(0), field(8)) {
            (0x8001, 0) => {}
            (0x8001, state) => {
                one.last.push((0x8001, state));
                ended.extend(all.remove(&header.association));
            }
            (0x8005, _) => one.last.push((0x8005, 0)),
            _ => {}
        }
    }
    ended
}

#[test]
fn whoever_reads_slowly_reads_all_that_was_acknowledged_before_the_end_is_told() {
    const CLIENTS: u32 = 20;
    const MESSAGES: u32 = 200;
    counted(|path, counts| {
        let server = listener(path, SOCK_SEQPACKET);
        for who in 0..CLIENTS {
            let client = dial_listener(path);
            for n in 0..MESSAGES {
                client.send(TxHeader::default(), &numbered(who, n, 1000));
            }
            // When this returns the association has ended: everything was acknowledged.
            client.call(Op::Linger, 10_000, 0, &[]).unwrap();
        }
        let mut read = read_all(&server, CLIENTS as usize);
        read.sort_by_key(|one| one.who);
        let all = |who| Read { who, messages: MESSAGES, last: vec![(0x8005, 0), (0x8001, 3)] };
        assert_eq!(read, (0..CLIENTS).map(all).collect::<Vec<_>>());
        counts.wait_for(0);
    });
}

#[test]
fn what_is_closed_with_data_unread_is_freed() {
    counted(|path, counts| {
        let server = listener(path, SOCK_STREAM);
        for who in 0..3 {
            let client = dial_listener(path);
            let (waits, _) = server.receive();
            for n in 0..300 {
                client.send(TxHeader::default(), &numbered(who, n, 1000));
            }
            let accepted = Client::open(path, Op::Accept, waits.association.into(), 0);
            // More has arrived than the connection has room for.
            client.call(Op::Shutdown, 1, 0, &[]).unwrap();
            drop(accepted);
            drop(client);
        }
        counts.wait_for(0);
    });
}

#[test]
fn nobody_is_starved_by_the_flood_of_another_one() {
    counted(|path, _| {
        let server = listener(path, SOCK_SEQPACKET);
        let flood = dial_listener(path);
        write_until_full(&flood, 0);
        let victim = dial_listener(path);
        for n in 0..60 {
            victim.send(TxHeader::default(), &numbered(7, n, 8));
        }
        // All of it is there once the peer has acknowledged it; then the flood goes on.
        victim.call(Op::Linger, 10_000, 0, &[]).unwrap();
        let (mut between, mut heard) = (0, 0);
        while heard < 60 {
            let (header, body) = server.receive();
            match (header.kind, body.len()) {
                (kind::DATA, 8) => heard += 1,
                (kind::DATA, _) if heard > 0 => between += 1,
                _ => {}
            }
            if header.kind == kind::DATA {
                write_until_full(&flood, 0);
            }
        }
        assert!(between <= 60, "{between} messages of the flood went between 60 others");
    });
}

/// A sequence of numbers that looks random and is the same each time.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % below
}

/// How a client leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Leaves {
    Gracefully,
    Aborting,
    /// With data unread, as one that was killed.
    Dying,
}

#[test]
fn nothing_is_lost_and_nothing_remains_however_clients_leave() {
    counted(|path, counts| {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for round in 0..6 {
            let server = listener(path, SOCK_SEQPACKET);
            let mut expected = Vec::new();
            let mut clients = Vec::new();
            for who in 0..15 {
                let client = dial_listener(path);
                let messages = 1 + draw(&mut state, 150) as u32;
                for n in 0..messages {
                    let size = 8 + draw(&mut state, 3000) as usize;
                    client.send(TxHeader::default(), &numbered(who, n, size));
                }
                let leaves = match draw(&mut state, 3) {
                    0 => Leaves::Aborting,
                    1 => Leaves::Dying,
                    _ => Leaves::Gracefully,
                };
                expected.push((messages, leaves));
                clients.push(client);
            }
            // The first message of each is read, and those are answered that die of it.
            let (mut first, mut seen) = (Vec::new(), vec![0; expected.len()]);
            while seen.contains(&0) {
                let (header, body) = server.receive();
                if header.kind == kind::DATA {
                    let who = word(&body, 0) as usize;
                    if seen[who] == 0 && expected[who].1 == Leaves::Dying {
                        let to =
                            TxHeader { association: header.association, ..TxHeader::default() };
                        server.send(to, b"never read");
                    }
                    assert_eq!(word(&body, 4), seen[who]);
                    seen[who] += 1;
                    first.push(header.association);
                }
            }
            for (client, (_, leaves)) in clients.into_iter().zip(&expected) {
                match leaves {
                    Leaves::Aborting => {
                        client.send(TxHeader { sinfo_flags: 4, ..TxHeader::default() }, b"");
                    }
                    Leaves::Dying => {
                        recv(&client.fd, &mut [0; 1][..], RecvFlags::PEEK).unwrap();
                    }
                    Leaves::Gracefully => {}
                }
            }
            // Some servers read on, and others are closed with everything unread.
            if round % 3 == 2 {
                drop(server);
                counts.wait_for(0);
                continue;
            }
            let mut ended = 0;
            while ended < expected.len() {
                let (header, body) = server.receive();
                if header.kind == kind::DATA {
                    let who = word(&body, 0) as usize;
                    assert_eq!(word(&body, 4), seen[who]);
                    seen[who] += 1;
                } else if body[..2] == 0x8001u16.to_ne_bytes() && body[8] != 0 {
                    ended += 1;
                }
            }
            for (who, (messages, leaves)) in expected.into_iter().enumerate() {
                if leaves == Leaves::Gracefully {
                    assert_eq!(seen[who], messages, "of {who} in round {round}");
                }
            }
            counts.wait_for(0);
        }
    });
}
