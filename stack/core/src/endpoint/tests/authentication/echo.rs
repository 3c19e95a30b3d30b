//! COOKIE ECHO and AUTH in one packet, restarts, collisions, and what belongs to nobody (RFC 4895 §6.3).

use super::*;
use script::init_packet;
use sent::{only, types};

const GUARDED: [ChunkType; 2] = [ChunkType::COOKIE_ECHO, ChunkType::DATA];

/// A client that the test plays, with the cookie that it got.
struct Client {
    peer: Peer,
    cookie: Vec<u8>,
}

impl Client {
    /// Sends INIT to an endpoint with these settings.
    fn new(config: &AssociationConfig, keys: SharedKeys) -> Client {
        let script = Script::listening(config);
        Client::again(script, &peer_fields(), keys, 8)
    }

    fn again(mut script: Script, fields: &InitFields, keys: SharedKeys, seed: u8) -> Client {
        let offer = offer_of(&[], seed);
        let sent = script.give_bytes(init_packet(fields, &written(&offer).finish()));
        let ack = only(&sent);
        let guard = Guard::new(&offer, &read_offer(ack).expect("an offer"));
        script.tag = ack.init().0.initiate_tag;
        script.next = fields.initial_tsn;
        let cookie = ack.cookie();
        Client { peer: Peer { script, offer, guard, keys }, cookie }
    }

    fn echo(&mut self) -> Vec<Sent> {
        let cookie = self.cookie.clone();
        let sent = self.peer.give(|w| w.cookie_echo(&cookie));
        self.peer.script.id =
            self.peer.script.end.associations().last().copied().unwrap_or_default();
        sent
    }
}

fn guarded(secret: &[u8]) -> AssociationConfig {
    with(Authentication {
        chunks: GUARDED.to_vec(),
        keys: one_key(secret),
        ..Authentication::default()
    })
}

//= RFC 4895 6.3-8 6.3-9
#[test]
fn the_cookie_has_what_its_echo_is_judged_with() {
    let mut client = Client::new(&guarded(b"secret"), one_key(b"secret"));
    assert_eq!(client.peer.script.end.associations(), [], "nothing is kept for an INIT");
    let (cookie, tsn) = (client.cookie.clone(), client.peer.script.next);
    let sent = client.peer.give(|w| {
        w.cookie_echo(&cookie);
        write_data(w, tsn, 10);
    });
    assert_eq!(sent[0].types()[0], ChunkType::COOKIE_ACK);
    let script = &mut client.peer.script;
    script.id = script.end.associations()[0];
    assert!(script.recv().is_some(), "what stands behind it is processed");
    assert_eq!(script.stats().unauthenticated_chunks, 0);
}

//= RFC 4895 6.3-8
#[test]
fn an_echo_without_the_key_opens_nothing() {
    // Without AUTH, with a wrong key, with the empty one, with a key that is not there.
    let mut client = Client::new(&guarded(b"secret"), one_key(b"secret"));
    let cookie = client.cookie.clone();
    let mut refused = 0;
    let mut check = |script: &mut Script, sent: Vec<Sent>| {
        refused += 1;
        assert!(sent.is_empty(), "{:?}", types(&sent));
        assert_eq!(script.end.associations(), []);
        assert_eq!(script.end.endpoint_stats().unauthenticated_cookies, refused);
    };
    let sent = client.peer.script.give(|w| w.cookie_echo(&cookie));
    check(&mut client.peer.script, sent);
    let mut null = SharedKeys::default();
    null.set(1, b"").unwrap();
    let mut other = SharedKeys::default();
    other.set(2, b"secret").unwrap();
    other.activate(2).unwrap();
    for keys in [one_key(b"guess"), SharedKeys::default(), null, other] {
        client.peer.keys = keys;
        client.peer.guard = Guard::new(&client.peer.offer, &their_offer(&client));
        let sent = client.echo();
        check(&mut client.peer.script, sent);
    }
    // Another AUTH chunk, cut short.
    let sent = client.peer.script.give(|w| {
        w.raw(&[15, 0, 0, 8, 0, 1, 0, 3]);
        w.cookie_echo(&cookie);
    });
    check(&mut client.peer.script, sent);
    client.peer.keys = one_key(b"secret");
    client.peer.guard = Guard::new(&client.peer.offer, &their_offer(&client));
    assert_eq!(types(&client.echo()), [[ChunkType::COOKIE_ACK]]);
}

/// What the endpoint has offered, from its cookie.
fn their_offer(client: &Client) -> Offer {
    let cookie = client.peer.script.end.greeter.keys().open(&client.cookie).unwrap();
    *cookie.offer.unwrap()
}

