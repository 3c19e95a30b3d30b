//! ASCONF chunks of the peer (RFC 5061 §5.2, §5.3).

use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::{
    AddressRequest, Asconf, CauseWriter, Parameter, ParameterType, ParameterWriter, RawParameter,
    UnknownAction,
};

use super::removal::{Gone, add_path, remove_path};
use super::{AddressChanges, Affected, Common};
use crate::asconf::SequenceCheck;
use crate::association::incoming::PacketInHand;
use crate::ids::PathId;
use crate::path::source::is_usable;

/// Bytes of an unrecognized parameter that are sent back: it fits every packet.
const MAX_REPORTED: usize = 256;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Last,
    Source,
    Shortage,
    /// It cannot be reached from here, or is no address of the peer.
    Unusable,
}

/// What was found while the requests of a chunk were processed.
#[derive(Debug, Default)]
struct Processing {
    responses: ParameterWriter,
    /// An addition or deletion has failed.
    fails: bool,
    /// A parameter that is not understood forbids to go on: nothing that follows is done.
    stopped: bool,
    gone: Vec<Gone>,
    /// Addresses have come or gone.
    moved: bool,
    /// Something was refused: of what follows it, success is to be said.
    refused: bool,
}

/// What has become of an ASCONF chunk.
#[derive(Debug)]
pub(in crate::association) struct Performed {
    /// The encoded responses.
    pub(in crate::association) responses: Bytes,
    /// Paths that are gone, in this order.
    pub(in crate::association) gone: Vec<Gone>,
    /// There are other addresses of the peer than before.
    pub(in crate::association) moved: bool,
}

impl AddressChanges {
    //= RFC 5061 4.1.1-1 5.2-8 5.2-9 5.3.2-3
    /// An ASCONF chunk, which was authenticated; `None` if nothing answers it.
    pub(in crate::association) fn on_asconf(
        &mut self,
        cx: &mut Common<'_>,
        affected: &mut Affected<'_>,
        incoming: &PacketInHand<'_>,
        asconf: &Asconf<'_>,
    ) -> Option<Performed> {
        if !cx.state.may_change_addresses() {
            return None;
        }
        match self.answers.check(asconf.number) {
            SequenceCheck::New => {
                cx.journal.stats.asconfs_received += 1;
                let mut state = Processing::default();
                self.perform(cx, affected, incoming, asconf, &mut state);
                let Processing { moved, .. } = state;
                let gone = std::mem::take(&mut state.gone);
                let responses = Bytes::from(state.finish(cx.paths.amdcs()));
                self.answers.keep(responses.clone());
                Some(Performed { responses, gone, moved })
            }
            SequenceCheck::Again(kept) => {
                cx.journal.stats.asconfs_seen_again += 1;
                kept.map(|responses| Performed { responses, gone: Vec::new(), moved: false })
            }
            // E5: "it must be either a stale packet or from an attacker".
            SequenceCheck::Stray => {
                cx.journal.stats.malformed_chunks += 1;
                None
            }
        }
    }

