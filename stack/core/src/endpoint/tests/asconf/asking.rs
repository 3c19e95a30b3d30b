//! What this end asks (RFC 5061 §5.1, §5.3).

use super::*;

//= RFC 5061 4.1.1-1 4.1.1-2 4.1.2-1 5.3-3 5.3-4 5.3-5 5.3-24 5.3-26 5.3-27
#[test]
fn an_address_is_added_and_verified_before_it_is_used() {
    let (mut pair, id, peer) = Pair::connected(&config(), 1);
    pair.log.clear();
    change(&mut pair, Side::A, id, AddressChange::Add, a(1)).unwrap();
    pair.run(ms(15));
    // F1: the ASCONF-ACK is under way.
    assert_eq!(locals(&mut pair, Side::A, id), [a(0)]);
    assert_eq!(remotes(&mut pair, Side::Z, peer), [a(0), a(1)]);
    assert!(
        pair.saw(Side::Z, |e| matches!(e, Event::PeerAddressAdded(_, address) if *address == a(1)))
    );
    let to_new = pair.log.iter().filter(|p| p.to.destination == a(1));
    assert!(to_new.flat_map(Sent::types).all(|kind| kind == ChunkType::HEARTBEAT));
    pair.run(ms(2000));
    assert_eq!(outcomes(&pair, Side::A), [(AddressChange::Add, a(1), AddressOutcome::Done)]);
    assert_eq!(locals(&mut pair, Side::A, id), [a(0), a(1)]);
    let states: Vec<_> = pair.end(Side::Z).path_stats(peer).iter().map(|p| p.state).collect();
    assert_eq!(states, [crate::ids::PathState::Active; 2]);
    let asconfs = pair.sent(Side::A, ChunkType::ASCONF);
    assert_eq!(asconfs.len(), 1);
    assert_eq!(asconfs[0].types(), [ChunkType::AUTH, ChunkType::ASCONF]);
}

//= RFC 5061 5.3-8 5.3-9 5.3-14 5.3-22 5.3-23
#[test]
fn what_is_in_flight_to_a_deleted_address_leaves_over_another_one() {
    let (mut pair, id, peer) = Pair::connected(&config(), 2);
    pair.run(secs(3));
    for n in 0..60 {
        pair.send(Side::Z, peer, 0, numbered(n));
    }
    pair.run(ms(11));
    let before = pair.end(Side::Z).path_stats(peer);
    assert!(before[0].flight > 0 && before[0].remote == a(0), "{before:?}");
    change(&mut pair, Side::A, id, AddressChange::Delete, a(0)).unwrap();
    pair.log.clear();
    pair.run(secs(10));
    assert_eq!(numbers(&pair.recv_all(Side::A, id)), (0..60).collect::<Vec<_>>());
    assert_eq!(remotes(&mut pair, Side::Z, peer), [a(1)]);
    assert_eq!(locals(&mut pair, Side::A, id), [a(1)]);
    assert_eq!(outcomes(&pair, Side::A), [(AddressChange::Delete, a(0), AddressOutcome::Done)]);
    // F6, F4: neither the request nor anything behind it comes from there; F13: and nothing goes there.
    assert!(pair.log.iter().all(|p| p.to.source != Some(a(0))));
    let acked = pair.sent(Side::Z, ChunkType::ASCONF_ACK)[0].at;
    assert!(pair.log.iter().all(|p| p.to.destination != a(0) || p.at < acked));
    // What comes to the first number names nothing any more.
    let stats = pair.end(Side::Z).path_stats(peer);
    assert_eq!((stats.len(), stats[0].id, stats[0].primary), (1, PathId(1), true));
}

