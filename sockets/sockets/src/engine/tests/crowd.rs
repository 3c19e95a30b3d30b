//! What associations cost that do nothing.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;

use tresse::{AssociationConfig, Config, Event, PortConfig, Profile, RawEndpoint};

use super::*;

const PORT: u16 = 7300;

/// Associations that do nothing.
const IDLE: u16 = 3000;

/// Messages there and back.
const ECHOES: u32 = 200;

/// How often it is measured until the machine is quiet.
const TRIES: u32 = 50;

/// Processor time of this thread, and how often it was woken or went on.
#[derive(Clone, Copy)]
struct Cost {
    time: Duration,
    turns: u64,
}

fn cost() -> Cost {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let fields: Vec<u64> = text.split_whitespace().map(|field| field.parse().unwrap()).collect();
    Cost { time: Duration::from_nanos(fields[0]), turns: fields[2] }
}

fn since(before: Cost) -> Cost {
    let now = cost();
    Cost { time: now.time - before.time, turns: now.turns - before.turns }
}

/// A peer with many ports, each of which has an association; until it is told to go.
fn crowd(server: SocketAddr, ready: &mpsc::Sender<()>, go: &mpsc::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config = Config::client("127.0.0.1:0".parse().unwrap());
        let (raw, mut events, driver) = RawEndpoint::open(config).unwrap();
        let driver = tokio::spawn(driver);
        let config = AssociationConfig {
            encapsulation: Some(server.port()),
            ..AssociationConfig::default()
        };
        let mut connected = 0;
        for port in 10_000..10_000 + IDLE {
            raw.act(|core, now| {
                core.open_port(port, PortConfig::default()).unwrap();
                core.connect_from(now, port, &[server.ip()], PORT, config.clone()).unwrap();
            });
            // Some at a time, so that the socket has room for all.
            while u32::from(port - 10_000) > connected + 64 {
                let (_, event) = events.recv().await.unwrap();
                connected += u32::from(matches!(event, Event::Connected { .. }));
            }
        }
        while connected < u32::from(IDLE) {
            let (_, event) = events.recv().await.unwrap();
            connected += u32::from(matches!(event, Event::Connected { .. }));
        }
        ready.send(()).unwrap();
        while go.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        driver.abort();
    });
}

/// A program's end of an association, and the socket that it is of; a message goes there and back.
fn echo(client: &Client, server: &Client, first: bool) {
    for n in 0..if first { 1 } else { ECHOES } {
        client.send(TxHeader::default(), &n.to_be_bytes());
        let (header, body) = server.receive();
        assert_eq!(body, n.to_be_bytes());
        server.send(TxHeader { association: header.association, ..TxHeader::default() }, &body);
        assert_eq!(client.receive().1, body);
    }
}

#[test]
fn three_thousand_that_do_nothing_cost_next_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let many = "limits = { inits_per_source = 1_000_000 }";
        let profile = Arc::new(Profile::tresse().with_overrides(many).unwrap());
        let server = bind_to_itself(&path, &profile);
        let (udp, engine) = (server.udp_addr(), Rc::clone(&server.engine));
        let stop = async {
            let sockets = tokio::task::spawn_blocking(move || {
                let server = Client::socket(&path, SOCK_SEQPACKET);
                server.bind(&format!("127.0.0.1:{PORT}")).unwrap();
                server.call(Op::Listen, 5, 0, &[]).unwrap();
                let client = Client::socket(&path, SOCK_STREAM);
                let to = encode_addresses(&[SocketAddr::from(([127, 0, 0, 1], PORT))]);
                client.call(Op::Connect, 1, 0, &to).unwrap();
                echo(&client, &server, true);
                (client, server)
            });
            let sockets = Arc::new(sockets.await.unwrap());
            let chat = async || {
                let (sockets, before) = (Arc::clone(&sockets), cost());
                let talk = move || echo(&sockets.0, &sockets.1, false);
                tokio::task::spawn_blocking(talk).await.unwrap();
                since(before).time
            };
            let alone = chat().await.min(chat().await).min(chat().await);
            let ((ready, is_ready), (go, told)) = (mpsc::channel(), mpsc::channel());
            let crowd = std::thread::spawn(move || crowd(udp, &ready, &told));
            let is_ready = tokio::task::spawn_blocking(move || is_ready.recv());
            is_ready.await.unwrap().unwrap();
            let memory = engine.borrow().raw.act(|core, _| core.totals().memory);
            // Others on the machine only add to it, some for seconds: a walk over all associations never takes so little.
            let mut among = chat().await;
            for _ in 0..TRIES {
                if among < 3 * alone {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
                among = among.min(chat().await);
            }
            let (before, began) = (cost(), Instant::now());
            tokio::time::sleep(Duration::from_secs(4)).await;
            let (idle, passed) = (since(before), began.elapsed());
            go.send(()).unwrap();
            crowd.join().unwrap();
            println!("{ECHOES} echoes: {alone:?} alone, {among:?} among {IDLE}");
            println!("doing nothing: {:?}, {} turns in {passed:?}", idle.time, idle.turns);
            println!("{memory} bytes");
            assert!(memory < usize::from(IDLE) * 16 * 1024, "{memory} bytes");
            assert!(among < 3 * alone, "{among:?} instead of {alone:?}");
            // A heartbeat each way in half a minute, and what answers it.
            let seconds = passed.as_secs_f64();
            assert!((idle.turns as f64) < f64::from(IDLE) / 5.0 * seconds, "{} turns", idle.turns);
            assert!(idle.time.as_secs_f64() < 0.1 * seconds, "{:?}", idle.time);
            engine.borrow_mut().abort_all();
            drop(sockets);
            Stop { close: true, grace: Duration::from_secs(5) }
        };
        server.run(stop, std::future::pending()).await.unwrap();
    });
}
