//! What RFC 6458 has for programs that do without a timer, a loop or a buffer of their own.

use std::future::poll_fn;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tresse::runtime::{Interest, Reactor, Readiness, Runtime, Timer, Tokio};
use tresse::{
    Association, Bytes, Closed, Config, Endpoint, MessagePart, NextMessage, Ppid, SendError,
    SendOptions, StreamId,
};

const PORT: u16 = 5001;

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn bind(change: impl FnOnce(&mut Config)) -> Endpoint {
    let mut config = Config::server(loopback(), PORT);
    change(&mut config);
    Endpoint::bind(config).unwrap()
}

async fn join(server: &Endpoint, client: &Endpoint) -> (Association, Association) {
    let accepted = async { server.accept().await };
    let (theirs, ours) = tokio::join!(client.connect((server.local_addr(), PORT)), accepted);
    (theirs.unwrap(), ours.unwrap())
}

/// The client's end, and the server's.
async fn pair(change: impl Fn(&mut Config)) -> (Association, Association) {
    join(&bind(&change), &bind(&change)).await
}

async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| panic!("{what} took {limit:?}"))
}

// --- SCTP_NXTINFO (§5.3.6).

#[tokio::test]
async fn the_next_message_is_told_and_not_taken() {
    let (a, b) = pair(|_| ()).await;
    assert_eq!(b.next_message(), None);
    let options = SendOptions { ppid: Ppid(7), unordered: true, ..SendOptions::default() };
    a.send_with(3, "one", options).await.unwrap();
    a.send(4, "three").await.unwrap();
    // All has arrived once the end is over, and is still there to be read.
    soon("the shutdown", a.shutdown()).await.unwrap();
    soon("the end", b.closed()).await;
    for _ in 0..2 {
        let next = b.next_message().unwrap();
        let NextMessage { stream, ppid, unordered, len, part, .. } = next;
        assert_eq!((stream, ppid, unordered), (StreamId(3), Ppid(7), true));
        assert_eq!((len, part, next.is_complete()), (3, MessagePart::Whole, true));
    }
    assert_eq!(b.try_recv().unwrap().unwrap().payload, "one");
    assert_eq!(b.next_message().map(|next| (next.stream.0, next.len)), Some((4, 5)));
    assert_eq!(b.recv().await.unwrap().payload, "three");
    assert_eq!(b.next_message(), None);
    assert!(b.try_recv().is_err());
}

#[tokio::test]
async fn of_a_message_in_parts_the_next_part_is_told() {
    const LEN: usize = 3 << 20;
    for interleaving in [false, true] {
        let (a, b) = pair(|config| {
            config.sctp.association.partial_delivery_point = Some(10_000);
            config.sctp.association.extensions.interleaving = interleaving;
        })
        .await;
        let sending = tokio::spawn(async move {
            a.send(2, vec![5; LEN]).await.unwrap();
            a.shutdown().await
        });
        let (mut read, mut parts) = (0, 0);
        while read < LEN {
            let next = soon("a part", async {
                loop {
                    match b.next_message() {
                        Some(next) => break next,
                        None => tokio::task::yield_now().await,
                    }
                }
            });
            // On this thread nothing comes in between.
            let (next, received) = (next.await, b.try_recv().unwrap().unwrap());
            assert_eq!((next.stream, next.ppid), (received.stream, received.ppid));
            assert_eq!((next.len, next.part), (received.payload.len(), received.part));
            assert_eq!(next.is_complete(), read + next.len == LEN);
            read += next.len;
            parts += 1;
        }
        assert_eq!((read, b.next_message()), (LEN, None));
        assert!(parts > 2, "{parts}");
        soon("the shutdown", sending).await.unwrap().unwrap();
    }
}

// --- SCTP_EXPLICIT_EOR (§8.1.26).

#[tokio::test]
async fn pieces_are_one_message() {
    let (a, b) = pair(|_| ()).await;
    let options = SendOptions { ppid: Ppid(9), ..SendOptions::default() };
    let (mut first, mut second) = (a.begin_message(1, options), a.begin_message(1, options));
    let dropped = {
        let mut message = a.begin_message(1, options);
        message.append("never").unwrap();
        message.len()
    };
    assert_eq!(dropped, 5);
    for n in 0..100u32 {
        first.append(n.to_be_bytes()).unwrap();
        second.append(Bytes::from(vec![n as u8; 1000])).unwrap();
    }
    first.append([]).unwrap();
    assert_eq!((first.len(), second.len(), second.is_empty()), (400, 100_000, false));
    // The order is that of the ends.
    second.try_send().unwrap();
    assert_eq!((second.len(), second.is_empty()), (0, true));
    first.send().await.unwrap();
    second.append("again").unwrap();
    second.send().await.unwrap();
    let mut got = Vec::new();
    for _ in 0..3 {
        let received = soon("a message", b.recv()).await.unwrap();
        assert_eq!((received.stream, received.ppid), (StreamId(1), Ppid(9)));
        got.push(received.payload);
    }
    assert_eq!((got[0].len(), got[0][99_999]), (100_000, 99));
    assert_eq!((got[1].len(), &got[1][396..]), (400, &99u32.to_be_bytes()[..]));
    assert_eq!(got[2], "again");
}

