//! What is agreed on in the handshake (RFC 4895 §3, §6.1).

use super::*;
use crate::error::NotOpened;
use sent::only;
use tresse_wire::{Parameter, ParameterType};

fn types_of(sent: &Sent) -> Vec<u16> {
    let number = |p: &Parameter<'_>| match p {
        Parameter::Random(_) => Some(ParameterType::RANDOM.0),
        Parameter::ChunkList(_) => Some(ParameterType::CHUNK_LIST.0),
        Parameter::HmacAlgo(_) => Some(ParameterType::HMAC_ALGO.0),
        Parameter::SupportedExtensions(types) if types.contains(&15) => {
            Some(ParameterType::SUPPORTED_EXTENSIONS.0)
        }
        _ => None,
    };
    sent.init().1.iter().filter_map(number).collect()
}

//= RFC 4895 3.1-4 3.2-4 3.3-5 6.1-1 6.1-5
#[test]
fn both_ends_say_what_they_want() {
    let mut pair = Pair::new(&asking(&[ChunkType::DATA, ChunkType::SACK]), 1);
    let mut config = asking(&[ChunkType::DATA]);
    config.authentication = Authentication {
        algorithms: vec![HmacIdentifier::SHA_1],
        ..(*config.authentication).clone()
    }
    .into();
    let (a, z) = pair.connect(&config);
    for kind in [ChunkType::INIT, ChunkType::INIT_ACK] {
        let sent = pair.log.iter().find(|sent| sent.carries(kind)).unwrap();
        assert_eq!(types_of(sent), [0x8008, 0x8002, 0x8003, 0x8004]);
    }
    let info = pair.end(Side::A).authentication(a).unwrap();
    assert_eq!(info.local_chunks, [ChunkType::DATA]);
    assert_eq!(info.peer_chunks, [ChunkType::DATA, ChunkType::SACK]);
    assert_eq!((info.algorithm, info.active_key), (HmacIdentifier::SHA_256, 0));
    let info = pair.end(Side::Z).authentication(z).unwrap();
    assert_eq!(info.peer_chunks, [ChunkType::DATA]);
    assert_eq!((info.algorithm, info.keys), (HmacIdentifier::SHA_1, vec![0]));
    assert!(pair.end(Side::A).info(a).unwrap().extensions.authentication);
    pair.send(Side::A, a, 0, vec![1; 3000]);
    pair.send(Side::Z, z, 0, vec![2; 3000]);
    pair.run(secs(1));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    assert_eq!(pair.recv_all(Side::A, a).len(), 1);
    let [ours, theirs] = [(Side::A, a), (Side::Z, z)].map(|(s, id)| pair.end(s).stats(id).unwrap());
    assert_eq!(ours.auth_chunks_sent, theirs.auth_chunks_received);
    assert_eq!(theirs.auth_chunks_sent, ours.auth_chunks_received);
    assert!(ours.auth_chunks_sent >= 3 && theirs.auth_chunks_sent >= 3);
    assert_eq!(theirs.unauthenticated_chunks + ours.auth_chunks_forged, 0);
    let told: Vec<_> = told(pair.events.iter().map(|(_, _, event)| event));
    assert_eq!(told, []);
}

#[test]
fn it_is_off_by_default_and_then_nobody_hears_of_it() {
    let mut pair = Pair::new(&standard(), 1);
    let (a, _) = pair.connect(&standard());
    assert!(!AssociationConfig::default().extensions.authentication);
    for sent in &pair.log {
        if sent.carries(ChunkType::INIT) || sent.carries(ChunkType::INIT_ACK) {
            assert_eq!(types_of(sent), [0; 0]);
        }
    }
    assert_eq!(pair.end(Side::A).authentication(a), None);
    let now = pair.now;
    let error = pair.end(Side::A).set_shared_key(now, a, 1, b"key").unwrap_err();
    assert_eq!(error, crate::error::KeyError::NotSupported);
}

#[test]
fn who_has_a_peer_without_it_is_told_and_goes_on_without() {
    // As initiator, and as responder.
    for (ours, theirs) in [(true, false), (false, true)] {
        let choose = |on| if on { asking(&[ChunkType::DATA]) } else { standard() };
        let mut pair = Pair::new(&choose(theirs), 1);
        let (a, z) = pair.connect(&choose(ours));
        pair.send(Side::A, a, 0, vec![1; 100]);
        pair.run(ms(100));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
        assert!(pair.log.iter().all(|sent| !sent.carries(ChunkType::AUTH)));
        let (side, id) = if ours { (Side::A, a) } else { (Side::Z, z) };
        let told = |e: &Event| *e == Event::Authentication(AuthenticationEvent::NotSupported);
        assert!(pair.saw(side, told) && !pair.saw(side.other(), told));
        assert_eq!(pair.end(side).authentication(id), None);
        let now = pair.now;
        assert!(pair.end(side).activate_shared_key(now, id, 0).is_err());
    }
}

fn demanding() -> AssociationConfig {
    with(Authentication { required: true, ..Authentication::default() })
}

