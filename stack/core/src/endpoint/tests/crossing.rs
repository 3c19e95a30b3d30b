//! Calls that cross over addresses that are not known to be those of one peer (RFC 9260 §5.2).

use super::*;
use script::{PEER_TAG, init_packet, packet, peer_fields};
use sent::{only, types};

/// The peer calls from the first of these addresses and is called at the second one, and lists none.
fn ways() -> [IpAddr; 2] {
    let all = addresses(Side::Z, 2);
    [all[0], all[1]]
}

fn calling() -> Script {
    Script::connecting_to(&standard(), &ways()[1..])
}

/// The peer's INIT, which looks like that of a stranger: returns our tag for it, and the cookie.
fn is_called(script: &mut Script) -> (VerificationTag, Vec<u8>) {
    let sent = script.give_from(ways()[0], init_packet(&peer_fields(), &[]));
    let (tag, cookie) = (only(&sent).init().0.initiate_tag, only(&sent).cookie());
    assert_ne!(tag, script.tag);
    (tag, cookie)
}

/// The peer's answer to our call.
fn is_answered(script: &mut Script) -> Vec<Sent> {
    let parameters = ParameterWriter::new().state_cookie(b"its cookie").finish();
    let ack = packet(script.tag, |w| w.init_ack(&peer_fields(), &parameters));
    script.give_from(ways()[1], ack)
}

//= RFC 9260 1.3-1
#[test]
fn a_call_ends_when_the_peer_turns_out_to_have_called() {
    // The peer has one association: an ABORT for the call, with its tag, would end that.
    let mut script = calling();
    script.send(10);
    let (tag, cookie) = is_called(&mut script);
    let sent = script.give_from(ways()[0], packet(tag, |w| w.cookie_echo(&cookie)));
    assert_eq!(types(&sent)[0][0], ChunkType::COOKIE_ACK);
    assert_eq!(script.end.associations().len(), 2, "there is nothing to tell that it is one peer");
    assert!(is_answered(&mut script).is_empty());
    assert_eq!(script.closed(), Some(&CloseReason::Crossed));
    let failed = |e: &Event| matches!(e, Event::SendFailed(f) if f.message.payload.len() == 10);
    assert!(script.events.iter().any(failed), "{:?}", script.events);
    let [other] = script.end.associations()[..] else { panic!("one remains") };
    assert_ne!(other, script.id);
    (script.id, script.tag) = (other, tag);
    assert_eq!(script.state(), State::Established);
    assert_eq!(only(&script.send(1)).tag(), PEER_TAG);
}

#[test]
fn a_call_that_is_answered_first_is_the_only_one() {
    // Table 12 C: "The cookie SHOULD be silently discarded." But ours may have been lost on its way, and
    // the peer's shows another one.
    let mut script = calling();
    let (tag, cookie) = is_called(&mut script);
    assert_eq!(types(&is_answered(&mut script)), [[ChunkType::COOKIE_ECHO]]);
    let timer = script.end.poll_timeout();
    let echo = packet(tag, |w| w.cookie_echo(&cookie));
    let sent = script.give_from(ways()[0], echo.clone());
    assert_eq!(types(&sent), [[ChunkType::COOKIE_ECHO]]);
    assert_eq!((only(&sent).to.destination, only(&sent).tag()), (ways()[0], PEER_TAG));
    assert_eq!((script.state(), script.end.poll_timeout()), (State::CookieEchoed, timer));
    let sent = script.give_from(ways()[0], packet(script.tag, |w| w.cookie_ack()));
    assert!(sent.iter().all(|p| p.types() == [ChunkType::HEARTBEAT]), "{:?}", types(&sent));
    assert_eq!(script.state(), State::Established);
    // It comes once more.
    assert!(script.give_from(ways()[0], echo).is_empty());
    assert_eq!(script.end.associations(), [script.id]);
}

//= RFC 9260 5.2.1-7 5.2.2-3
#[test]
fn an_init_with_the_tag_of_the_peer_is_one_of_a_collision_wherever_it_comes_from() {
    let mut script = calling();
    is_answered(&mut script);
    let sent = script.give_from(ways()[0], init_packet(&peer_fields(), &[]));
    let fields = only(&sent).init().0;
    assert_eq!((fields.initiate_tag, fields.initial_tsn), (script.tag, script.first));
    let echo = packet(script.tag, |w| w.cookie_echo(&only(&sent).cookie()));
    let sent = script.give_from(ways()[0], echo);
    assert_eq!(sent[0].types()[0], ChunkType::COOKIE_ACK);
    assert_eq!((script.end.associations(), script.state()), (vec![script.id], State::Established));
    // Later it is one that was under way for long. The ABORT for a restart with new addresses would end
    // the association of the peer, which has that tag.
    let more = ParameterWriter::new().ipv4([10, 0, 7, 7].into()).finish();
    assert!(script.give_from(ways()[0], init_packet(&peer_fields(), &more)).is_empty());
    assert_eq!(script.state(), State::Established);
}