    //= RFC 5061 4.2-1 4.2-2 4.2.6-4 5.2-4 5.2-5 5.2-6 5.4-2 5.4-3
    /// Goes through the requests in their order. Responses are refusals, and what is not understood; the rest is done.
    fn perform(
        &mut self,
        cx: &mut Common<'_>,
        affected: &mut Affected<'_>,
        incoming: &PacketInHand<'_>,
        asconf: &Asconf<'_>,
        state: &mut Processing,
    ) {
        for raw in asconf.requests.iter().map_while(Result::ok) {
            let Ok(parameter) = Parameter::parse(raw) else {
                state.refuse_unreadable(raw);
                continue;
            };
            match parameter {
                Parameter::AddIpAddress(request) => {
                    let mut peer = Peer { cx, affected, incoming, state };
                    let refusal = peer.change(|peer| peer.add(&request));
                    state.respond(refusal, &request, raw);
                }
                Parameter::DeleteIpAddress(request) => {
                    let mut peer = Peer { cx, affected, incoming, state };
                    let refusal = peer.change(|peer| peer.delete(&request));
                    state.respond(refusal, &request, raw);
                }
                Parameter::SetPrimaryAddress(request) => {
                    let address = meant(&request, incoming);
                    // §5.4: what "does not exist" is not honored.
                    let refusal = match cx.paths.find(address) {
                        _ if state.stopped => Some(Refusal::Shortage),
                        Some(path) => {
                            self.prefer(cx, path);
                            None
                        }
                        None => Some(Refusal::Unusable),
                    };
                    state.respond(refusal, &request, raw);
                }
                // §4.2: what is known and not allowed here is ignored.
                _ if is_known(raw.parameter_type) => {}
                _ if state.stopped => {}
                _ => {
                    let action = raw.parameter_type.unknown_action();
                    let reports = matches!(
                        action,
                        UnknownAction::SkipAndReport | UnknownAction::StopAndReport
                    );
                    if let Some(id) = raw.value.first_chunk().filter(|_| reports) {
                        let reported = &raw.bytes[..raw.bytes.len().min(MAX_REPORTED)];
                        let causes = CauseWriter::new().unrecognized_parameters(reported).finish();
                        state.refused = true;
                        state.responses.error_cause_indication(u32::from_be_bytes(*id), &causes);
                    }
                    // What is not done must be refused: without a response it counts as done (§5.2 D4).
                    state.stopped =
                        matches!(action, UnknownAction::Stop | UnknownAction::StopAndReport);
                    state.fails |= state.stopped;
                }
            }
        }
    }
}

/// The peer whose addresses change.
struct Peer<'a, 'b, 'c, 'p> {
    cx: &'a mut Common<'b>,
    affected: &'a mut Affected<'c>,
    incoming: &'a PacketInHand<'p>,
    state: &'a mut Processing,
}

impl Peer<'_, '_, '_, '_> {
    /// One request, unless one before it has failed: why it is refused, if it is.
    fn change(
        &mut self,
        request: impl FnOnce(&mut Self) -> Result<(), Refusal>,
    ) -> Option<Refusal> {
        let refusal = if self.state.fails { Some(Refusal::Shortage) } else { request(self).err() };
        self.state.fails |= refusal.is_some();
        refusal
    }

    //= RFC 5061 4.2.1-3 5.3-19
    fn add(&mut self, request: &AddressRequest) -> Result<(), Refusal> {
        let Peer { cx, affected, incoming, state } = self;
        let address = meant(request, incoming);
        let foreign_loopback = address.is_loopback() && !incoming.source().is_loopback();
        let sources = affected.addresses.sources();
        // As with those that are listed (`usable_peers`): one that our host has is not the peer's, who is elsewhere. It is one
        // that many hosts have, such as that of a bridge between containers.
        let beside_us = sources.is_own(incoming.source()) || incoming.source().is_loopback();
        let ours = sources.is_own(address) && !beside_us;
        if !is_usable(address) || foreign_loopback || ours || !sources.reach(address) {
            return Err(Refusal::Unusable);
        }
        if cx.paths.find(address).is_some() {
            return Ok(());
        }
        // What it lists may be reached at the port that its packets come from.
        let added = add_path(cx, affected, address, incoming.encapsulation());
        state.moved |= added.is_some();
        added.map(|_| ()).ok_or(Refusal::Shortage)
    }

