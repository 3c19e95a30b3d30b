//! A reader on another thread than the driver's.

use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tresse::{Config, Endpoint, Event, ResetDirection, StreamId};

/// The library says that what comes behind a reset of streams is read once its event is there. The driver polls the event, lets
/// go of the lock to write packets, and hands the event over later: who reads on another thread meanwhile is faster.
#[test]
fn what_is_behind_a_reset_is_read_once_its_event_is_there() {
    let run = |work: std::pin::Pin<Box<dyn Future<Output = ()>>>| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(work);
    };
    let (told, there) = mpsc::channel();
    let (give, taken) = mpsc::channel();
    let (go, mut goes) = tokio::sync::mpsc::unbounded_channel::<()>();
    std::thread::spawn(move || {
        run(Box::pin(async move {
            let (endpoint, driver) =
                Endpoint::open(Config::server("127.0.0.1:0".parse().unwrap(), 7000)).unwrap();
            let driver = tokio::spawn(driver);
            told.send(endpoint.local_addr()).unwrap();
            let incoming = endpoint.accept().await.unwrap();
            give.send(incoming).unwrap();
            let _ = driver.await;
        }));
    });
    let there = there.recv().unwrap();
    std::thread::spawn(move || {
        run(Box::pin(async move {
            let mut config = Config::client("127.0.0.1:0".parse().unwrap());
            config.sctp.association.encapsulation = Some(there.port());
            let (endpoint, driver) = Endpoint::open(config).unwrap();
            let _driver = tokio::spawn(driver);
            let association = endpoint.connect((there, 7000)).await.unwrap();
            let reader = association.clone();
            tokio::spawn(async move { while reader.recv().await.is_ok() {} });
            while goes.recv().await.is_some() {
                association.send(1, "before").await.unwrap();
                association.reset_streams(ResetDirection::Outgoing, &[StreamId(1)]).unwrap();
                association.send(1, "behind").await.unwrap();
                while !matches!(association.next_event().await, Some(Event::StreamsReset { .. })) {}
            }
        }));
    });
    go.send(()).unwrap();
    let association = taken.recv_timeout(Duration::from_secs(5)).unwrap();
    let (mut early, mut rounds) = (0, 0);
    for _ in 0..60 {
        let start = std::time::Instant::now();
        while association.stats().receive_buffered < 128 && start.elapsed() < Duration::from_secs(5)
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(2));
        rounds += 1;
        // There is something to write.
        for _ in 0..4 {
            let _ = association.try_send(0, vec![0; 200_000]);
        }
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        loop {
            assert!(std::time::Instant::now() < deadline, "what is behind the reset does not come");
            let Some(message) = association.try_recv().unwrap() else { continue };
            if message.payload == "behind" {
                break;
            }
        }
        let mut event = std::pin::pin!(association.next_event());
        let mut cx = Context::from_waker(Waker::noop());
        match event.as_mut().poll(&mut cx) {
            Poll::Ready(_) => {}
            Poll::Pending => {
                early += 1;
                while event.as_mut().poll(&mut cx).is_pending() {
                    std::thread::yield_now();
                }
            }
        }
        go.send(()).unwrap();
    }
    assert_eq!(early, 0, "of {rounds} resets");
}
