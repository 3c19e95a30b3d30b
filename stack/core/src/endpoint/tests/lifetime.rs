//! Messages that are worth sending for a while only (RFC 9260 §11.1.5).

use super::*;
use crate::SendError;
use sent::{only, types};

/// Sends this many bytes, to be forgotten after 100 ms.
fn mortal(script: &mut Script, len: usize) {
    let options = SendOptions {
        lifetime: Some(Duration::from_millis(100)),
        context: 9,
        ..Default::default()
    };
    script.try_send(0, len, options).unwrap();
}

fn expired(script: &Script) -> Vec<usize> {
    let len = |event: &Event| match event {
        Event::Expired(failure) => {
            assert!(!failure.sent && failure.context == 9);
            Some(failure.message.payload.len())
        }
        _ => None,
    };
    script.events.iter().filter_map(len).collect()
}

/// The peer has closed its window, so that only a probe is under way.
fn stuck(config: &AssociationConfig) -> Script {
    let mut script = Script::connected(config);
    script.send(100);
    script.sack_with(1, &[], 0);
    script
}

#[test]
fn what_was_sent_in_time_is_reliable() {
    let mut script = Script::connected(&standard());
    mortal(&mut script, 100);
    assert_eq!(only(&script.poll()).data().len(), 1);
    let again = script.wait_for_data();
    assert_eq!(script.numbers(&again), [[0]], "T3-rtx");
    assert_eq!(expired(&script), [0; 0]);
}

#[test]
fn what_waits_too_long_is_given_back_and_makes_room() {
    let config = AssociationConfig { send_buffer: 10_000, ..standard() };
    let mut script = stuck(&config);
    script.send(500);
    for len in 1000..1008 {
        mortal(&mut script, len);
    }
    assert_eq!(script.try_send(0, 2000, SendOptions::default()), Err(SendError::WouldBlock));
    script.wait(Duration::from_millis(99));
    assert_eq!(expired(&script), [0; 0]);
    script.wait(Duration::from_millis(1));
    assert_eq!(expired(&script), (1000..1008).collect::<Vec<_>>());
    assert!(script.events.contains(&Event::Writable));
    assert_eq!(script.stats().messages_expired, 8);
    // The one that lives for ever is still there, and no SSN was used for the others.
    let sent = script.sack_with(1, &[], 100_000);
    assert_eq!(only(&sent).data()[0].payload.len(), 500);
}

#[test]
fn a_shutdown_does_not_wait_for_what_nobody_wants_any_more() {
    let mut script = stuck(&standard());
    mortal(&mut script, 1000);
    script.shutdown();
    assert_eq!(script.state(), State::ShutdownPending);
    let sent = script.wait(Duration::from_millis(100));
    assert_eq!(types(&sent), [[ChunkType::SHUTDOWN]]);
    assert_eq!(expired(&script), [1000]);
}