#[tokio::test]
async fn a_message_grows_up_to_the_largest_one_and_not_beyond() {
    let (a, b) = pair(|config| config.sctp.association.max_message_size = 1000).await;
    let mut message = a.begin_message(0, SendOptions::default());
    message.append([1; 999]).unwrap();
    let refused = message.append([2; 2]).unwrap_err();
    assert_eq!(refused, SendError::TooLarge { size: 1001, limit: 1000 });
    assert_eq!(message.len(), 999);
    message.append([3]).unwrap();
    message.send().await.unwrap();
    let payload = soon("the message", b.recv()).await.unwrap().payload;
    assert_eq!((payload.len(), payload[998], payload[999]), (1000, 1, 3));
    // What cannot be sent is told at the end.
    let nothing = a.begin_message(0, SendOptions::default());
    assert_eq!(nothing.send().await, Err(SendError::Empty));
    let mut nowhere = a.begin_message(a.outbound_streams(), SendOptions::default());
    nowhere.append("x").unwrap();
    assert!(matches!(nowhere.try_send(), Err(SendError::NoStream { .. })));
    assert_eq!(nowhere.len(), 1);
    let mut late = a.begin_message(0, SendOptions::default());
    soon("the shutdown", a.shutdown()).await.unwrap();
    assert!(matches!(late.append("x"), Err(SendError::Closed(closed)) if closed.is_graceful()));
}

#[tokio::test]
async fn a_message_that_finds_no_room_waits_or_stays() {
    let (a, b) = pair(|config| {
        config.sctp.association.send_buffer = 10_000;
        config.sctp.association.receive_buffer = 10_000;
    })
    .await;
    let mut message = a.begin_message(0, SendOptions::default());
    message.append([1; 4000]).unwrap();
    let mut sent = 0;
    let refused = loop {
        match a.try_send(0, vec![0; 5000]) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    // Nobody reads: whatever leaves meanwhile, there is no room for long.
    assert_eq!(refused, SendError::WouldBlock);
    while message.try_send().is_ok() {
        sent += 1;
        message.append([1; 4000]).unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(message.len(), 4000);
    message.append("end").unwrap();
    let sending = tokio::spawn(message.send());
    for _ in 0..sent {
        soon("a message", b.recv()).await.unwrap();
    }
    let last = soon("the last one", b.recv()).await.unwrap();
    assert_eq!((last.payload.len(), &last.payload[4000..]), (4003, &b"end"[..]));
    sending.await.unwrap().unwrap();
}

// --- SCTP_SENDALL (§5.3.4).

#[tokio::test]
async fn a_message_goes_to_all_that_are_open() {
    let server = bind(|config| config.sctp.association.outbound_streams = 5);
    let of_streams = |streams| bind(|config| config.sctp.association.inbound_streams = streams);
    let (alice, hers) = join(&server, &of_streams(5)).await;
    let (bob, his) = join(&server, &of_streams(5)).await;
    let (few, of_few) = join(&server, &of_streams(2)).await;
    let (_gone, of_gone) = join(&server, &of_streams(5)).await;
    soon("the end", async { of_gone.shutdown().await }).await.unwrap();
    let (left, of_left) = join(&server, &of_streams(5)).await;
    drop(of_left);
    // Nobody has taken this one.
    let unmet = of_streams(5);
    let unmet = unmet.connect((server.local_addr(), PORT)).await.unwrap();
    let payload = Bytes::from(vec![7; 2000]);
    let options = SendOptions { ppid: Ppid(3), ..SendOptions::default() };
    let missed = server.send_to_all(4, payload.clone(), options);
    assert_eq!(missed, [(of_few.id(), SendError::NoStream { stream: 4, streams: 2 })]);
    assert!(server.send_to_all(0, "all", SendOptions::default()).is_empty());
    for association in [&alice, &bob] {
        let mut received = Vec::new();
        for _ in 0..2 {
            received.push(soon("the message", association.recv()).await.unwrap());
        }
        // Streams do not wait for each other.
        received.sort_by_key(|message| message.stream.0);
        assert_eq!((received[0].stream, &received[0].payload[..]), (StreamId(0), &b"all"[..]));
        assert_eq!((received[1].stream, received[1].ppid), (StreamId(4), Ppid(3)));
        assert_eq!(received[1].payload, payload);
    }
    assert_eq!(soon("the message", few.recv()).await.unwrap().payload, "all");
    assert!(soon("the end", left.recv()).await.is_err());
    drop(server.accept().await.unwrap());
    assert!(soon("the end", unmet.recv()).await.is_err());
    // A full buffer is no reason to wait.
    while hers.try_send(0, vec![1; 100_000]).is_ok() {}
    let missed = server.send_to_all(0, vec![2; 100_000], SendOptions::default());
    assert_eq!(missed, [(hers.id(), SendError::WouldBlock)]);
    assert_eq!(server.send_to_all(0, "", SendOptions::default()).len(), 3);
    assert_eq!(soon("the message", bob.recv()).await.unwrap().payload.len(), 100_000);
    drop(his);
}

// --- SCTP_AUTOCLOSE (§8.1.8).

#[tokio::test]
async fn an_idle_association_is_shut_down() {
    let limit = Duration::from_millis(200);
    let (a, b) = pair(|_| ()).await;
    let begun = Instant::now();
    a.send(0, "hello").await.unwrap();
    soon("hello", b.recv()).await.unwrap();
    soon("the end", b.close_when_idle(limit)).await.unwrap();
    assert!(begun.elapsed() >= limit, "{:?}", begun.elapsed());
    assert!(a.closed().await.is_graceful());
    // What is over is told at once.
    soon("nothing", b.close_when_idle(Duration::MAX)).await.unwrap();
}

#[tokio::test]
async fn an_association_that_nobody_ever_used_is_idle_since_it_began() {
    let begun = Instant::now();
    let (a, b) = pair(|_| ()).await;
    // None of these calls begins anew.
    let limit = Duration::from_millis(500);
    let ended = loop {
        let idle = a.close_when_idle(limit);
        match tokio::time::timeout(Duration::from_millis(30), idle).await {
            Ok(ended) => break ended,
            Err(_) => assert!(begun.elapsed() < Duration::from_secs(15)),
        }
    };
    // A shutdown that was begun goes on without the call.
    assert_eq!(ended, Ok(()));
    assert!(begun.elapsed() >= limit && b.closed().await.is_graceful());
}

#[tokio::test]
async fn an_end_before_is_told_at_once_and_who_drops_the_call_keeps_the_association() {
    let (a, b) = pair(|_| ()).await;
    let limit = Duration::from_millis(500);
    let mut call = Box::pin(a.close_when_idle(limit));
    let pending = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_pending())).await;
    assert!(pending);
    drop(call);
    tokio::time::sleep(limit * 3 / 2).await;
    a.send(0, "still here").await.unwrap();
    assert_eq!(soon("the message", b.recv()).await.unwrap().payload, "still here");
    let waiting = tokio::spawn(async move { a.close_when_idle(Duration::MAX).await });
    tokio::task::yield_now().await;
    b.abort("enough");
    let Err(Closed::Association(reason)) = soon("the end", waiting).await.unwrap() else {
        panic!("it was no graceful end");
    };
    assert!(reason.to_string().contains("enough"), "{reason}");
}

