//! Who is who: ports, tags, TSNs and addresses, and what INIT and INIT ACK say of them
//! (RFC 9260 §1.3, §3.3.2, §5.1.1, §5.1.2, §5.3.1).

use std::collections::BTreeSet;

use tresse_wire::{Chunk, Packet, Parameter, ParameterType};

use super::*;
use crate::NotOpened;
use script::{PEER_TAG, init_packet, packet, peer_fields};
use sent::only;

/// Ports of the common header, source first.
fn ports(packet: &Sent) -> (u16, u16) {
    let header = Packet::parse(&packet.bytes).unwrap().header();
    (header.source_port, header.destination_port)
}

/// The types of the parameters of an INIT or INIT ACK.
fn parameter_types(packet: &Sent) -> Vec<ParameterType> {
    let list = match packet.chunks().next() {
        Some(Chunk::Init(init)) => init.parameters,
        Some(Chunk::InitAck(ack)) => ack.parameters,
        other => panic!("{other:?}"),
    };
    list.iter().map(|raw| raw.unwrap().parameter_type).collect()
}

//= RFC 9260 1.3-1
#[test]
fn two_endpoints_have_one_association_at_a_time() {
    let mut script = Script::connected(&standard());
    let again = script.end.connect(script.now, &addresses(Side::Z, 1), PORT, standard());
    assert_eq!(again, Err(NotOpened::Exists));
    let both = [IpAddr::from([10, 9, 9, 9]), addresses(Side::Z, 1)[0]];
    let again = script.end.connect(script.now, &both, PORT, standard());
    assert_eq!(again, Err(NotOpened::Exists), "whichever address is the same");
}

//= RFC 9260 1.3-2
#[test]
fn all_addresses_share_one_port() {
    let mut script = Script::multihomed(&standard(), 3);
    for path in 0..3 {
        script.end.set_primary(script.now, script.id, PathId(path)).unwrap();
        let sent = script.send(10);
        assert_eq!(only(&sent).to.path, Some(PathId(path)));
        assert_eq!(ports(only(&sent)), (PORT, PORT));
    }
}

#[test]
fn a_peer_has_unicast_addresses_alone() {
    let mut script = Script::listening(&standard());
    for none in [[224, 0, 0, 1], [255; 4], [0; 4]].map(IpAddr::from) {
        let refused = script.end.connect(script.now, &[none], PORT, standard());
        assert_eq!(refused, Err(NotOpened::NotUnicast(none)));
    }
}

//= RFC 9260 3.1-1 3.1-2
#[test]
fn port_0_is_refused() {
    let mut script = Script::listening(&standard());
    let refused = script.end.connect(script.now, &addresses(Side::Z, 1), 0, standard());
    assert_eq!(refused, Err(NotOpened::ZeroPort));
    assert_eq!(script.end.open_port(0, crate::PortConfig::default()), Err(NotOpened::ZeroPort));
}

//= RFC 9260 3.1-3 3.3.2-6 3.3.3-4 5.1-4 5.3.1-2 8.5-1 8.5.1-4
#[test]
fn every_packet_bears_the_tag_of_the_peer() {
    // From the setup to the end, whatever is lost; and the tags never change.
    for abort in [false, true] {
        let (mut pair, a, z) = Pair::connected(&standard(), 1);
        pair.drop = Box::new(|p| p.number % 5 == 4);
        for n in 0..20 {
            pair.send(Side::A, a, 0, vec![n; 1000]);
            pair.send(Side::Z, z, 0, vec![n; 1000]);
        }
        pair.run(secs(60));
        if abort {
            let now = pair.now;
            pair.end(Side::A).abort(now, a, b"").unwrap();
        } else {
            pair.shutdown(Side::A, a);
        }
        pair.run(secs(60));
        let tag_of = |side, kind| pair.sent(side, kind)[0].init().0.initiate_tag;
        let (of_a, of_z) = (tag_of(Side::A, ChunkType::INIT), tag_of(Side::Z, ChunkType::INIT_ACK));
        let last = if abort { ChunkType::ABORT } else { ChunkType::SHUTDOWN_COMPLETE };
        assert!(pair.log.iter().any(|p| p.carries(last)));
        let first_life = pair.log.iter().filter(|p| !p.carries(ChunkType::INIT));
        // What answers a straggler after the end reflects its tag (§8.4).
        let own = first_life.filter(|p| !(p.types().len() == 1 && p.reflected()));
        for packet in own {
            let expected = if packet.from == Side::A { of_z } else { of_a };
            assert_eq!(packet.tag(), expected, "{:?} {:?}", packet.from, packet.types());
        }
    }
}

