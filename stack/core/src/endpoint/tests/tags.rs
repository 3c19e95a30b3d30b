//! Every chunk in every state, with the right and with wrong verification tags (RFC 9260 §8.5,
//! §8.5.1).

use tresse_wire::{Fsn, IData, Mid, RequestNumber};

use super::*;
use script::{PEER_TAG, packet, peer_fields, write_data, write_sack};
use sent::types;

/// Chunks to try, COOKIE ECHO and INIT apart; those that end an association with the T bit too.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Try {
    Data,
    InitAck,
    Sack,
    Heartbeat,
    HeartbeatAck,
    Abort(bool),
    Shutdown,
    ShutdownAck,
    Error,
    CookieAck,
    ShutdownComplete(bool),
    /// Unknown types, with each pair of highest bits.
    Unknown(u8),
}

const ALL: [Try; 16] = [
    Try::Data,
    Try::InitAck,
    Try::Sack,
    Try::Heartbeat,
    Try::HeartbeatAck,
    Try::Abort(false),
    Try::Abort(true),
    Try::Shutdown,
    Try::ShutdownAck,
    Try::Error,
    Try::CookieAck,
    Try::ShutdownComplete(false),
    Try::ShutdownComplete(true),
    Try::Unknown(0x3e),
    Try::Unknown(0x7e),
    Try::Unknown(0xfe),
];

impl Try {
    fn write(self, script: &Script, w: &mut PacketWriter<'_>) {
        let before_first = script.first.wrapping_sub(1);
        match self {
            Try::Data => write_data(w, script.next, 5),
            Try::InitAck => {
                let cookie = ParameterWriter::new().state_cookie(b"c").finish();
                w.init_ack(&peer_fields(), &cookie);
            }
            Try::Sack => write_sack(w, before_first, &[], 99_999),
            Try::Heartbeat => w.heartbeat(b"hello?"),
            Try::HeartbeatAck => w.heartbeat_ack(&[0, 1, 0, 8, 1, 2, 3, 4]),
            Try::Abort(reflected) => w.abort(reflected, &[]),
            Try::Shutdown => w.shutdown(before_first),
            Try::ShutdownAck => w.shutdown_ack(),
            Try::Error => w.error(&CauseWriter::new().out_of_resource().finish()),
            Try::CookieAck => w.cookie_ack(),
            Try::ShutdownComplete(reflected) => w.shutdown_complete(reflected),
            Try::Unknown(kind) => w.raw(&[kind, 0, 0, 4]),
        }
    }

    fn is_reflected(self) -> bool {
        matches!(self, Try::Abort(true) | Try::ShutdownComplete(true))
    }

    /// The state after it, and the chunks that answer it, with the right tag.
    fn expected(self, state: State) -> (State, &'static [ChunkType]) {
        use State::{
            Closed, CookieEchoed, CookieWait, Established, ShutdownAckSent, ShutdownPending,
            ShutdownReceived, ShutdownSent,
        };
        let in_setup = matches!(state, CookieWait | CookieEchoed);
        match self {
            // §6: DATA is taken in ESTABLISHED, SHUTDOWN-PENDING and SHUTDOWN-SENT; §9.2: in the
            // last, answered with SHUTDOWN.
            Try::Data if matches!(state, Established | ShutdownPending) => {
                (state, &[ChunkType::SACK])
            }
            Try::Data if state == ShutdownSent => (state, &[ChunkType::SACK, ChunkType::SHUTDOWN]),
            // §5.1 C, §5.2.3
            Try::InitAck if state == CookieWait => (CookieEchoed, &[ChunkType::COOKIE_ECHO]),
            // §8.3: from COOKIE-ECHOED on.
            Try::Heartbeat if state != CookieWait => (state, &[ChunkType::HEARTBEAT_ACK]),
            // §9.1
            Try::Abort(_) => (Closed, &[]),
            // §9.2
            Try::Shutdown => match state {
                Established | ShutdownSent | ShutdownAckSent => {
                    (ShutdownAckSent, &[ChunkType::SHUTDOWN_ACK])
                }
                ShutdownPending => (ShutdownReceived, &[]),
                // Its data is outstanding: the peer hears that it lives.
                ShutdownReceived => (state, &[ChunkType::HEARTBEAT]),
                _ => (state, &[]),
            },
            // §8.5.1 E
            Try::ShutdownAck if in_setup => (state, &[ChunkType::SHUTDOWN_COMPLETE]),
            // §9.2
            Try::ShutdownAck if matches!(state, ShutdownSent | ShutdownAckSent) => {
                (Closed, &[ChunkType::SHUTDOWN_COMPLETE])
            }
            // §5.1 E
            Try::CookieAck if state == CookieEchoed => (Established, &[]),
            // §8.5.1 C
            Try::ShutdownComplete(_) if state == ShutdownAckSent => (Closed, &[]),
            // §3.2; §5.1 C: nothing but COOKIE ECHO until the COOKIE ACK.
            Try::Unknown(0x40..0x80 | 0xc0..) if !in_setup => (state, &[ChunkType::ERROR]),
            _ => (state, &[]),
        }
    }
}