//= RFC 5061 5.1-2 5.1-4 5.1.1-1 5.1.1-2 5.4-1 5.4-2 5.5-5
#[test]
fn one_chunk_at_a_time_and_the_rest_together() {
    let (mut pair, id, peer) = Pair::connected(&config(), 1);
    for net in 1..5 {
        change(&mut pair, Side::A, id, AddressChange::Add, a(net)).unwrap();
    }
    change(&mut pair, Side::A, id, AddressChange::SetPrimary, a(3)).unwrap();
    change(&mut pair, Side::A, id, AddressChange::Delete, a(0)).unwrap();
    pair.run(secs(5));
    let sent: Vec<_> = pair.sent(Side::A, ChunkType::ASCONF);
    assert_eq!(sent.len(), 2);
    assert_eq!(outcomes(&pair, Side::A).len(), 6);
    assert!(outcomes(&pair, Side::A).iter().all(|(.., outcome)| *outcome == AddressOutcome::Done));
    assert_eq!(remotes(&mut pair, Side::Z, peer), [a(1), a(2), a(3), a(4)]);
    let primary = pair.end(Side::Z).path_stats(peer);
    assert_eq!(primary.iter().find(|p| p.primary).unwrap().remote, a(3), "once it is confirmed");
}

//= RFC 5061 5.1-6 5.1-7 5.1-10 5.1-11 5.5-2
#[test]
fn what_is_lost_is_repeated_unchanged_and_done_once() {
    for (side, kind) in [(Side::A, ChunkType::ASCONF), (Side::Z, ChunkType::ASCONF_ACK)] {
        let (mut pair, id, peer) = Pair::connected(&config(), 2);
        pair.run(secs(3));
        let mut left = 2;
        pair.drop = Box::new(move |p| {
            let lost = p.from == side && p.carries(kind) && left > 0;
            left -= i32::from(lost);
            lost
        });
        change(&mut pair, Side::A, id, AddressChange::Add, a(2)).unwrap();
        pair.run(secs(20));
        let sent = pair.sent(Side::A, ChunkType::ASCONF);
        let chunks: Vec<_> =
            sent.iter().map(|p| p.find(ChunkType::ASCONF).unwrap().bytes).collect();
        assert!(chunks.len() == 3 && chunks.iter().all(|bytes| *bytes == chunks[0]));
        assert_ne!(sent[0].to.destination, sent[1].to.destination, "B4");
        let repeated = pair.end(Side::A).stats(id).unwrap().asconfs_repeated;
        let stats = pair.end(Side::Z).stats(peer).unwrap();
        assert_eq!((repeated, stats.asconfs_received), (2, 1));
        let again = if side == Side::Z { 2 } else { 0 };
        assert_eq!(stats.asconfs_seen_again, again);
        assert_eq!(outcomes(&pair, Side::A), [(AddressChange::Add, a(2), AddressOutcome::Done)]);
        assert_eq!(remotes(&mut pair, Side::Z, peer), [a(0), a(1), a(2)]);
    }
}

//= RFC 5061 5.1-10
#[test]
fn a_peer_that_never_answers_is_unreachable() {
    let (mut pair, id, _) = Pair::connected(&config(), 1);
    pair.drop = Box::new(|p| p.from == Side::Z);
    change(&mut pair, Side::A, id, AddressChange::Add, a(1)).unwrap();
    pair.run(secs(900));
    assert_eq!(pair.closed(Side::A), Some(&CloseReason::Unreachable));
    assert_eq!(outcomes(&pair, Side::A), [(AddressChange::Add, a(1), AddressOutcome::Failed)]);
}

//= RFC 5061 4.2.1-2 4.2.2-2 5.1.1-5 5.3-1 5.3-11 5.3-12 5.3-13
#[test]
fn what_cannot_be_asked_is_refused_at_once() {
    let mut pair = Pair::new(&config(), 2);
    let id = pair.open(Side::A, &config());
    let early = change(&mut pair, Side::A, id, AddressChange::Add, a(5));
    assert_eq!(early, Err(AddressError::NotEstablished));
    pair.run(ms(200));
    let mut asked = |what, address| change(&mut pair, Side::A, id, what, address);
    assert_eq!(asked(AddressChange::Add, a(0)), Err(AddressError::Known { address: a(0) }));
    let foreign: IpAddr = "2001:db8::1".parse().unwrap();
    assert_eq!(
        asked(AddressChange::Add, foreign),
        Err(AddressError::Unusable { address: foreign })
    );
    let many = IpAddr::from([224, 0, 0, 1]);
    assert_eq!(asked(AddressChange::Add, many), Err(AddressError::Unusable { address: many }));
    assert_eq!(asked(AddressChange::Delete, a(7)), Err(AddressError::Unknown { address: a(7) }));
    assert_eq!(
        asked(AddressChange::SetPrimary, a(7)),
        Err(AddressError::Unknown { address: a(7) })
    );
    assert_eq!(asked(AddressChange::Delete, a(0)), Ok(()));
    assert_eq!(asked(AddressChange::Delete, a(1)), Err(AddressError::Last));
    pair.shutdown(Side::A, id);
    let late = change(&mut pair, Side::A, id, AddressChange::Add, a(5));
    assert_eq!(late, Err(AddressError::ShuttingDown));
}

