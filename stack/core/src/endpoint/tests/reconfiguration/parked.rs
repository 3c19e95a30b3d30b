//! Messages of streams that are being reset (RFC 6525 §5.1.2), while they wait for that.

use super::*;
use crate::reliability::Reliability;

fn priority(value: u32) -> SendOptions {
    SendOptions { reliability: Some(Reliability::Priority(value)), ..SendOptions::default() }
}

/// RFC 7496 §3.2, also where the peer takes its time to reset.
#[test]
fn what_waits_for_a_reset_makes_room() {
    let config = AssociationConfig {
        extensions: Extensions {
            stream_reconfiguration: true,
            partial_reliability: true,
            ..Extensions::NONE
        },
        send_buffer: 5000,
        ..config()
    };
    let mut script = Script::connecting(&config);
    let mut parameters = ParameterWriter::new();
    parameters
        .state_cookie(b"cookie")
        .supported_extensions(&[ChunkType::RE_CONFIG.0])
        .forward_tsn_supported();
    script.init_ack_with(&peer_fields(), &mut parameters);
    script.cookie_ack();
    send(&mut script, 3);
    script.sack(1, &[]);
    reset(&mut script, ResetDirection::Outgoing, &[3]);
    for _ in 0..4 {
        script.try_send(3, 1200, priority(9)).unwrap();
    }
    for _ in 0..20 {
        answer(&mut script, 0, ReconfigurationResult::IN_PROGRESS);
        script.wait(secs(1));
    }
    // What matters less is refused, what matters more takes the room of the oldest.
    assert!(script.try_send(4, 1200, priority(9)).is_err());
    script.try_send(4, 1200, priority(1)).unwrap();
    let sent = script.poll();
    assert_eq!(sent.len(), 1);
    assert_eq!(script.stats().messages_abandoned_unsent, 1);
}