#[test]
fn an_init_without_it_is_refused_where_it_is_required() {
    let mut script = Script::listening(&demanding());
    let refused = script.give_bytes(script::init_packet(&peer_fields(), &[]));
    let expected = vec![0, 0, 0, 2, 0x80, 2, 0x80, 4];
    let cause = (CauseCode::MISSING_MANDATORY_PARAMETER, expected);
    assert_eq!(only(&refused).causes(), [cause]);
    assert_eq!(only(&refused).tag(), peer_fields().initiate_tag);
    // A part of it is not enough: who is in the middle may have taken the rest away.
    let list = ParameterWriter::new().random(&[1; 32]).finish();
    let refused = script.give_bytes(script::init_packet(&peer_fields(), &list));
    assert!(only(&refused).carries(ChunkType::ABORT));
    assert_eq!(script.end.associations(), []);
    let list = written(&offer_of(&[], 3)).finish();
    let taken = script.give_bytes(script::init_packet(&peer_fields(), &list));
    assert!(only(&taken).carries(ChunkType::INIT_ACK));
}

#[test]
fn an_init_ack_without_it_is_refused_where_it_is_required() {
    let mut script = Script::connecting(&demanding());
    let sent = script.init_ack();
    assert_eq!(only(&sent).cause_codes(), [CauseCode::MISSING_MANDATORY_PARAMETER]);
    let reason = CloseReason::ProtocolViolation("INIT ACK without authentication");
    assert_eq!(script.closed(), Some(&reason));
}

//= RFC 4895 6.1-3 6.1-4
#[test]
fn a_wrong_offer_aborts() {
    let mut wrong = ParameterWriter::new();
    wrong.random(&[1; 20]).hmac_algo(&[HmacIdentifier::SHA_1]);
    let wrong = wrong.finish();
    let mut script = Script::listening(&asking(&[]));
    let refused = script.give_bytes(script::init_packet(&peer_fields(), &wrong));
    assert_eq!(only(&refused).cause_codes(), [CauseCode::PROTOCOL_VIOLATION]);
    assert_eq!(only(&refused).tag(), peer_fields().initiate_tag);

    let mut script = Script::connecting(&asking(&[]));
    let mut list = ParameterWriter::new();
    list.state_cookie(b"cookie").random(&[1; 33]).hmac_algo(&[HmacIdentifier::SHA_1]);
    let sent = script.init_ack_with(&peer_fields(), &mut list);
    assert_eq!(only(&sent).cause_codes(), [CauseCode::PROTOCOL_VIOLATION]);
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));

    // Who does not authenticate does not know these parameters, and skips them.
    let mut script = Script::listening(&standard());
    let taken = script.give_bytes(script::init_packet(&peer_fields(), &wrong));
    assert!(only(&taken).carries(ChunkType::INIT_ACK));
}

//= RFC 4895 3.3-1 6.1-6
#[test]
fn the_first_algorithm_that_is_known_is_used() {
    let one = HmacIdentifier::SHA_1;
    for (listed, used) in [
        (vec![HmacIdentifier(7), HmacIdentifier::SHA_256, one], HmacIdentifier::SHA_256),
        (vec![one, HmacIdentifier::SHA_256], one),
        (vec![HmacIdentifier(9), one], one),
    ] {
        let config = asking(&[]);
        let mut script = Script::listening(&config);
        script.connect(&config, &addresses(Side::Z, 1));
        script.try_send(0, 10, SendOptions::default()).unwrap();
        let mut list = ParameterWriter::new();
        list.state_cookie(b"cookie").random(&[1; 32]).chunk_list(&[0]).hmac_algo(&listed);
        let sent = script.init_ack_with(&peer_fields(), &mut list);
        let algorithm = sent[0].chunks().find_map(|chunk| match chunk {
            Chunk::Auth(auth) => Some(auth.algorithm),
            _ => None,
        });
        assert_eq!(algorithm, Some(used));
    }
}

//= RFC 4895 6.1-8
#[test]
fn an_init_that_is_sent_again_says_the_same() {
    let config = asking(&[ChunkType::DATA]);
    let mut script = Script::listening(&config);
    let first = script.connect(&config, &addresses(Side::Z, 1));
    let again = script.wait(secs(10));
    assert!(!again.is_empty());
    assert!(again.iter().all(|sent| sent.init().1 == first[0].init().1));
}

//= RFC 4895 3.2-5
#[test]
fn settings_that_cannot_be_are_refused() {
    let mut end = pair::endpoint(Side::A, 1, &standard());
    let result = end.connect(
        Time::ZERO,
        &addresses(Side::Z, 1),
        PORT,
        asking(&[ChunkType::SHUTDOWN_COMPLETE]),
    );
    let Err(NotOpened::Config(text)) = result else { panic!("{result:?}") };
    assert!(text.contains("SHUTDOWN COMPLETE"));
}

#[test]
fn what_is_secret_is_not_shown() {
    let settings =
        Authentication { keys: one_key(b"\x07\x5e\x5e\x5e\x5e\x5e"), ..Authentication::default() };
    let peer = Peer::connected(&with(settings), &[ChunkType::DATA]);
    let shown = format!("{:?} {:?}", peer.script.end, peer.keys);
    assert!(shown.contains("numbers: [1]"));
    assert!(!shown.contains("94, 94, 94") && !shown.contains("5e, 5e"));
}