/// An ASCONF chunk of the endpoint: its number and requests.
fn asked_of(sent: &[Sent]) -> (AsconfNumber, Vec<u8>) {
    let found = sent.iter().flat_map(Sent::chunks).find_map(|chunk| match chunk {
        Chunk::Asconf(asconf) => Some((asconf.number, asconf.requests.as_bytes().to_vec())),
        _ => None,
    });
    found.expect("an ASCONF chunk")
}

fn ask(peer: &mut Peer, what: AddressChange, address: IpAddr) -> Vec<Sent> {
    let (now, id) = (peer.script.now, peer.script.id);
    peer.script.end.change_address(now, id, what, address).unwrap();
    peer.script.poll()
}

fn told(peer: &Peer) -> Vec<AddressOutcome> {
    let of = |event: &Event| match event {
        Event::AddressChanged { outcome, .. } => Some(*outcome),
        _ => None,
    };
    peer.script.events.iter().filter_map(of).collect()
}

//= RFC 5061 5.1-5 5.3-2
#[test]
fn an_illegal_acknowledgement_ends_the_association() {
    let mut peer = peer(&config(), 1);
    let sent = ask(&mut peer, AddressChange::Add, a(1));
    let (number, _) = asked_of(&sent);
    assert_eq!(number.0, peer.script.first.0, "the initial TSN");
    let ack = |number| {
        move |w: &mut PacketWriter<'_>| {
            w.asconf_ack(&AsconfAck { number, responses: Parameters::default() });
        }
    };
    assert!(peer.give(ack(number.wrapping_sub(1))).is_empty());
    assert!(told(&peer).is_empty());
    peer.give(ack(number));
    assert_eq!(told(&peer), [AddressOutcome::Done]);
    peer.give(ack(number));
    assert_eq!(peer.script.state(), State::Established);
    let sent = peer.give(ack(number.wrapping_add(1)));
    assert_eq!(sent[0].cause_codes(), [CauseCode::ILLEGAL_ASCONF_ACK]);
    assert!(matches!(peer.script.closed(), Some(CloseReason::ProtocolViolation(_))));
}

//= RFC 5061 4.1.2-2
#[test]
fn an_acknowledgement_that_is_not_authenticated_is_none() {
    let mut peer = peer(&config(), 1);
    let sent = ask(&mut peer, AddressChange::Add, a(1));
    let (number, _) = asked_of(&sent);
    let none = Parameters::default();
    peer.script.give(|w| w.asconf_ack(&AsconfAck { number, responses: none }));
    assert!(told(&peer).is_empty());
    assert_eq!(peer.script.stats().unauthenticated_chunks, 1);
}

//= RFC 5061 4.1.1-8 5.1-9 5.1.1-7
#[test]
fn a_peer_that_does_not_know_the_chunk_gets_no_more_of_them() {
    let mut peer = peer(&config(), 1);
    let sent = ask(&mut peer, AddressChange::Add, a(1));
    let chunk = sent[0].find(ChunkType::ASCONF).unwrap().bytes.to_vec();
    let causes = CauseWriter::new().unrecognized_chunk_type(&chunk).finish();
    peer.give(|w| w.error(&causes));
    assert_eq!(told(&peer), [AddressOutcome::NotSupported]);
    let (now, id) = (peer.script.now, peer.script.id);
    let again = peer.script.end.add_local_address(now, id, a(2));
    assert_eq!(again, Err(AddressError::NotSupported));
    let later = peer.script.wait(secs(20));
    assert!(later.iter().all(|p| !p.carries(ChunkType::ASCONF)));
}