//= RFC 9260 3.3.2-1 3.3.2-2 3.3.2.1.4-1 3.3.3-1 3.3.3.1-1
#[test]
fn no_parameter_comes_twice() {
    // And a Host Name Address never comes.
    let config = AssociationConfig { adaptation: Some(7), ..profile("tresse", "") };
    let mut pair = Pair::new(&config, 3);
    pair.connect(&config);
    for packet in [
        pair.sent(Side::A, ChunkType::INIT)[0].clone(),
        pair.sent(Side::Z, ChunkType::INIT_ACK)[0].clone(),
    ] {
        let types = parameter_types(&packet);
        let addresses = types.iter().filter(|t| **t == ParameterType::IPV4_ADDRESS).count();
        assert_eq!(addresses, 3);
        let others: Vec<u16> =
            types.iter().filter(|t| **t != ParameterType::IPV4_ADDRESS).map(|t| t.0).collect();
        let distinct: BTreeSet<u16> = others.iter().copied().collect();
        assert!(others.len() >= 2 && distinct.len() == others.len(), "{types:?}");
        assert!(!types.contains(&ParameterType::HOST_NAME_ADDRESS));
    }
}

//= RFC 6951 3.2-1
#[test]
fn a_single_address_is_not_listed() {
    for (count, listed) in [(1, 0), (2, 2)] {
        let mut pair = Pair::new(&standard(), count);
        pair.connect(&standard());
        for (side, kind) in [(Side::A, ChunkType::INIT), (Side::Z, ChunkType::INIT_ACK)] {
            let types = parameter_types(pair.sent(side, kind)[0]);
            let addresses = types.iter().filter(|t| **t == ParameterType::IPV4_ADDRESS).count();
            assert_eq!(addresses, listed, "{side:?}");
        }
    }
}

//= RFC 9260 3.3.2-8 3.3.2-11 3.3.2-13 3.3.3-8 3.3.3-11 3.3.3-14
#[test]
fn what_must_not_be_announced_is_refused() {
    // §3.3.2, §3.3.3: OS and MIS of 0, a_rwnd below 1500.
    let good = AssociationConfig::default();
    for bad in [
        AssociationConfig { outbound_streams: 0, ..good.clone() },
        AssociationConfig { inbound_streams: 0, ..good.clone() },
        AssociationConfig { receive_buffer: 1499, ..good.clone() },
    ] {
        let mut script = Script::listening(&standard());
        let refused = script.end.connect(script.now, &addresses(Side::Z, 1), PORT, bad.clone());
        assert!(matches!(refused, Err(NotOpened::Config(_))), "{refused:?}");
        let port = crate::PortConfig { association: bad, ..crate::PortConfig::default() };
        assert!(matches!(script.end.open_port(7, port), Err(NotOpened::Config(_))));
    }
}

//= RFC 9260 3.3.2-10 3.3.3-10
#[test]
fn a_receive_buffer_is_not_reduced() {
    let config = AssociationConfig { receive_buffer: 100_000, ..standard() };
    let mut script = Script::connected(&config);
    let smaller = AssociationConfig { receive_buffer: 5000, ..config };
    script.end.reconfigure(script.now, script.id, smaller).unwrap();
    let sent = script.data(1000);
    assert!(only(&sent).sack().unwrap().a_rwnd >= 90_000);
}

