//! A program that has asked to be told of everything, and sleeps while associations come and go.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use tresse::{Config, Endpoint, Profile, SendOptions, StreamId};

use super::super::Association;
use super::*;
use tresse_socket_protocol::abi::Fields;

const PORT: u16 = 7200;

/// Peers that come and go at the same time.
const PEERS: u8 = 16;

/// How often each does, and of how many times it leaves a message, and says goodbye.
#[derive(Clone, Copy)]
struct Visits {
    times: u32,
    polite: u32,
}

/// The message of the last one, which stays.
const LAST: &[u8] = b"the last one";

/// What the engine has for programs: associations, and frames and notifications that wait.
pub(super) fn burden(engine: &Engine) -> (usize, usize) {
    let frames: usize = engine.sockets.values().map(|socket| socket.out.len()).sum();
    let told: usize = engine.associations.values().map(|a| a.held.len() + a.last_words.len()).sum();
    (engine.associations.len(), frames + told)
}

/// A peer that comes and goes.
async fn visit(who: u8, server: SocketAddr, Visits { times, polite }: Visits) {
    let here = SocketAddr::from(([127, 0, 1, who], 0));
    let peer = Endpoint::bind(Config::client(here)).unwrap();
    for time in 0..times {
        let association = peer.connect((server, PORT)).await.unwrap();
        if time % polite == polite / 2 {
            let message = [who, (time / polite) as u8];
            let options = SendOptions::default();
            association.send_with(StreamId(0), message.to_vec(), options).await.unwrap();
            association.shutdown().await.unwrap();
        } else {
            association.abort("enough");
            association.closed().await;
        }
    }
}