#[test]
fn an_echo_may_be_authenticated_where_it_need_not_be() {
    let config = asking(&[ChunkType::DATA]);
    let mut client = Client::new(&config, SharedKeys::default());
    let (cookie, tsn) = (client.cookie.clone(), client.peer.script.next);
    // "COOKIE-ECHO; AUTH; DATA" (RFC 4895 §7).
    let sent = client.peer.give(|w| {
        w.cookie_echo(&cookie);
        write_data(w, tsn, 10);
    });
    assert_eq!(sent[0].types()[0], ChunkType::COOKIE_ACK);
    client.peer.script.id = client.peer.script.end.associations()[0];
    assert!(client.peer.script.recv().is_some());
    // AUTH in front of it; a wrong one is refused, although none is needed.
    for right in [false, true] {
        let mut client = Client::new(&config, SharedKeys::default());
        let cookie = client.cookie.clone();
        let mut guard = Guard::new(&client.peer.offer, &offer_of(&GUARDED, 1));
        if right {
            let theirs = their_offer(&client);
            let mut all = ParameterWriter::new();
            theirs.write(&mut all);
            guard = Guard::new(&client.peer.offer, &theirs);
        }
        let mut bytes = packet(client.peer.script.tag, |w| {
            w.cookie_echo(&cookie);
            let tsn = client.peer.script.next;
            write_data(w, tsn, 10);
        });
        guard.sign(&client.peer.keys, None, &mut bytes);
        write_checksum(&mut bytes);
        let sent = client.peer.script.give_bytes(bytes);
        assert_eq!(sent.is_empty(), !right, "{:?}", types(&sent));
    }
}

//= RFC 4895 6.3-10
#[test]
fn an_echo_that_comes_again_is_judged_by_the_association() {
    let mut client = Client::new(&guarded(b"secret"), one_key(b"secret"));
    client.echo();
    assert_eq!(types(&client.echo()), [[ChunkType::COOKIE_ACK]]);
    let cookie = client.cookie.clone();
    assert!(client.peer.script.give(|w| w.cookie_echo(&cookie)).is_empty());
    // The association has another key by now, and no longer the first.
    let script = &mut client.peer.script;
    let (now, id) = (script.now, script.id);
    script.end.set_shared_key(now, id, 2, b"later").unwrap();
    script.end.activate_shared_key(now, id, 2).unwrap();
    script.end.delete_shared_key(now, id, 1).unwrap();
    assert!(client.echo().is_empty());
    assert_eq!(client.peer.script.stats().auth_unknown_keys, 1);
}

/// RFC 4895 §6.3: "Requiring ABORT chunks and COOKIE-ECHO chunks to be authenticated makes it impossible for an attacker to
/// bring down or restart an association".
#[test]
fn a_restart_needs_the_keys_of_the_old_association() {
    let mut client = Client::new(&guarded(b"secret"), one_key(b"secret"));
    client.echo();
    let Client { peer: Peer { script, guard: old, keys, .. }, .. } = client;
    let fields =
        InitFields { initiate_tag: VerificationTag(77), initial_tsn: Tsn(500), ..peer_fields() };
    let mut second = Client::again(script, &fields, keys, 9);
    let id = second.peer.script.end.associations()[0];
    assert!(second.echo().is_empty(), "the key of the new one is not that of the old one");
    let restarted = |s: &Script| s.events.contains(&Event::Restarted);
    assert!(!restarted(&second.peer.script));
    // Who knows the old one restarts it with that; from then on the new one counts, also in this packet.
    let new = std::mem::replace(&mut second.peer.guard, old);
    let (cookie, tsn) = (second.cookie.clone(), Tsn(500));
    let sent = second.peer.give(|w| {
        w.cookie_echo(&cookie);
        write_data(w, tsn, 10);
    });
    assert_eq!(sent[0].types()[0], ChunkType::COOKIE_ACK);
    assert!(restarted(&second.peer.script));
    assert_eq!(second.peer.script.end.associations(), [id]);
    second.peer.script.id = id;
    assert!(second.peer.script.recv().is_some());
    let data = |peer: &mut Peer, tsn| peer.give(|w| write_data(w, tsn, 10));
    data(&mut second.peer, Tsn(501));
    assert_eq!(second.peer.script.recv(), None, "the old key is over");
    second.peer.guard = new;
    data(&mut second.peer, Tsn(501));
    assert!(second.peer.script.recv().is_some());
}