    //= RFC 5061 4.2.2-3 5.3-15 5.3-16 5.3-17 5.3-18 5.3-22
    fn delete(&mut self, request: &AddressRequest) -> Result<(), Refusal> {
        let source = self.cx.paths.find(self.incoming.source());
        if request.address.is_unspecified() {
            // "all addresses of the peer except the source address of the packet".
            let source = source.ok_or(Refusal::Source)?;
            let others: Vec<PathId> = self.cx.paths.ids().filter(|path| *path != source).collect();
            for path in others {
                self.remove(path);
            }
            return Ok(());
        }
        let path = self.cx.paths.find(request.address).ok_or(Refusal::Unusable)?;
        if self.cx.paths.len() == 1 {
            return Err(Refusal::Last);
        }
        if request.address == self.incoming.source() {
            return Err(Refusal::Source);
        }
        if self.remove(path) { Ok(()) } else { Err(Refusal::Last) }
    }

    fn remove(&mut self, path: PathId) -> bool {
        let gone = remove_path(self.cx, &mut self.affected.halves, path);
        self.state.moved |= gone.is_some();
        let is_gone = gone.is_some();
        self.state.gone.extend(gone);
        is_gone
    }
}

/// The address that a request is about: a wildcard means where the packet comes from.
fn meant(request: &AddressRequest, incoming: &PacketInHand<'_>) -> IpAddr {
    if request.address.is_unspecified() { incoming.source() } else { request.address }
}

fn is_known(kind: ParameterType) -> bool {
    kind.name().is_some()
}

impl Processing {
    //= RFC 5061 4.2.1-1 4.2.2-1 4.2.3-1 4.2.4-1 5.2-7 5.3-15 5.3-18 5.3-19 5.3-20 5.3-21
    fn respond(
        &mut self,
        refusal: Option<Refusal>,
        request: &AddressRequest,
        raw: RawParameter<'_>,
    ) {
        let Some(refusal) = refusal else {
            if self.refused {
                self.responses.success_indication(request.correlation);
            }
            return;
        };
        self.refused = true;
        let mut causes = CauseWriter::new();
        match refusal {
            Refusal::Last => causes.request_to_delete_last_address(raw.bytes),
            Refusal::Source => causes.request_to_delete_source_address(raw.bytes),
            Refusal::Shortage => causes.resource_shortage(raw.bytes),
            Refusal::Unusable => {
                causes.unresolvable_address(raw.value.get(4..).unwrap_or_default())
            }
        };
        self.responses.error_cause_indication(request.correlation, &causes.finish());
    }

    //= RFC 5061 4.1.1-6
    /// A request that names no address that could be read, such as the name of a host: without a response it would count as
    /// done.
    fn refuse_unreadable(&mut self, raw: RawParameter<'_>) {
        let requests = [
            ParameterType::ADD_IP_ADDRESS,
            ParameterType::DELETE_IP_ADDRESS,
            ParameterType::SET_PRIMARY_ADDRESS,
        ];
        let Some((id, rest)) = raw.value.split_first_chunk() else { return };
        if requests.contains(&raw.parameter_type) {
            let rest = &rest[..rest.len().min(MAX_REPORTED)];
            let mut causes = CauseWriter::new();
            causes.unresolvable_address(rest);
            self.responses.error_cause_indication(u32::from_be_bytes(*id), &causes.finish());
            self.refused = true;
            self.fails |= raw.parameter_type != ParameterType::SET_PRIMARY_ADDRESS;
        }
    }

    //= RFC 5061 5.1.1-6
    /// The responses, if they fit a packet of this many bytes: those that do not are left out from the end. The first that
    /// failed always does, and says that what follows it was not done.
    fn finish(mut self, room: usize) -> Vec<u8> {
        let mut list = self.responses.finish();
        // Headers of the chunk, and an AUTH chunk.
        list.truncate(fitting(&list, room.saturating_sub(64)));
        list
    }
}

/// How many bytes at the front of encoded responses are whole ones that fit this room.
pub(in crate::association) fn fitting(list: &[u8], room: usize) -> usize {
    let mut end = 0;
    for raw in tresse_wire::Parameters::new(list).iter().map_while(Result::ok) {
        let next = end + tresse_wire::padded(raw.bytes.len());
        if next > room {
            break;
        }
        end = next;
    }
    end.min(list.len())
}