//= RFC 9260 3.3.2-15 3.3.3-5 3.3.3-17 5.1-1 5.1-2 5.3.1-1 5.3.1-3
#[test]
fn tags_and_initial_tsns_are_random() {
    let mut script = Script::listening(&standard());
    let (mut tags, mut tsns) = (BTreeSet::new(), BTreeSet::new());
    let mut note = |fields: InitFields| {
        assert_ne!(fields.initiate_tag.0, 0);
        assert!(tags.insert(fields.initiate_tag.0), "a tag comes twice");
        tsns.insert(fields.initial_tsn.0);
    };
    for _ in 0..1000 {
        let sent = script.give_bytes(init_packet(&peer_fields(), &[]));
        note(only(&sent).init().0);
    }
    // Each time that the same association is set up again, too.
    for _ in 0..200 {
        let sent = script.connect(&standard(), &addresses(Side::Z, 1));
        note(only(&sent).init().0);
        script.end.abort(script.now, script.id, b"").unwrap();
        script.poll();
    }
    // They come from the whole range: each sixteenth has its share.
    for numbers in [&tags, &tsns] {
        assert!(numbers.len() >= 1199);
        for part in 0..16 {
            let share = numbers.iter().filter(|n| **n >> 28 == part).count();
            assert!((30..150).contains(&share), "{share} of {} begin with {part:x}", numbers.len());
        }
    }
}

//= RFC 9260 3.3.2.1.2-2 3.3.3-20 5.1.2-1
#[test]
fn without_addresses_the_source_is_the_only_one() {
    let source = IpAddr::from([10, 7, 7, 7]);
    let mut script = Script::listening(&standard());
    let ack = script.give_from(source, init_packet(&peer_fields(), &[]));
    let (tag, cookie) = (only(&ack).init().0.initiate_tag, only(&ack).cookie());
    script.give_from(source, packet(tag, |w| w.cookie_echo(&cookie)));
    script.id = script.end.associations()[0];
    let remotes = |script: &Script| -> Vec<IpAddr> {
        script.end.path_stats(script.id).iter().map(|p| p.remote).collect()
    };
    assert_eq!(remotes(&script), [source]);
    let mut script = Script::connecting(&standard());
    script.init_ack();
    assert_eq!(remotes(&script), addresses(Side::Z, 1));
}

//= RFC 9260 5.1.2-4
#[test]
fn all_listed_addresses_and_the_source_are_taken() {
    // §5.1.2 C: "all the transport addresses from the received chunk AND the source IP address".
    let mut parameters = ParameterWriter::new();
    parameters.ipv4([10, 0, 1, 2].into()).ipv4([10, 0, 2, 2].into());
    let mut script = Script::listening(&standard());
    script.join(&peer_fields(), &parameters.finish());
    let remotes: Vec<IpAddr> = script.end.path_stats(script.id).iter().map(|p| p.remote).collect();
    assert_eq!(remotes, addresses(Side::Z, 3));
}

//= RFC 9260 5.1-3 5.1-11 5.1.2-7 6.4-2
#[test]
fn an_init_ack_goes_where_the_init_came_from() {
    // Though the INIT lists another address first.
    let (source, destination) = (addresses(Side::Z, 2)[1], addresses(Side::A, 2)[1]);
    let parameters = ParameterWriter::new().ipv4([10, 0, 0, 2].into()).finish();
    let mut script = Script::listening(&standard());
    let datagram = Datagram {
        source,
        destination,
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: init_packet(&peer_fields(), &parameters).into(),
    };
    let sent = script.give_datagram(datagram);
    assert_eq!(only(&sent).types(), [ChunkType::INIT_ACK]);
    assert_eq!((only(&sent).to.destination, only(&sent).to.source), (source, Some(destination)));
    assert_eq!(only(&sent).tag(), PEER_TAG);
}

//= RFC 9260 5.1.1-1
#[test]
fn an_init_says_how_many_streams() {
    let config = AssociationConfig { outbound_streams: 9, inbound_streams: 7, ..standard() };
    let mut pair = Pair::new(&config, 1);
    pair.connect(&config);
    for (side, kind) in [(Side::A, ChunkType::INIT), (Side::Z, ChunkType::INIT_ACK)] {
        let fields = pair.sent(side, kind)[0].init().0;
        // An INIT ACK never asks for more than the INIT takes (§3.3.3).
        let outbound = if side == Side::A { 9 } else { 7 };
        assert_eq!((fields.outbound_streams, fields.inbound_streams), (outbound, 7));
    }
}

