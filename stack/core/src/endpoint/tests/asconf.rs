//! Dynamic address reconfiguration (RFC 5061), between two endpoints, and against a peer that the test plays by hand.

mod abuse;
mod agreement;
mod asked;
mod asking;
mod moving;
mod preference;
mod random;

use super::authentication::Peer;
use super::*;
use crate::error::AddressError;
use crate::event::{AddressChange, AddressOutcome};
use tresse_wire::{AddressRequest, Asconf, AsconfAck, AsconfNumber, Chunk, Parameter, Parameters};

const BOTH: [ChunkType; 2] = [ChunkType::ASCONF, ChunkType::ASCONF_ACK];

/// RFC 9260 with changes of addresses.
fn config() -> AssociationConfig {
    let extensions =
        Extensions { authentication: true, address_reconfiguration: true, ..Extensions::NONE };
    AssociationConfig { extensions, ..standard() }
}

fn at(net: u8, host: u8) -> IpAddr {
    [10, 0, net, host].into()
}

/// An address of A, and one of Z.
fn a(net: u8) -> IpAddr {
    at(net, 1)
}

fn z(net: u8) -> IpAddr {
    at(net, 2)
}

fn remotes(pair: &mut Pair, side: Side, id: AssociationId) -> Vec<IpAddr> {
    pair.end(side).path_stats(id).iter().map(|path| path.remote).collect()
}

fn locals(pair: &mut Pair, side: Side, id: AssociationId) -> Vec<IpAddr> {
    pair.end(side).info(id).unwrap().local_addresses
}

/// What became of what this side asked for.
fn outcomes(pair: &Pair, side: Side) -> Vec<(AddressChange, IpAddr, AddressOutcome)> {
    let of = |(s, _, event): &(Side, AssociationId, Event)| match event {
        Event::AddressChanged { change, address, outcome } if *s == side => {
            Some((*change, *address, *outcome))
        }
        _ => None,
    };
    pair.events.iter().filter_map(of).collect()
}

fn change(
    pair: &mut Pair,
    side: Side,
    id: AssociationId,
    what: AddressChange,
    address: IpAddr,
) -> Result<(), AddressError> {
    let now = pair.now;
    pair.end(side).change_address(now, id, what, address)
}

/// A peer, which has 10.0.0.2 to `count`, and has agreed on changes of addresses.
fn peer(config: &AssociationConfig, count: u8) -> Peer {
    Peer::extended(config, &BOTH, &BOTH, &addresses(Side::Z, count))
}

/// The first number of the peer's ASCONF chunks.
const FIRST: AsconfNumber = AsconfNumber(script::PEER_TSN.0);

/// An ASCONF chunk of the peer, found by `lookup`.
fn asconf(number: AsconfNumber, lookup: IpAddr, list: &[u8]) -> impl Fn(&mut PacketWriter<'_>) {
    move |w: &mut PacketWriter<'_>| {
        w.asconf(&Asconf { number, address: lookup, requests: Parameters::new(list) });
    }
}

fn add(correlation: u32, address: IpAddr) -> Vec<u8> {
    ParameterWriter::new().add_ip_address(AddressRequest { correlation, address }).finish()
}

fn delete(correlation: u32, address: IpAddr) -> Vec<u8> {
    ParameterWriter::new().delete_ip_address(AddressRequest { correlation, address }).finish()
}

/// The only ASCONF-ACK chunk among the packets: its number and what it refuses, by correlation and cause; and where it went.
fn acknowledged(sent: &[Sent]) -> (AsconfNumber, Vec<(u32, CauseCode)>, IpAddr) {
    let acks: Vec<_> = sent.iter().filter(|p| p.carries(ChunkType::ASCONF_ACK)).collect();
    assert_eq!(acks.len(), 1, "{:?}", sent::types(sent));
    let ack = acks[0].chunks().find_map(|chunk| match chunk {
        Chunk::AsconfAck(ack) => Some((ack.number, refused(&ack))),
        _ => None,
    });
    let (number, refused) = ack.unwrap();
    assert_eq!(acks[0].types(), [ChunkType::AUTH, ChunkType::ASCONF_ACK]);
    (number, refused, acks[0].to.destination)
}

fn refused(ack: &AsconfAck<'_>) -> Vec<(u32, CauseCode)> {
    let of = |parameter| match parameter {
        Parameter::ErrorCauseIndication(refused) => {
            let cause = refused.causes.iter().next().unwrap().unwrap();
            Some((refused.correlation, cause.code))
        }
        _ => None,
    };
    ack.responses.parsed().map(Result::unwrap).filter_map(of).collect()
}

fn numbered(n: u32) -> Vec<u8> {
    let mut payload = n.to_be_bytes().to_vec();
    payload.resize(900, 7);
    payload
}

fn numbers(messages: &[ReceivedMessage]) -> Vec<u32> {
    let number = |m: &ReceivedMessage| u32::from_be_bytes(m.payload[..4].try_into().unwrap());
    messages.iter().map(number).collect()
}