/// The association in print, but for what counts wrong tags.
fn print(script: &Script) -> String {
    let text = format!("{:?}", script.end.roll.get(script.id));
    text.replace("wrong_tag: 1", "wrong_tag: 0")
}

fn flat(sent: &[Sent]) -> Vec<ChunkType> {
    types(sent).concat()
}

//= RFC 9260 3.3.6-1 3.3.6-2 3.3.9-1 6-2 6-4 8.3-2 8.3-8 8.5.1-6 8.5.1-7 8.5.1-10 8.5.1-11 9.1-5
//= RFC 9260 9.1-6 9.2-13 9.2-18 9.2-24
#[test]
fn every_chunk_with_the_right_tag_in_every_state() {
    for state in Script::STATES {
        for chunk in ALL {
            let mut script = Script::in_state(state);
            // §8.5.1 B, C: with the T bit, the right tag is the peer's own.
            let tag = if chunk.is_reflected() { PEER_TAG } else { script.tag };
            let known = !(chunk.is_reflected() && state == State::CookieWait);
            let sent = script.give_bytes(packet(tag, |w| chunk.write(&script, w)));
            let (next, answer) =
                if known { chunk.expected(state) } else { (state, &[] as &[ChunkType]) };
            assert_eq!(flat(&sent), answer, "{chunk:?} in {state:?}");
            assert_eq!(script.state(), next, "{chunk:?} in {state:?}");
            if next == State::Closed {
                assert!(script.closed().is_some(), "{chunk:?} in {state:?}");
            }
        }
    }
}

//= RFC 9260 8.5-2 8.5-3 8.5.1-6 8.5.1-7 8.5.1-10 8.5.1-13 9.1-5 9.2-23
#[test]
fn every_chunk_with_a_wrong_tag_in_every_state() {
    // RFC 9260 §8.5: "the receiver MUST silently discard the packet and MUST NOT process it any
    // further". §8.5.1 E: but a SHUTDOWN ACK in COOKIE-WAIT or COOKIE-ECHOED is out of the blue.
    for state in Script::STATES {
        for chunk in ALL {
            let own = Script::in_state(state).tag;
            // With the T bit, our own tag is as wrong as the peer's is without it.
            let other = if chunk.is_reflected() { own } else { PEER_TAG };
            for tag in [VerificationTag(own.0 ^ 1), VerificationTag(0), other] {
                let mut script = Script::in_state(state);
                let before = print(&script);
                let sent = script.give_bytes(packet(tag, |w| chunk.write(&script, w)));
                let what = format!("{chunk:?} with {tag} in {state:?}");
                let in_setup = matches!(state, State::CookieWait | State::CookieEchoed);
                if chunk == Try::ShutdownAck && in_setup && tag.0 != 0 {
                    assert_eq!(flat(&sent), [ChunkType::SHUTDOWN_COMPLETE], "{what}");
                    assert_eq!((sent[0].tag(), sent[0].reflected()), (tag, true), "{what}");
                } else {
                    assert!(sent.is_empty(), "{what}: {:?}", types(&sent));
                }
                assert_eq!(print(&script), before, "{what}");
            }
        }
    }
}

