//! What an INIT ACK says (RFC 9260 §3.3.3).

use std::net::IpAddr;

use tresse_wire::{InitFields, ParameterWriter, Parameters, padded};

use crate::auth::Offer;
use crate::config::AssociationConfig;
use crate::handshake::PeerParameters;

/// What the INIT ACK to an INIT says, and where it goes.
pub(super) struct InitAckAnswer {
    pub(super) fields: InitFields,
    pub(super) tie_tags: (u32, u32),
    /// Our addresses, as far as the peer is told.
    pub(super) addresses: Vec<IpAddr>,
    pub(super) config: AssociationConfig,
    pub(super) to: IpAddr,
    /// Our address that it leaves from.
    pub(super) from: IpAddr,
    /// What it says of authenticated chunks.
    pub(super) offer: Option<Box<Offer>>,
}

/// Bytes of a packet with an INIT ACK that has no parameters (RFC 9260 §3.1, §3.3.3).
const INIT_ACK_LEN: usize = 12 + 20;

/// The parameters of an INIT ACK in a packet of `room` bytes: all that must be said, then those of our addresses and of
/// the peer's unrecognised parameters that there is room for.
pub(super) fn init_ack_parameters(
    cookie: &[u8],
    answer: &InitAckAnswer,
    report: &[u8],
    room: usize,
) -> Vec<u8> {
    let room = room.saturating_sub(INIT_ACK_LEN);
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(cookie);
    let mut others = ParameterWriter::new();
    let offer = answer.offer.as_deref();
    PeerParameters::write_ours(&[], &answer.config, offer, &mut others);
    let mut free = room.saturating_sub(parameters.len() + others.len());
    let told = answer.addresses.iter().take_while(|address| {
        let rest = free.checked_sub(if address.is_ipv4() { 8 } else { 20 });
        rest.map(|rest| free = rest).is_some()
    });
    let told: Vec<IpAddr> = told.copied().collect();
    PeerParameters::write_ours(&told, &answer.config, offer, &mut parameters);
    PeerParameters::write_preference(&told, &answer.config, room, &mut parameters);
    //= RFC 9260 3.2.2-1 3.3.3.1.2-1
    // §3.2.2: unrecognised parameters are reported here.
    for raw in Parameters::new(report).iter().map_while(Result::ok) {
        if parameters.len() + 4 + padded(raw.bytes.len()) > room {
            break;
        }
        parameters.unrecognized(raw.bytes);
    }
    parameters.finish()
}