#[test]
fn a_restart_by_a_live_peer_makes_new_keys() {
    let config = asking(&[ChunkType::DATA]);
    let (mut pair, _, z) = Pair::connected(&config, 1);
    let association = config.clone();
    let local_addresses = addresses(Side::A, 1);
    let again = EndpointConfig { local_addresses, association, ..EndpointConfig::default() };
    pair.replace(Side::A, Endpoint::new(again, [77; 32]));
    let a = pair.open(Side::A, &config);
    pair.run(ms(100));
    assert!(pair.saw(Side::Z, |event| *event == Event::Restarted));
    pair.send(Side::A, a, 0, vec![1; 100]);
    pair.send(Side::Z, z, 0, vec![2; 100]);
    pair.run(secs(1));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    assert_eq!(pair.recv_all(Side::A, a).len(), 1);
}

//= RFC 4895 6.3-10
#[test]
fn calls_that_cross_agree_on_one_key() {
    for (late, chunks) in [(0, &GUARDED[..]), (3, &GUARDED[..]), (15, &[ChunkType::DATA])] {
        let config = with(Authentication {
            chunks: chunks.to_vec(),
            keys: one_key(b"secret"),
            required: true,
            ..Authentication::default()
        });
        // Both learn the key only once they have called.
        let port = with(Authentication {
            keys: SharedKeys::default(),
            ..(*config.authentication).clone()
        });
        let mut pair = Pair::new(&port, 1);
        if late > 3 {
            pair = Pair::new(&config, 1);
        }
        let a = pair.open(Side::A, &config);
        pair.run(ms(late));
        // The call of A may have made an association there already.
        let z = match pair.end(Side::Z).associations().first() {
            Some(z) => *z,
            None => pair.open(Side::Z, &config),
        };
        pair.run(secs(10));
        for _ in 0..3 {
            pair.send(Side::A, a, 0, vec![1; 2000]);
            pair.send(Side::Z, z, 0, vec![2; 2000]);
            pair.run(secs(1));
        }
        assert_eq!(pair.recv_all(Side::Z, z).len(), 3, "{late} ms");
        assert_eq!(pair.recv_all(Side::A, a).len(), 3, "{late} ms");
        assert_eq!(pair.closed(Side::A), None);
    }
}

//= RFC 4895 6.3-11 6.3-12 6.3-13
#[test]
fn what_belongs_to_nobody_is_answered_as_if_there_were_no_auth_chunk() {
    let mut script = Script::listening(&asking(&[ChunkType::DATA]));
    let auth = Auth { key: 0, algorithm: HmacIdentifier::SHA_1, hmac: &[0; 20] };
    let tag = VerificationTag(1234);
    let mut give = |write: fn(&mut PacketWriter<'_>)| {
        script.give_bytes(packet(tag, |w| {
            w.auth(&auth);
            write(w);
        }))
    };
    let sent = give(|w| write_data(w, Tsn(1), 10));
    assert_eq!((types(&sent), only(&sent).reflected()), (vec![vec![ChunkType::ABORT]], true));
    assert!(give(|w| w.abort(false, &[])).is_empty());
    assert!(give(|w| w.cookie_ack()).is_empty());
    assert_eq!(types(&give(|w| w.shutdown_ack())), [[ChunkType::SHUTDOWN_COMPLETE]]);
    assert!(give(|w| w.shutdown_complete(false)).is_empty());
    // INIT is alone in its packet (RFC 9260 §6.10).
    let init = packet(VerificationTag(0), |w| {
        w.auth(&auth);
        w.init(&peer_fields(), &[]);
    });
    assert!(script.give_bytes(init).is_empty());
}

//= RFC 4895 6.3-14
#[test]
fn what_belongs_to_an_association_is_judged_by_it() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    let tsn = peer.script.next;
    let bytes = peer.signed(|w| write_data(w, tsn, 10));
    assert_eq!(bytes[12], ChunkType::AUTH.0);
    peer.script.give_bytes(bytes);
    assert_eq!(peer.script.stats().auth_chunks_received, 1);
    assert!(peer.script.recv().is_some());
}

#[test]
fn who_did_not_agree_cannot_echo_behind_auth() {
    let mut script = Script::listening(&asking(&GUARDED));
    let sent = script.give_bytes(init_packet(&peer_fields(), &[]));
    let ack = only(&sent).clone();
    assert_eq!(read_offer(&ack), None, "who offers nothing is offered nothing");
    script.tag = ack.init().0.initiate_tag;
    let sent = script.give(|w| {
        w.auth(&Auth { key: 0, algorithm: HmacIdentifier::SHA_1, hmac: &[0; 20] });
        w.cookie_echo(&ack.cookie());
    });
    assert!(sent.is_empty());
    // Unless that is required, it goes unauthenticated.
    assert_eq!(types(&script.give(|w| w.cookie_echo(&ack.cookie()))), [[ChunkType::COOKIE_ACK]]);
}
