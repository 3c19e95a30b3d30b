//! Who may change addresses (RFC 5061 §4.2.7, §6).

use super::*;

fn agreed(pair: &mut Pair, side: Side, id: AssociationId) -> bool {
    pair.end(side).info(id).unwrap().extensions.address_reconfiguration
}

//= RFC 5061 4.1.1-2 4.1.2-1 4.2.7-1 4.2.7-2 4.2.7-3 4.2.7-4 4.2.7-5
#[test]
fn both_ends_list_the_chunks_and_want_them_authenticated() {
    let (mut pair, id, peer) = Pair::connected(&config(), 1);
    assert!(agreed(&mut pair, Side::A, id) && agreed(&mut pair, Side::Z, peer));
    for (side, kind) in [(Side::A, ChunkType::INIT), (Side::Z, ChunkType::INIT_ACK)] {
        let sent = pair.sent(side, kind)[0].init().1;
        let listed = sent.iter().filter_map(|parameter| match parameter {
            Parameter::SupportedExtensions(types) => Some(types.to_vec()),
            _ => None,
        });
        assert_eq!(listed.collect::<Vec<_>>(), [[193, 128, 15]], "once");
        assert!(sent.contains(&Parameter::ChunkList(&[193, 128])));
    }
    let settings = AssociationConfig {
        extensions: Extensions { authentication: false, ..config().extensions },
        ..config()
    };
    assert!(settings.check().unwrap_err().to_string().contains("authentication"));
}

#[test]
fn one_end_alone_changes_nothing() {
    for (ours, theirs) in [(true, false), (false, true)] {
        let with = |on| AssociationConfig {
            extensions: Extensions { address_reconfiguration: on, ..config().extensions },
            ..config()
        };
        let mut pair = Pair::new(&with(theirs), 1);
        let (id, peer) = pair.connect(&with(ours));
        assert!(!agreed(&mut pair, Side::A, id) && !agreed(&mut pair, Side::Z, peer));
        let refused = change(&mut pair, Side::A, id, AddressChange::Add, a(1));
        assert_eq!(refused, Err(AddressError::NotSupported));
    }
}

/// Who does not want them authenticated would take anybody's.
#[test]
fn who_does_not_want_them_authenticated_gets_none() {
    for chunks in [&[][..], &[ChunkType::ASCONF], &[ChunkType::ASCONF_ACK]] {
        let mut peer = Peer::extended(&config(), chunks, &BOTH, &[z(0)]);
        let now = peer.script.now;
        let id = peer.script.id;
        let result = peer.script.end.add_local_address(now, id, a(1));
        assert_eq!(result, Err(AddressError::NotSupported));
    }
    let mut peer = Peer::extended(&config(), &BOTH, &[ChunkType::ASCONF], &[z(0)]);
    let (now, id) = (peer.script.now, peer.script.id);
    let result = peer.script.end.add_local_address(now, id, a(1));
    assert_eq!(result, Err(AddressError::NotSupported));
}

//= RFC 5061 6-3 6-4 6-5
#[test]
fn a_peer_without_authentication_is_refused() {
    let mut script = Script::listening(&config());
    let list = ParameterWriter::new().supported_extensions(&[193, 128]).finish();
    let sent = script.give_bytes(script::init_packet(&script::peer_fields(), &list));
    assert_eq!(sent::types(&sent), [[ChunkType::ABORT]]);

    let mut script = Script::listening(&config());
    script.connect(&config(), &[z(0)]);
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").supported_extensions(&[193, 128]);
    let sent = script.init_ack_with(&script::peer_fields(), &mut parameters);
    assert_eq!(sent::types(&sent), [[ChunkType::ABORT]]);
    assert!(script.closed().is_some());
}

//= RFC 5061 4.1.1-7
#[test]
fn without_the_extension_the_chunk_is_reported() {
    let mut script = Script::connected(&standard());
    let list = add(1, z(1));
    let sent = script.give(asconf(FIRST, z(0), &list));
    assert_eq!(sent::only(&sent).cause_codes(), [CauseCode::UNRECOGNIZED_CHUNK_TYPE]);
    let none = Parameters::default();
    let sent = script.give(|w| w.asconf_ack(&AsconfAck { number: FIRST, responses: none }));
    assert!(sent.is_empty() && script.state() == State::Established);
}