/// Those of extensions, whether or not both ends have them.
//= RFC 9260 8.5-2 8.5-3
#[test]
fn every_chunk_of_an_extension_with_a_wrong_tag_in_every_state() {
    type Write = fn(Tsn, &mut PacketWriter<'_>);
    let extensions: [(&str, Write); 11] = [
        ("I-DATA", |next, w| {
            let (flags, ppid) = (DataFlags::UNFRAGMENTED, Ppid(0));
            let (stream, mid, fsn) = (StreamId(0), Mid(0), Fsn(0));
            w.i_data(&IData { tsn: next, stream, mid, ppid, fsn, flags, payload: &[1; 5] });
        }),
        ("FORWARD TSN", |next, w| w.forward_tsn(next, [].into_iter())),
        ("I-FORWARD-TSN", |next, w| w.i_forward_tsn(next, [].into_iter())),
        ("NR-SACK", |_, w| {
            w.raw(&[0x10, 0, 0, 20, 0, 0, 0, 1, 0, 0, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0]);
        }),
        ("RE-CONFIG", |_, w| {
            let request = RequestNumber(1);
            w.re_config(&ParameterWriter::new().ssn_tsn_reset(request).finish());
        }),
        ("ASCONF", |_, w| w.raw(&[0xc1, 0, 0, 16, 0, 0, 0, 1, 0, 5, 0, 8, 10, 0, 0, 9])),
        ("ASCONF-ACK", |_, w| w.raw(&[0x80, 0, 0, 8, 0, 0, 0, 1])),
        ("AUTH", |_, w| w.raw(&[0x0f, 0, 0, 12, 0, 0, 0, 1, 1, 2, 3, 4])),
        ("ECNE", |next, w| w.raw(&[[0x0c, 0, 0, 8], next.0.to_be_bytes()].concat())),
        ("CWR", |next, w| w.raw(&[[0x0d, 0, 0, 8], next.0.to_be_bytes()].concat())),
        ("PAD", |_, w| w.pad(40)),
    ];
    for state in Script::STATES {
        for (name, write) in extensions {
            let own = Script::in_state(state).tag;
            for tag in [VerificationTag(own.0 ^ 1), VerificationTag(0), PEER_TAG] {
                let mut script = Script::in_state(state);
                let before = print(&script);
                let next = script.next;
                let sent = script.give_bytes(packet(tag, |w| write(next, w)));
                assert!(sent.is_empty(), "{name} with {tag} in {state:?}: {:?}", types(&sent));
                assert_eq!(print(&script), before, "{name} with {tag} in {state:?}");
            }
        }
    }
}

//= RFC 9260 8.5-2 8.5-3
#[test]
fn a_tag_that_only_suits_an_abort_vouches_for_nothing_else() {
    // RFC 9260 §8.5: DATA needs our own tag, whatever stands behind it.
    for state in Script::STATES {
        let mut script = Script::in_state(state);
        let before = print(&script);
        let sent = script.give_bytes(packet(PEER_TAG, |w| {
            write_data(w, script.next, 5);
            w.abort(true, &[]);
        }));
        assert!(sent.is_empty());
        assert_eq!(print(&script), before, "{state:?}");
    }
}

//= RFC 9260 8.5.1-2 8.5.1-3 12.3-2
#[test]
fn the_tag_of_an_init_is_checked_in_every_state() {
    // RFC 9260 §8.5.1 A.
    for state in Script::STATES {
        for tag in [Script::in_state(state).tag, PEER_TAG, VerificationTag(5)] {
            let mut script = Script::in_state(state);
            let before = print(&script);
            let sent = script.give_bytes(packet(tag, |w| w.init(&peer_fields(), &[])));
            assert!(sent.is_empty(), "{state:?}: {:?}", types(&sent));
            assert_eq!(print(&script), before);
        }
    }
}

#[test]
fn a_forged_cookie_changes_nothing_in_any_state() {
    // RFC 9260 §5.2.4 rules 1 and 2.
    for state in Script::STATES {
        for tag in [Script::in_state(state).tag, PEER_TAG, VerificationTag(5)] {
            let mut script = Script::in_state(state);
            let before = print(&script);
            let sent = script.give_bytes(packet(tag, |w| {
                w.cookie_echo(&[1; 140]);
                write_data(w, script.next, 5);
            }));
            assert!(sent.is_empty(), "{state:?}: {:?}", types(&sent));
            assert_eq!(print(&script), before);
        }
    }
}

//= RFC 9260 8.4-10
#[test]
fn a_known_tag_from_a_foreign_address_is_passed_over() {
    // Addresses are part of an association. But the packet is not out of the blue (RFC 9260 §8.4): the
    // tag names its association, and an ABORT that reflects the tag would end that at the peer.
    let mut script = Script::connected(&standard());
    let before = print(&script);
    let packet = packet(script.tag, |w| write_data(w, script.next, 5));
    let sent = script.give_from([10, 0, 0, 99].into(), packet);
    assert!(sent.is_empty(), "{:?}", types(&sent));
    assert_eq!(print(&script), before);
    assert_eq!(script.end.endpoint_stats().out_of_the_blue, 1);
}