//= RFC 9260 3.3.2.1.5-1 5.1.2-8 5.1.2-9 5.1.2-10 5.1.2-11
#[test]
fn supported_address_types_are_no_reason_to_refuse() {
    // §5.1.2: the family that is used counts as supported, whatever the list says; §3.3.2.1.5:
    // "The value indicating the Host Name Address parameter MUST be ignored".
    let v6: std::net::Ipv6Addr = "2001:db8::2".parse().unwrap();
    for list in [&[5][..], &[6], &[5, 6], &[11], &[5, 11], &[]] {
        let mut parameters = ParameterWriter::new();
        parameters.supported_address_types(list).ipv4([10, 0, 1, 2].into()).ipv6(v6);
        let mut script = Script::listening(&standard());
        let sent = script.join(&peer_fields(), &parameters.finish());
        assert_eq!(sent[0].types()[0], ChunkType::COOKIE_ACK, "{list:?}");
        let none = |p: &Sent| !p.carries(ChunkType::ERROR) && !p.carries(ChunkType::ABORT);
        assert!(sent.iter().all(none));
        let paths = script.end.path_stats(script.id);
        for remote in addresses(Side::Z, 2) {
            assert!(paths.iter().any(|p| p.remote == remote), "{list:?}: {remote}");
        }
    }
    // We send none: without it, any type is supported (§3.3.2, note 4).
    let mut script = Script::listening(&standard());
    let sent = script.connect(&standard(), &addresses(Side::Z, 1));
    let host_name = |p: &Parameter<'_>| {
        matches!(p, Parameter::SupportedAddressTypes(_) | Parameter::HostName(_))
    };
    assert!(!only(&sent).init().1.iter().any(host_name));
}

#[test]
fn only_addresses_that_the_peer_supports_are_listed_for_it() {
    // §3.3.2.1.5: "all the address types it can support"; §5.1.2: and the one that it uses.
    let ours = ["10.0.0.1", "10.0.1.1", "2001:db8::1"].map(|a| a.parse::<IpAddr>().unwrap());
    let (v4, v6) = (ParameterType::IPV4_ADDRESS, ParameterType::IPV6_ADDRESS);
    let theirs: std::net::Ipv6Addr = "2001:db8::2".parse().unwrap();
    for (supported, lists_v6, six) in [
        (None, false, true),
        (Some(&[5][..]), false, false),
        (Some(&[5, 6]), false, true),
        (Some(&[6]), false, true),
        (Some(&[11]), false, false),
        (Some(&[5]), true, true),
    ] {
        let mut parameters = ParameterWriter::new();
        parameters.padding(48); // For room in the answer.
        if let Some(types) = supported {
            parameters.supported_address_types(types);
        }
        if lists_v6 {
            parameters.ipv6(theirs);
        }
        let mut script = Script::listening_at(&ours);
        let sent = script.give_bytes(init_packet(&peer_fields(), &parameters.finish()));
        let listed: Vec<ParameterType> = parameter_types(only(&sent))
            .into_iter()
            .filter(|kind| [v4, v6].contains(kind))
            .collect();
        let expected = if six { vec![v4, v4, v6] } else { vec![v4, v4] };
        assert_eq!(listed, expected, "{supported:?} {lists_v6}");
    }
}

/// RFC 9260 §5.1.2 A: without a list the peer takes the source of the INIT ACK for our only address. Where it called
/// another one than that which we are bound to, it would know of no other when that is gone.
#[test]
fn the_only_address_is_listed_unless_the_packet_leaves_from_there() {
    let (bound, called) = ([10, 0, 0, 1], [10, 9, 0, 1]);
    for (at, lists) in [(bound, false), (called, true)] {
        let mut script = Script::listening_at(&[bound.into()]);
        let sent = script.give_datagram(Datagram {
            source: [198, 51, 100, 1].into(),
            destination: at.into(),
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: init_packet(&peer_fields(), &ParameterWriter::new().padding(48).finish())
                .into(),
        });
        let (_, list) = only(&sent).init();
        assert_eq!(list.contains(&Parameter::Ipv4Address(bound.into())), lists, "{list:?}");
        assert!(!list.contains(&Parameter::Ipv4Address(called.into())), "RFC 6951 §5.7");
    }
}