/// Two shards of one endpoint: the first one has called the peer, whose INIT reaches the second one.
fn shards() -> [Script; 2] {
    let config = EndpointConfig {
        local_addresses: addresses(Side::A, 1),
        accept: true,
        association: standard(),
        ..EndpointConfig::default()
    };
    let mut scripts = Endpoint::shards(&config, [1; 32], 2).into_iter().map(Script::with_end);
    let mut both = [scripts.next().unwrap(), scripts.next().unwrap()];
    both[0].connect(&standard(), &ways()[1..]);
    both
}

#[test]
fn a_call_of_another_shard_that_is_answered_first_is_the_only_one() {
    let [mut calling, mut called] = shards();
    let (tag, cookie) = is_called(&mut called);
    assert_eq!(types(&is_answered(&mut calling)), [[ChunkType::COOKIE_ECHO]]);
    assert!(called.give_from(ways()[0], init_packet(&peer_fields(), &[])).is_empty());
    let echo = packet(tag, |w| w.cookie_echo(&cookie));
    assert!(called.give_from(ways()[0], echo.clone()).is_empty());
    assert!(called.end.associations().is_empty());
    // When that call is over, its tag is anybody's.
    let abort = packet(calling.tag, |w| w.abort(false, &[]));
    calling.give_from(ways()[1], abort);
    assert!(calling.end.associations().is_empty());
    let sent = called.give_from(ways()[0], echo);
    assert_eq!(types(&sent)[0][0], ChunkType::COOKIE_ACK);
}

#[test]
fn a_call_ends_when_the_peer_turns_out_to_have_called_another_shard() {
    let [mut calling, mut called] = shards();
    let (tag, cookie) = is_called(&mut called);
    called.give_from(ways()[0], packet(tag, |w| w.cookie_echo(&cookie)));
    assert_eq!(called.end.associations().len(), 1);
    assert!(is_answered(&mut calling).is_empty());
    assert_eq!(calling.closed(), Some(&CloseReason::Crossed));
    // Of those who call, two may have one tag.
    let init = init_packet(&peer_fields(), &[]);
    assert!(!calling.give_from([10, 0, 9, 9].into(), init).is_empty());
}

#[test]
fn two_peers_with_different_tags_are_two() {
    let mut script = calling();
    let (tag, cookie) = is_called(&mut script);
    script.give_from(ways()[0], packet(tag, |w| w.cookie_echo(&cookie)));
    let fields = InitFields { initiate_tag: VerificationTag(0x0ddba11), ..peer_fields() };
    let parameters = ParameterWriter::new().state_cookie(b"its cookie").finish();
    let ack = packet(script.tag, |w| w.init_ack(&fields, &parameters));
    assert_eq!(types(&script.give_from(ways()[1], ack)), [[ChunkType::COOKIE_ECHO]]);
    assert_eq!(script.end.associations().len(), 2);
}

#[test]
fn a_cookie_of_a_life_that_is_over_does_not_bring_it_back() {
    // The peer called, crashed, and called again. What it echoed in its first life comes last.
    let mut script = Script::connecting(&standard());
    let call = |script: &mut Script, tag: u32, tsn: u32| {
        let (initiate_tag, initial_tsn) = (VerificationTag(tag), Tsn(tsn));
        let fields = InitFields { initiate_tag, initial_tsn, ..peer_fields() };
        script.now += ms(100);
        only(&script.give_bytes(init_packet(&fields, &[]))).cookie()
    };
    let (first, second) = (call(&mut script, 1, 1000), call(&mut script, 2, 2000));
    let sent = script.give(|w| w.cookie_echo(&second));
    assert_eq!(only(&sent).types(), [ChunkType::COOKIE_ACK]);
    script.send(100);
    assert!(script.give(|w| w.cookie_echo(&first)).is_empty());
    assert!(!script.events.contains(&Event::Restarted));
    assert_eq!(only(&script.send(1)).tag(), VerificationTag(2));
    script.sack(2, &[]);
    assert_eq!(script.state(), State::Established);
}
