//! Authenticated chunks (RFC 4895), between two endpoints, and against a peer with a key of its own.

mod agreement;
mod echo;
mod keys;
mod middle;
mod random;
mod receiving;
mod sending;

use super::*;
use crate::auth::{AuthVerdict, Authentication, Guard, Offer, OfferReader, SharedKeys};
use crate::event::AuthenticationEvent;
use crate::rng::Rng;
use script::{packet, peer_fields};
use tresse_wire::{Auth, Chunk, HmacIdentifier, Packet, write_checksum};

/// RFC 9260 with authenticated chunks.
fn with(settings: Authentication) -> AssociationConfig {
    let extensions = Extensions { authentication: true, ..Extensions::NONE };
    AssociationConfig { extensions, authentication: settings.into(), ..standard() }
}

/// An end that takes these chunks only if they are authenticated.
fn asking(chunks: &[ChunkType]) -> AssociationConfig {
    with(Authentication { chunks: chunks.to_vec(), ..Authentication::default() })
}

/// Key 1, active, and no other.
fn one_key(secret: &[u8]) -> SharedKeys {
    let mut keys = SharedKeys::default();
    keys.set(1, secret).unwrap();
    keys.activate(1).unwrap();
    keys.delete(0).unwrap();
    keys
}

/// The offer in an INIT or INIT ACK.
fn read_offer(sent: &Sent) -> Option<Offer> {
    let parameters = match sent.chunks().next() {
        Some(Chunk::Init(init)) => init.parameters,
        Some(Chunk::InitAck(ack)) => ack.parameters,
        other => panic!("neither INIT nor INIT ACK: {other:?}"),
    };
    let mut reader = OfferReader::default();
    for raw in parameters.iter() {
        reader.take(raw.unwrap());
    }
    reader.finish().unwrap()
}

/// A peer that the test plays by hand, with keys.
pub(super) struct Peer {
    pub(super) script: Script,
    offer: Offer,
    guard: Guard,
    keys: SharedKeys,
}

/// What a peer offers that wants these chunks authenticated.
fn offer_of(chunks: &[ChunkType], seed: u8) -> Offer {
    let settings = Authentication { chunks: chunks.to_vec(), ..Authentication::default() };
    Offer::new(&settings, &mut Rng::from_seed([seed; 32]))
}

fn written(offer: &Offer) -> ParameterWriter {
    let mut parameters = ParameterWriter::new();
    offer.write(&mut parameters);
    parameters
}

impl Peer {
    /// The endpoint has sent INIT, and gets an INIT ACK with this offer.
    fn echoed(config: &AssociationConfig, chunks: &[ChunkType]) -> (Peer, Vec<Sent>) {
        Peer::answering(config, chunks, |_| {})
    }

    /// The same; something happens before the INIT ACK.
    fn answering(
        config: &AssociationConfig,
        chunks: &[ChunkType],
        before: impl FnOnce(&mut Script),
    ) -> (Peer, Vec<Sent>) {
        let mut script = Script::listening(config);
        let sent = script.connect(config, &addresses(Side::Z, 1));
        let theirs = read_offer(&sent[0]).expect("an offer");
        before(&mut script);
        let offer = offer_of(chunks, 5);
        let mut parameters = ParameterWriter::new();
        parameters.state_cookie(b"cookie");
        offer.write(&mut parameters);
        let sent = script.init_ack_with(&peer_fields(), &mut parameters);
        let guard = Guard::new(&offer, &theirs);
        let keys = config.authentication.keys.clone();
        (Peer { script, offer, guard, keys }, sent)
    }

    /// An association that the endpoint opened with a peer at these addresses, established. The peer wants these chunks
    /// authenticated, and offers these extensions.
    pub(super) fn extended(
        config: &AssociationConfig,
        chunks: &[ChunkType],
        extensions: &[ChunkType],
        remotes: &[IpAddr],
    ) -> Peer {
        Peer::between(config, 1, chunks, extensions, remotes)
    }

    /// The same of an endpoint with this many addresses.
    pub(super) fn between(
        config: &AssociationConfig,
        ours: u8,
        chunks: &[ChunkType],
        extensions: &[ChunkType],
        remotes: &[IpAddr],
    ) -> Peer {
        let script = Script::with_end(pair::endpoint(Side::A, ours, config));
        let (source, local) = (remotes[0], addresses(Side::A, 1)[0]);
        Peer::opened(script, config, chunks, extensions, remotes, (source, local))
    }

    /// The same of an endpoint that is bound to a wildcard, on a host with these addresses.
    pub(super) fn behind_nat(
        config: &AssociationConfig,
        chunks: &[ChunkType],
        ours: &[IpAddr],
        remote: IpAddr,
    ) -> Peer {
        let settings = EndpointConfig { association: config.clone(), ..EndpointConfig::default() };
        let mut script = Script::with_end(Endpoint::new(settings, [7; 32]));
        script.end.set_host_addresses(script.now, ours);
        Peer::opened(script, config, chunks, chunks, &[remote], (remote, ours[0]))
    }