//= RFC 9260 3.3.3-7 3.3.3-13 3.3.3-16 5.2.3-1
#[test]
fn an_unusable_init_ack_changes_nothing_once_it_is_too_late() {
    // §3.3.3: with a tag, OS or MIS of 0, "received in any state other than CLOSED or COOKIE-WAIT,
    // it SHOULD be discarded silently".
    let fields = peer_fields();
    for bad in [
        InitFields { initiate_tag: VerificationTag(0), ..fields },
        InitFields { outbound_streams: 0, ..fields },
        InitFields { inbound_streams: 0, ..fields },
    ] {
        for state in Script::STATES.into_iter().filter(|s| *s != State::CookieWait) {
            let mut script = Script::in_state(state);
            let sent = script.init_ack_with(&bad, ParameterWriter::new().state_cookie(b"c"));
            let answered = sent.iter().any(|p| p.carries(ChunkType::ABORT));
            assert!(!answered && script.state() == state, "{state:?}: {bad:?}");
        }
    }
}

//= RFC 9260 5.1.2-6 5.2.2-10
#[test]
fn an_init_from_a_second_address_belongs_to_the_association() {
    // §5.1.2 D: "if the use of any of the valid address parameters contained within the chunk
    // would identify an existing TCB".
    let again = InitFields { initiate_tag: VerificationTag(77), ..peer_fields() };
    let ties = |script: &Script, ack: &Sent| {
        let cookie = script.end.greeter.keys().open(&ack.cookie()).unwrap();
        (cookie.local_tie_tag, cookie.peer_tie_tag)
    };
    let mut script = Script::multihomed(&standard(), 2);
    let second = addresses(Side::Z, 2)[1];
    let sent = script.give_from(second, init_packet(&again, &[]));
    assert_eq!(only(&sent).types(), [ChunkType::INIT_ACK]);
    assert_ne!(ties(&script, only(&sent)), (0, 0), "those of the association");
    // From a new address, with one of the association's in the list.
    let parameters = ParameterWriter::new().ipv4([10, 0, 1, 2].into()).finish();
    let sent = script.give_from([10, 7, 7, 7].into(), init_packet(&again, &parameters));
    assert_eq!(only(&sent).cause_codes(), [CauseCode::RESTART_WITH_NEW_ADDRESSES]);
    // A stranger's Tie-Tags are 0 (§5.2.2).
    let sent = script.give_from([10, 7, 7, 7].into(), init_packet(&again, &[]));
    assert_eq!(ties(&script, only(&sent)), (0, 0));
}

//= RFC 9260 5.2.2-8
#[test]
fn an_init_for_an_association_is_answered_with_its_own_settings() {
    // §5.2.2: "Other parameters for the endpoint SHOULD be copied from the existing parameters of
    // the association (e.g., number of outbound streams)": not those of the port.
    let config = AssociationConfig {
        outbound_streams: 9,
        inbound_streams: 7,
        receive_buffer: 70_000,
        ..standard()
    };
    let mut script = Script::listening(&standard());
    script.connect(&config, &addresses(Side::Z, 1));
    script.init_ack();
    script.cookie_ack();
    let again = InitFields { initiate_tag: VerificationTag(77), ..peer_fields() };
    let sent = script.give_bytes(init_packet(&again, &[]));
    let fields = only(&sent).init().0;
    let said = (fields.outbound_streams, fields.inbound_streams, fields.a_rwnd);
    assert_eq!(said, (9, 7, 70_000));
    let cookie = script.end.greeter.keys().open(&only(&sent).cookie()).unwrap();
    assert_eq!((cookie.outbound_streams, cookie.inbound_streams), (9, 7));
}