/// Tokio, of which it is counted how often timers are set, but for that of the driver.
#[derive(Debug, Default)]
struct Counting {
    timers: AtomicUsize,
    set: Arc<AtomicUsize>,
}

impl Reactor for Counting {
    fn register(
        &self,
        socket: Arc<UdpSocket>,
        interest: Interest,
    ) -> std::io::Result<Box<dyn Readiness>> {
        Tokio.register(socket, interest)
    }
}

impl Runtime for Counting {
    fn timer(&self) -> Pin<Box<dyn Timer>> {
        let of_driver = self.timers.fetch_add(1, Ordering::Relaxed) == 0;
        let set = if of_driver { Arc::default() } else { Arc::clone(&self.set) };
        Box::pin(Counted(Tokio.timer(), set))
    }
}

struct Counted(Pin<Box<dyn Timer>>, Arc<AtomicUsize>);

impl Timer for Counted {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.as_mut().reset(at);
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

#[tokio::test]
async fn traffic_of_either_direction_keeps_it_and_costs_a_look_in_each_limit() {
    let limit = Duration::from_millis(400);
    for sends in [false, true] {
        let runtime = Counting::default();
        let set = Arc::clone(&runtime.set);
        let (watched, driver) =
            Endpoint::open_with(Config::server(loopback(), PORT), Arc::new(runtime)).unwrap();
        tokio::spawn(driver);
        let (other, watched) = join(&watched, &bind(|_| ())).await;
        let (from, to) = if sends { (&watched, &other) } else { (&other, &watched) };
        let (begun, mut last) = (Instant::now(), Instant::now());
        let traffic = async {
            while begun.elapsed() < 4 * limit {
                let before = Instant::now();
                if from.send(0, "more").await.is_err() || to.recv().await.is_err() {
                    break; // This machine has slept for too long.
                }
                last = before;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let idle = watched.close_when_idle(limit);
        let (ended, ()) = soon("the end", async { tokio::join!(idle, traffic) }).await;
        ended.unwrap();
        assert!(last.elapsed() >= limit, "{:?}", last.elapsed());
        let limits = begun.elapsed().as_secs_f64() / limit.as_secs_f64();
        let looks = set.load(Ordering::Relaxed);
        assert!(looks >= 1 && looks as f64 <= 2.0 * limits + 1.0, "{looks} in {limits} limits");
    }
}
