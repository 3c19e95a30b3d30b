//! What both ends of an interoperability test send and receive, and how long that may take.

use std::future::Future;
use std::time::Duration;

use tresse::{Association, CloseReason, Closed, Ppid, SendOptions, StreamId};

use crate::{Payload, PeerReport, Received};

/// No step of a test takes longer; the peer ends by itself a little earlier and says why.
pub const LIMIT: Duration = Duration::from_secs(60);
/// When the peer gives up.
pub const PEER_TIMEOUT_SECONDS: u32 = 55;

/// 10 MB in messages of one packet each.
pub const BULK: Payload = Payload { messages: 10_000, size: 1_000, ..Payload::PLAIN };
/// Small messages that are bundled, on many streams.
pub const SMALL: Payload = Payload { messages: 2_000, size: 50, streams: 64, ..Payload::PLAIN };
/// 10 MB in messages of 46 fragments each.
pub const LARGE: Payload = Payload { messages: 160, size: 65_536, streams: 4, ..Payload::PLAIN };
/// Enough for a test of how an association begins or ends.
pub const BRIEF: Payload = Payload { messages: 200, size: 1_000, streams: 2, ..Payload::PLAIN };

/// What a peer reports when it received and sent all of `payload`.
pub fn all_of(payload: Payload, end: &str) -> PeerReport {
    PeerReport {
        received: payload.bytes(),
        messages: payload.messages,
        sum: payload.sum(payload.messages),
        sent: payload.bytes(),
        end: end.to_owned(),
    }
}

/// Runs Tresse's side of a test on the current thread.
///
/// # Panics
/// When it takes longer than [`LIMIT`].
pub fn run(test: impl Future<Output = ()>) {
    run_for(LIMIT, test);
}

/// The same, with another limit.
///
/// # Panics
/// When it takes longer than `limit`.
pub fn run_for<R>(limit: Duration, test: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let result = tokio::time::timeout(limit, test).await;
        result.unwrap_or_else(|_| panic!("Tresse's side did not end within {limit:?}"))
    })
}

/// Runs what blocks beside the runtime, whose other tasks go on.
///
/// # Panics
/// As `work` does.
pub async fn blocking<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// Sends all of `payload`.
///
/// # Panics
/// When the association refuses a message.
pub async fn send_all(association: &Association, payload: Payload) {
    for index in 0..payload.messages {
        let options = SendOptions {
            ppid: Ppid(payload.ppid(index)),
            unordered: payload.unordered,
            ..SendOptions::default()
        };
        let stream = StreamId(payload.stream(index));
        association.send_with(stream, payload.message(index), options).await.unwrap();
    }
}

/// Receives and verifies all of `payload`.
///
/// # Panics
/// When anything about it is not as sent.
pub async fn receive_all(association: &Association, payload: Payload) {
    let received = receive(association, Received::new(payload), |_| ()).await;
    received.unwrap_or_else(|why| panic!("{why}"));
}

/// Receives and verifies until all is there, and tells after each message how many have come; gives their number.
///
/// # Errors
/// What was not as sent, or how the association ended before.
pub async fn receive(
    association: &Association,
    mut received: Received,
    mut tell: impl FnMut(u64),
) -> Result<u64, String> {
    while !received.is_complete() {
        let message = association
            .recv()
            .await
            .map_err(|closed| format!("ended after {} messages: {closed}", received.messages()))?;
        received
            .accept(message.stream.0, message.ppid.0, message.unordered, &message.payload)
            .map_err(|error| error.to_string())?;
        tell(received.messages());
    }
    Ok(received.messages())
}

/// Sends and receives all of `payload` at the same time.
///
/// # Panics
/// As the two, or when the streams are not those of `payload`.
pub async fn exchange(association: &Association, payload: Payload) {
    assert_eq!(association.outbound_streams(), payload.streams);
    assert_eq!(association.inbound_streams(), payload.streams);
    tokio::join!(send_all(association, payload), receive_all(association, payload));
}

/// Aborts while the peer goes on sending.
///
/// # Panics
/// When the peer stops before, or the association ends in another way.
pub async fn interrupt(association: &Association) {
    for _ in 0..100 {
        assert!(association.recv().await.is_ok(), "the peer goes on sending");
    }
    association.abort("enough");
    assert_eq!(association.closed().await, Closed::Association(CloseReason::Aborted));
}
