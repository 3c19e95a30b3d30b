//! RFC 8260 §2.2.1, §2.3.1: what is agreed on.

use super::*;

//= RFC 8260 2.2.1-5 2.2.1-6 2.2.1-7
#[test]
fn it_is_off_unless_asked_for() {
    assert!(!Extensions::default().interleaving);
    let mut script = Script::listening(&standard());
    let sent = script.connect(
        &AssociationConfig { extensions: Extensions::default(), ..standard() },
        &addresses(Side::Z, 1),
    );
    assert!(!listed(&sent).contains(&64) && !listed(&sent).contains(&194));
    let sent = Script::listening(&standard()).connect(&partial(), &addresses(Side::Z, 1));
    assert!(listed(&sent).contains(&64) && listed(&sent).contains(&194));
    let sent =
        Script::listening(&standard()).connect(&config("round-robin"), &addresses(Side::Z, 1));
    assert!(listed(&sent).contains(&64) && !listed(&sent).contains(&194));
}

//= RFC 8260 2-1 2.2.1-1 2.2.1-2 2.2.1-3 2.2.1-4
#[test]
fn it_needs_both_ends() {
    for (ours, theirs) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut config = config("round-robin");
        config.extensions.interleaving = ours;
        let types: &[ChunkType] =
            if theirs { &[ChunkType::I_DATA] } else { &[ChunkType::TIMESTAMP] };
        let mut script = with_peer(&config, types);
        let both = ours && theirs;
        let info = script.end.info(script.id).unwrap();
        assert_eq!(info.extensions.interleaving, both);
        assert_eq!(info.fragmentation_point, if both { FULL } else { FULL + 4 });
        let sent = script.send(100);
        let kind = if both { ChunkType::I_DATA } else { ChunkType::DATA };
        assert_eq!(sent::only(&sent).types(), [kind]);
        // Nor is the other one taken.
        let sent = if both { script.data(100) } else { script.fragment(0, 'W', 0, 0, 0) };
        assert!(is_violation(&script, &sent));
    }
}

#[test]
fn the_cookie_keeps_what_was_agreed_on() {
    let mut script = Script::listening(&partial());
    let parameters = ParameterWriter::new().supported_extensions(&[64, 194]).finish();
    script.join(&peer_fields(), &parameters);
    let chosen = script.end.info(script.id).unwrap().extensions;
    assert!(chosen.interleaving && chosen.partial_reliability);
    // Both kinds of associations side by side.
    let mut other = peer_fields();
    other.initiate_tag = VerificationTag(77);
    let init = script::packet_from(PORT + 1, VerificationTag(0), |w| w.init(&other, &[]));
    let ack = script.give_bytes(init);
    let (fields, _) = ack[0].init();
    let cookie = ack[0].cookie();
    let tag = fields.initiate_tag;
    script.give_bytes(script::packet_from(PORT + 1, tag, |w| w.cookie_echo(&cookie)));
    let ids = script.end.associations();
    let kinds = |id: &AssociationId| script.end.info(*id).unwrap().extensions.interleaving;
    assert_eq!(ids.iter().map(kinds).filter(|on| *on).count(), 1);
    assert_eq!(ids.len(), 2);
}

/// RFC 8260 §2.3.1: partial reliability goes by the chunk that goes with the data.
#[test]
fn partial_reliability_goes_by_its_own_chunk() {
    use ChunkType as Type;
    for (types, expected) in [
        (&[Type::I_DATA, Type::I_FORWARD_TSN][..], (true, true)),
        (&[Type::I_DATA, Type::FORWARD_TSN], (true, false)),
        (&[Type::I_DATA, Type::FORWARD_TSN, Type::I_FORWARD_TSN], (true, true)),
        (&[Type::FORWARD_TSN, Type::I_FORWARD_TSN], (false, true)),
        (&[Type::I_FORWARD_TSN], (false, false)),
    ] {
        let chosen = with_peer(&partial(), types).info_extensions();
        assert_eq!((chosen.interleaving, chosen.partial_reliability), expected, "{types:?}");
    }
    let mut without = partial();
    without.extensions.partial_reliability = false;
    let chosen = with_peer(&without, &[Type::I_DATA, Type::I_FORWARD_TSN]).info_extensions();
    assert!(chosen.interleaving && !chosen.partial_reliability);
}

impl Script {
    fn info_extensions(&self) -> Extensions {
        self.end.info(self.id).unwrap().extensions
    }
}

#[test]
fn what_fits_one_chunk_is_known_before_it_is_agreed_on() {
    let mut script =
        Script::connecting(&AssociationConfig { fragmentation: false, ..config("round-robin") });
    assert!(script.try_send(0, FULL + 1, SendOptions::default()).is_err());
    script.say(0, FULL, SendOptions::default());
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").supported_extensions(&[64]);
    script.init_ack_with(&peer_fields(), &mut parameters);
    let sent = script.cookie_ack();
    assert_eq!(packets(&script, &sent), [format!("0: 0/0/0 BE {FULL}")]);
}