//= RFC 5061 5.3-10 5.3.1-1
#[test]
fn an_abort_to_an_address_that_is_being_deleted_is_ignored() {
    let mut peer = Peer::between(&config(), 2, &BOTH, &BOTH, &addresses(Side::Z, 2));
    ask(&mut peer, AddressChange::Delete, a(0));
    let tag = peer.script.tag;
    let packet = script::packet(tag, |w| w.abort(false, &[]));
    let datagram = |destination, packet: &[u8]| Datagram {
        source: z(0),
        destination,
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: Bytes::copy_from_slice(packet),
    };
    peer.script.give_datagram(datagram(a(0), &packet));
    assert_eq!(peer.script.state(), State::Established);
    peer.script.give_datagram(datagram(a(1), &packet));
    assert!(peer.script.closed().is_some());
}

/// What was under way from there when it was deleted is out of the blue, and its answer is none for us (§5.3).
#[test]
fn an_abort_that_reflects_the_tag_to_an_address_that_was_deleted_is_ignored() {
    let mut peer = Peer::between(&config(), 2, &BOTH, &BOTH, &addresses(Side::Z, 2));
    let sent = ask(&mut peer, AddressChange::Delete, a(0));
    let (number, _) = asked_of(&sent);
    peer.give(|w| w.asconf_ack(&AsconfAck { number, responses: Parameters::default() }));
    assert_eq!(told(&peer), [AddressOutcome::Done]);
    let packet = script::packet(script::PEER_TAG, |w| w.abort(true, &[]));
    let datagram = |destination| Datagram {
        source: z(0),
        destination,
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: Bytes::copy_from_slice(&packet),
    };
    peer.script.give_datagram(datagram(a(0)));
    assert_eq!(peer.script.state(), State::Established);
    peer.script.give_datagram(datagram(a(1)));
    assert!(peer.script.closed().is_some());
}

//= RFC 5061 5.3-28
/// The tag shows whose it is.
#[test]
fn what_comes_to_an_address_that_was_deleted_is_taken() {
    let mut peer = Peer::between(&config(), 2, &BOTH, &BOTH, &addresses(Side::Z, 2));
    let sent = ask(&mut peer, AddressChange::Delete, a(0));
    let (number, _) = asked_of(&sent);
    peer.give(|w| w.asconf_ack(&AsconfAck { number, responses: Parameters::default() }));
    assert_eq!(told(&peer), [AddressOutcome::Done]);
    peer.script.data(10);
    assert!(peer.script.recv().is_some());
}

/// It comes late, or is played again: what was deleted since then stays so, and paths keep their numbers while data is outstanding.
#[test]
fn a_cookie_that_comes_again_brings_no_address_back() {
    let (mut pair, id, peer) = Pair::connected(&config(), 2);
    pair.run(secs(2));
    let cookie = pair.sent(Side::A, ChunkType::COOKIE_ECHO)[0].bytes.to_vec();
    let gone = a(1);
    for _ in 0..2 {
        change(&mut pair, Side::A, id, AddressChange::Delete, gone).unwrap();
        pair.run(secs(2));
        pair.inject(Side::Z, a(0), cookie.clone());
        assert_eq!(remotes(&mut pair, Side::Z, peer), [a(0)]);
        change(&mut pair, Side::A, id, AddressChange::Add, gone).unwrap();
        pair.run(secs(2));
        let now = pair.now;
        let stats = pair.end(Side::Z).path_stats(peer);
        let path = stats.iter().find(|p| p.remote == gone).unwrap().id;
        pair.end(Side::Z).set_primary(now, peer, path).unwrap();
        for n in 0..30 {
            pair.send(Side::Z, peer, 0, numbered(n));
        }
        pair.run(ms(1));
        pair.inject(Side::Z, a(0), cookie.clone());
        pair.run(secs(5));
        assert_eq!(numbers(&pair.recv_all(Side::A, id)), (0..30).collect::<Vec<u32>>());
    }
}