    fn opened(
        mut script: Script,
        config: &AssociationConfig,
        chunks: &[ChunkType],
        extensions: &[ChunkType],
        remotes: &[IpAddr],
        (source, destination): (IpAddr, IpAddr),
    ) -> Peer {
        let sent = script.connect(config, &remotes[..1]);
        let theirs = read_offer(&sent[0]).expect("an offer");
        let offer = offer_of(chunks, 5);
        let mut parameters = ParameterWriter::new();
        parameters.state_cookie(b"cookie");
        let extensions: Vec<u8> = extensions.iter().map(|kind| kind.0).collect();
        parameters.supported_extensions(&extensions);
        script::write_addresses(&mut parameters, &remotes[1..]);
        offer.write(&mut parameters);
        let list = parameters.finish();
        let give = |script: &mut Script, packet: Vec<u8>| {
            let packet = packet.into();
            script.give_datagram(Datagram {
                source,
                destination,
                encapsulation: None,
                ecn: Ecn::NotEct,
                packet,
            });
        };
        let tag = script.tag;
        give(&mut script, packet(tag, |w| w.init_ack(&peer_fields(), &list)));
        give(&mut script, packet(tag, |w| w.cookie_ack()));
        assert_eq!(script.state(), State::Established);
        script.events.clear();
        let guard = Guard::new(&offer, &theirs);
        Peer { script, offer, guard, keys: config.authentication.keys.clone() }
    }

    /// An association that the endpoint opened, established.
    fn connected(config: &AssociationConfig, chunks: &[ChunkType]) -> Peer {
        let (mut peer, _) = Peer::echoed(config, chunks);
        peer.give(|w| w.cookie_ack());
        assert_eq!(peer.script.state(), State::Established);
        peer.script.events.clear();
        peer
    }

    /// A packet as the endpoint wants it.
    pub(super) fn signed(&mut self, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
        let mut bytes = packet(self.script.tag, write);
        self.guard.sign(&self.keys, None, &mut bytes);
        write_checksum(&mut bytes);
        bytes
    }

    pub(super) fn give(&mut self, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<Sent> {
        let bytes = self.signed(write);
        self.script.give_bytes(bytes)
    }

    /// A signed packet after a change to its AUTH chunk, which is the first one.
    fn altered(
        &mut self,
        write: impl FnOnce(&mut PacketWriter<'_>),
        change: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let mut bytes = self.signed(write);
        assert_eq!(bytes[12], ChunkType::AUTH.0);
        change(&mut bytes[12..]);
        resealed(&bytes)
    }

    /// Whether a packet of the endpoint is authentic; the types behind its AUTH chunk.
    fn judge(&mut self, sent: &Sent) -> (AuthVerdict, Vec<ChunkType>) {
        let packet = Packet::parse(&sent.bytes).unwrap();
        let mut chunks = packet.chunks();
        while let Some(raw) = chunks.next() {
            if let Chunk::Auth(auth) = Chunk::parse(raw.unwrap()).unwrap() {
                let verdict = self.guard.judge(&self.keys, &auth, chunks.rest());
                return (verdict, chunks.map(|raw| raw.unwrap().chunk_type).collect());
            }
        }
        panic!("no AUTH chunk in {:?}", sent.types());
    }

    /// DATA of the peer with the next TSN.
    fn data(&mut self, len: usize) -> Vec<Sent> {
        let tsn = self.script.next;
        self.script.next = tsn.wrapping_add(1);
        self.give(|w| write_data(w, tsn, len))
    }

    fn told(&self) -> Vec<AuthenticationEvent> {
        told(&self.script.events)
    }
}

fn told<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<AuthenticationEvent> {
    let of = |event: &Event| match event {
        Event::Authentication(event) => Some(*event),
        _ => None,
    };
    events.into_iter().filter_map(of).collect()
}

/// One whole unordered message.
fn write_data(writer: &mut PacketWriter<'_>, tsn: Tsn, len: usize) {
    let flags = DataFlags { unordered: true, ..DataFlags::UNFRAGMENTED };
    writer.data(tsn, StreamId(0), Ssn(0), Ppid(0), flags, &vec![3; len]);
}

/// The packet with its checksum written again.
fn resealed(bytes: &[u8]) -> Vec<u8> {
    let header = Packet::parse_unverified(bytes).unwrap().header();
    let mut again = Vec::new();
    let mut writer = PacketWriter::new(&mut again, header);
    writer.raw(&bytes[12..]);
    writer.finish();
    again
}

/// Every packet that has chunks of the kind has AUTH in front of them, and fits.
fn all_authenticated(log: &[Sent], from: Side, kind: ChunkType) -> usize {
    let packets = log.iter().filter(|p| p.from == from && p.carries(kind));
    let check = |sent: &Sent| {
        let types = sent.types();
        let place = |kind| types.iter().position(|t| *t == kind);
        assert!(place(ChunkType::AUTH).is_some_and(|at| Some(at) < place(kind)), "{types:?}");
        assert_eq!(types.iter().filter(|t| **t == ChunkType::AUTH).count(), 1);
        assert!(sent.bytes.len() <= 1480, "{}", sent.bytes.len());
        assert!(!sent.to.fragments.are_allowed());
    };
    packets.inspect(|sent| check(sent)).count()
}
