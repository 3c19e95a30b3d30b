//! One endpoint in several parts.
#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::time::Duration;

use tresse::{
    Association, Config, ConnectError, Endpoint, Event, NotOpened, ObservedEvent, ObservedPacket,
    Observer, SendError, SendOptions, ShardedEndpoint, StreamId,
};

const PORT: u16 = 5001;

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn sharded(config: Config, shards: usize) -> ShardedEndpoint {
    let (endpoint, drivers) = ShardedEndpoint::open(config, shards).unwrap();
    for driver in drivers {
        tokio::spawn(driver);
    }
    endpoint
}

async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| panic!("{what} took {limit:?}"))
}

/// Sends back what comes, until the end.
async fn echo(association: Association) {
    while let Ok(received) = association.recv().await {
        let payload = received.payload;
        association.send(StreamId(0), payload).await.unwrap();
    }
}

async fn ask(association: &Association, question: &str) {
    let question = question.to_owned();
    association.send(StreamId(0), question.clone()).await.unwrap();
    let answer = soon("the answer", association.recv()).await.unwrap().payload;
    assert_eq!(answer, question);
}

fn serve(server: ShardedEndpoint) -> std::sync::Arc<ShardedEndpoint> {
    let server = std::sync::Arc::new(server);
    let accepting = std::sync::Arc::clone(&server);
    tokio::spawn(async move {
        while let Ok(association) = accepting.accept().await {
            tokio::spawn(echo(association));
        }
    });
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn associations_are_spread_and_the_kernel_finds_their_part() {
    let server = serve(sharded(Config::server(loopback(), PORT), 3));
    let address = server.local_addr();
    let mut clients = tokio::task::JoinSet::new();
    for n in 0..60 {
        clients.spawn(async move {
            let client = Endpoint::bind(Config::client(loopback())).unwrap();
            let association = soon("connecting", client.connect((address, PORT))).await.unwrap();
            for m in 0..20 {
                ask(&association, &format!("question {m} of client {n}")).await;
            }
            soon("the shutdown", association.shutdown()).await.unwrap();
        });
    }
    while let Some(end) = clients.join_next().await {
        end.unwrap();
    }
    soon("idleness", server.wait_idle()).await;
    let answered: Vec<u64> = server.shards().iter().map(|s| s.stats().inits_answered).collect();
    assert!(answered.iter().all(|count| *count > 0), "{answered:?}");
    assert_eq!(answered.iter().sum::<u64>(), 60);
    assert_eq!(server.forwarded(), (0, 0), "the kernel knows where packets belong");
}

#[tokio::test]
async fn a_message_goes_to_all_associations_of_all_shards() {
    let server = sharded(Config::server(loopback(), PORT), 3);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for streams in 1..=12 {
        let mut config = Config::client(loopback());
        config.sctp.association.inbound_streams = streams;
        let client = Endpoint::bind(config).unwrap();
        let (their, our) =
            tokio::join!(client.connect((server.local_addr(), PORT)), server.accept());
        theirs.push(their.unwrap());
        ours.push(our.unwrap());
    }
    // Each lacks a stream, and there is no order between shards.
    let missed = server.send_to_all(4, "stream 4", SendOptions::default());
    assert_eq!(missed.len(), 4);
    for (shard, id, error) in missed {
        assert!(matches!(error, SendError::NoStream { stream: 4, streams: 1..=4 }), "{error}");
        assert!(ours.iter().any(|association| association.id() == id) && shard < 3);
    }
    for association in &theirs[4..] {
        assert_eq!(soon("the message", association.recv()).await.unwrap().payload, "stream 4");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_endpoint_takes_nobody_and_keeps_who_is_there() {
    let server = sharded(Config::server(loopback(), PORT), 2);
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let ours = soon("connecting", client.connect((server.local_addr(), PORT))).await.unwrap();
    let theirs = soon("accepting", server.accept()).await.unwrap();
    server.close();
    assert_eq!(
        soon("refusing", server.accept()).await.unwrap_err(),
        tresse::AcceptError::EndpointClosed
    );
    ours.send(0, "still here").await.unwrap();
    assert_eq!(soon("a message", theirs.recv()).await.unwrap().payload, "still here");
}

/// The INIT of the next life arrives at any part, and is passed on to the one with the association.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_restarts_is_recognised() {
    const LIVES: usize = 12;
    let server = sharded(Config::server(loopback(), PORT), 4);
    let address = server.local_addr();
    let reserved = Endpoint::bind(Config::client(loopback())).unwrap();
    let here = reserved.local_addr();
    drop(reserved);
    let mut theirs = None;
    for life in 0..LIVES {
        let mut config = Config::client(here);
        config.sctp.local_port = 7000;
        let (client, driver) = loop {
            // The life before has perhaps not let go of the port yet.
            let mut again = Config::client(here);
            again.sctp.local_port = 7000;
            match Endpoint::open(again) {
                Ok(pair) => break pair,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        let driver = tokio::spawn(driver);
        let ours = soon("connecting", client.connect((address, PORT))).await.unwrap();
        match &theirs {
            None => theirs = soon("the association", server.accept()).await.ok(),
            Some(theirs) => {
                assert_eq!(soon("the news", theirs.next_event()).await, Some(Event::Restarted));
            }
        }
        ours.send(StreamId(0), format!("life {life}")).await.unwrap();
        let got = soon("a message", theirs.as_ref().unwrap().recv()).await.unwrap();
        assert_eq!(got.payload, format!("life {life}"));
        // It dies without a word.
        driver.abort();
        let _ = driver.await;
        drop(config);
    }
    let (forwarded, lost) = server.forwarded();
    assert!(forwarded > 0, "with 4 parts, most INITs arrive at another one");
    assert_eq!(lost, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_association_to_a_peer_whatever_the_part() {
    let server = serve(sharded(Config::server(loopback(), PORT), 2));
    let client = sharded(Config::client(loopback()), 2);
    let first = soon("connecting", client.connect((server.local_addr(), PORT))).await.unwrap();
    let second = soon("the refusal", client.connect((server.local_addr(), PORT))).await;
    assert_eq!(second.unwrap_err(), ConnectError::NotOpened(NotOpened::Exists));
    ask(&first, "still there?").await;
    soon("the shutdown", first.shutdown()).await.unwrap();
    soon("idleness", client.wait_idle()).await;
    // It is over, so there can be another one, from the other part.
    let third =
        soon("connecting again", client.connect((server.local_addr(), PORT))).await.unwrap();
    ask(&third, "and now?").await;
}

#[tokio::test]
async fn drivers_end_together() {
    let (server, drivers) = ShardedEndpoint::open(Config::server(loopback(), PORT), 3).unwrap();
    let mut running = tokio::task::JoinSet::new();
    for driver in drivers {
        running.spawn(driver);
    }
    let client = Endpoint::bind(Config::client(loopback())).unwrap();
    let ours = soon("connecting", client.connect((server.local_addr(), PORT))).await.unwrap();
    let theirs = soon("accepting", server.accept()).await.unwrap();
    drop(server);
    // One part has an association, and so all have their sockets.
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(running.try_join_next().is_none());
    theirs.send(StreamId(0), "the last word").await.unwrap();
    drop(theirs);
    assert_eq!(soon("it", ours.recv()).await.unwrap().payload, "the last word");
    assert!(soon("the end", ours.recv()).await.is_err());
    while let Some(end) = soon("the end of a driver", running.join_next()).await {
        end.unwrap().unwrap();
    }
}

/// Counts packets, and associations that came.
#[derive(Clone, Default)]
struct Count(std::sync::Arc<std::sync::Mutex<(u64, u64)>>);

impl Observer for Count {
    fn packet(&mut self, _: &ObservedPacket<'_>) {
        self.0.lock().unwrap().0 += 1;
    }
    fn event(&mut self, observed: &ObservedEvent<'_>) {
        let connected = matches!(observed.event, Event::Connected { .. });
        self.0.lock().unwrap().1 += u64::from(connected);
    }
}

#[tokio::test]
async fn each_shard_can_be_observed() {
    let (server, drivers) = ShardedEndpoint::open(Config::server(loopback(), PORT), 2).unwrap();
    let counts = [Count::default(), Count::default()];
    for (mut driver, count) in drivers.into_iter().zip(counts.clone()) {
        driver.observe(Box::new(count));
        tokio::spawn(driver);
    }
    let server = serve(server);
    for n in 0..12 {
        let client = Endpoint::bind(Config::client(loopback())).unwrap();
        let connecting = client.connect((server.local_addr(), PORT));
        let association = soon("connecting", connecting).await.unwrap();
        ask(&association, &format!("question of client {n}")).await;
        soon("the shutdown", association.shutdown()).await.unwrap();
    }
    soon("idleness", server.wait_idle()).await;
    let (mut packets, mut associations) = (0, 0);
    for (count, shard) in counts.iter().zip(server.shards()) {
        let seen = *count.0.lock().unwrap();
        let stats = shard.carrier_stats();
        assert_eq!(seen.0, stats.datagrams_received + stats.datagrams_sent);
        packets += seen.0;
        associations += seen.1;
    }
    assert_eq!(associations, 12);
    assert!(packets >= 12 * 10, "{packets}");
}

#[tokio::test]
async fn what_cannot_be_sharded_says_so() {
    for shards in [0, 1025] {
        let error = ShardedEndpoint::open(Config::client(loopback()), shards).unwrap_err();
        assert!(error.to_string().contains("1 to 1024"), "{error}");
    }
    // Another endpoint's port is in use, although sharing it would be possible.
    let first = sharded(Config::server(loopback(), PORT), 2);
    let second = ShardedEndpoint::open(Config::server(first.local_addr(), PORT), 2);
    assert_eq!(second.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
}