/// What the program reads when it wakes up: of each association that it is told of how it begins and how
/// it ends, and the messages.
fn wake_up(server: &Client) -> (usize, Vec<Vec<u8>>) {
    let (mut open, mut told, mut messages) = (BTreeMap::new(), 0, Vec::new());
    set_socket_timeout(&server.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
    // The last one says so, and stays.
    while open.len() != 1 || !messages.iter().any(|message| message == LAST) {
        let (header, body) = server.receive();
        let number = header.association;
        if header.kind == kind::DATA {
            assert!(open.contains_key(&number), "a message of {number}, of which nothing is known");
            messages.push(body);
            continue;
        }
        match (Fields(&body).u16(0), Fields(&body).u16(8)) {
            (0x8001, 0) => {
                told += 1;
                assert_eq!(open.insert(number, ()), None, "{number} began twice");
            }
            // Lost, or shut down.
            (0x8001, 1 | 3) => assert_eq!(open.remove(&number), Some(()), "the end of {number}"),
            (0x8005, _) => assert!(open.contains_key(&number)),
            other => panic!("{other:?}"),
        }
    }
    messages.retain(|message| message != LAST);
    (told, messages)
}

/// What a program that slept was told of.
struct Woken {
    told: usize,
    messages: Vec<Vec<u8>>,
    /// What the engine had for it at the most.
    burden: (usize, usize),
}

/// A program sleeps while peers come and go, until `then` was done.
fn sleeping(visits: Visits, then: impl FnOnce(&mut Engine)) -> Woken {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let many = "limits = { inits_per_source = 1_000_000, associations_per_source = 65536 }";
        let profile = Profile::tresse().with_overrides(many).unwrap();
        let carrier = SocketAddr::from(([127, 0, 0, 1], 0)).into();
        let settings = Settings { carrier, profile: Arc::new(profile), ..Settings::default() };
        let server = Server::bind(&path, &settings).unwrap();
        let (udp, engine) = (server.udp_addr(), Rc::clone(&server.engine));
        let (wake, asleep) = mpsc::channel();
        let (ready, begin) = tokio::sync::oneshot::channel();
        let program = tokio::task::spawn_blocking(move || {
            let server = Client::socket(&path, SOCK_SEQPACKET);
            server.bind(&format!("127.0.0.1:{PORT}")).unwrap();
            server.call(Op::SetOption, SCTP.into(), 11, &[1; 6]).unwrap();
            server.call(Op::Listen, 5, 0, &[]).unwrap();
            ready.send(()).unwrap();
            asleep.recv().unwrap();
            wake_up(&server)
        });
        let most = Cell::new((0, 0));
        let watch = async {
            loop {
                let (now, before) = (burden(&engine.borrow()), most.get());
                most.set((now.0.max(before.0), now.1.max(before.1)));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let mut read = None;
        let stop = async {
            begin.await.unwrap();
            let all = async {
                let mut peers = tokio::task::JoinSet::new();
                (1..=PEERS).for_each(|who| _ = peers.spawn(visit(who, udp, visits)));
                peers.join_all().await;
            };
            tokio::select! {
                () = watch => unreachable!(),
                () = all => {}
            }
            then(&mut engine.borrow_mut());
            wake.send(()).unwrap();
            let last = Endpoint::bind(Config::client("127.0.0.1:0".parse().unwrap())).unwrap();
            let association = last.connect((udp, PORT)).await.unwrap();
            let options = SendOptions::default();
            association.send_with(StreamId(0), LAST.to_vec(), options).await.unwrap();
            read = program.await.ok();
            Stop { close: true, grace: Duration::from_secs(5) }
        };
        server.run(stop, std::future::pending()).await.unwrap();
        let (told, mut messages) = read.unwrap();
        messages.sort();
        Woken { told, messages, burden: most.get() }
    })
}

/// RFC 6458 promises no notification, but what was acknowledged must be read.
#[test]
fn who_comes_and_goes_while_the_program_sleeps_leaves_nothing_but_messages() {
    let visits = Visits { times: 6250, polite: 1250 };
    let Woken { told, messages, burden: (associations, waiting) } = sleeping(visits, |_| {});
    let left = (visits.times / visits.polite) as u8;
    let expected = (1..=PEERS).flat_map(|who| (0..left).map(move |n| vec![who, n]));
    assert_eq!(messages, expected.collect::<Vec<_>>());
    // Those that were told before the connection was full, those with messages, and those of the moment.
    assert!(associations < 1000, "{associations} associations");
    assert!(waiting < 2000, "{waiting} notifications");
    assert!((100..1000).contains(&told), "{told} associations were told of");
}

/// What the core throws away for want of memory is not kept here either.
#[test]
fn what_was_thrown_away_is_forgotten() {
    let visits = Visits { times: 100, polite: 2 };
    let Woken { told, messages, .. } = sleeping(visits, |engine| {
        let unheard = |a: &&Association| a.ended && !a.known.get();
        let cores: Vec<_> = engine.associations.values().filter(unheard).map(|a| a.core).collect();
        assert!(cores.len() > 100, "{} wait", cores.len());
        cores.iter().for_each(|core| engine.discard(*core));
        engine.sweep_at = 0;
        engine.sweep();
        assert_eq!(engine.associations.values().filter(unheard).count(), 0);
    });
    // Those of the others are read.
    assert!(!messages.is_empty() && messages.len() < usize::from(PEERS) * 50);
    assert!(told > messages.len());
}

/// A one-to-many socket, and a client that has connected to it.
fn called(path: &Path) -> (Client, Client) {
    let server = Client::socket(path, SOCK_SEQPACKET);
    server.bind("127.0.0.1:7000").unwrap();
    server.call(Op::Listen, 5, 0, &[]).unwrap();
    let to = encode_addresses(&["127.0.0.1:7000".parse().unwrap()]);
    let client = Client::socket(path, SOCK_STREAM);
    client.call(Op::Connect, 1, 0, &to).unwrap();
    (server, client)
}

/// There may be associations before somebody asks to be told.
#[test]
fn who_asks_after_the_beginning_is_told_of_the_end() {
    with_engine(|path| {
        let (server, client) = called(path);
        while server.get((SCTP, 28), &[0; 4]).unwrap()[..4] != 1_u32.to_ne_bytes() {
            std::thread::sleep(Duration::from_millis(5));
        }
        server.set((SCTP, 11), &[0, 1, 0, 0, 0, 0]).unwrap();
        // SO_LINGER of 0 s: an abort.
        client.set((1, 13), &[1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        drop(client);
        set_socket_timeout(&server.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
        let (_, body) = server.receive();
        assert_eq!((Fields(&body).u16(0), Fields(&body).u16(8)), (0x8001, 1), "SCTP_COMM_LOST");
    });
}

#[test]
fn what_a_call_names_is_known_and_what_it_lists_is_not() {
    let known = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&known);
    let watch = move |engine: &Engine| {
        let many = |a: &&Association| {
            a.socket.is_some_and(|id| engine.sockets.get(&id).is_some_and(|socket| socket.many))
        };
        let accepted = engine.associations.values().filter(many);
        seen.store(accepted.filter(|a| a.known.get()).count(), Ordering::Relaxed);
    };
    with_watched_engine(watch, move |path| {
        let (server, _client) = called(path);
        let list = loop {
            // SCTP_GET_ASSOC_ID_LIST.
            let list = server.get((SCTP, 29), &[0; 8]).unwrap();
            if list.len() == 8 {
                break list;
            }
        };
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(known.load(Ordering::Relaxed), 0);
        // SCTP_STATUS.
        let mut status = [0; 176];
        status[..4].copy_from_slice(&list[4..]);
        server.get((SCTP, 14), &status).unwrap();
        while known.load(Ordering::Relaxed) != 1 {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}
