//! ASCONF chunks of the peer (RFC 5061 §5.2, §5.3).

use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::{
    AddressRequest, Asconf, CauseWriter, ChunkType, Parameter, ParameterType, ParameterWriter,
    RawParameter, UnknownAction,
};

use crate::asconf::Turn;
use crate::association::input::Incoming;
use crate::association::outbox::Back;
use crate::association::{Association, Control};
use crate::path::PathId;
use crate::path::source::is_usable;
use crate::time::Time;

/// Bytes of the common header.
const HEADER: usize = 12;
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
    /// Something was refused: of what follows it, success is to be said.
    refused: bool,
}

impl Association {
    //= RFC 5061 4.1.1-1 5.2-8 5.2-9 5.3.2-3
    /// An ASCONF chunk, which was authenticated.
    pub(in crate::association) fn on_asconf(
        &mut self,
        now: Time,
        incoming: &mut Incoming<'_>,
        asconf: &Asconf<'_>,
    ) {
        if !self.may_change_addresses() {
            return;
        }
        let Some(changes) = &self.addresses.changes else { return };
        let responses = match changes.answers.turn(asconf.number) {
            Turn::New => {
                self.journal.stats.asconfs_received += 1;
                let responses = Bytes::from(self.perform_requests(now, incoming, asconf));
                if let Some(changes) = &mut self.addresses.changes {
                    changes.answers.keep(responses.clone());
                }
                responses
            }
            Turn::Again(kept) => {
                self.journal.stats.asconfs_seen_again += 1;
                let Some(responses) = kept else { return };
                responses
            }
            // E5: "it must be either a stale packet or from an attacker".
            Turn::Stray => {
                self.journal.stats.malformed_chunks += 1;
                return;
            }
        };
        // E6: back to where it came from, whether that is an address of the association or not.
        let path = self.paths.find(incoming.source);
        let back = Back {
            address: incoming.source,
            encapsulation: incoming.encapsulation,
            local: self.may_leave_from(incoming.local).then_some(incoming.local),
        };
        let path = path.unwrap_or_else(|| self.paths.data_path());
        if let Some(responses) = self.fit_answer(incoming, path, &responses) {
            self.push_control(path, Control::AsconfAck(asconf.number, responses, back));
        }
        incoming.follow(&self.paths);
    }

    /// The responses to a chunk, as many as may leave: E6, all acknowledgements of one packet fit one packet. Where the source
    /// may be forged, for it is no confirmed address of the peer, they are no longer than what they answer, but for the
    /// eight bytes of the longest response without a request. `None` for none at all: the peer repeats its chunk.
    fn fit_answer(
        &self,
        incoming: &mut Incoming<'_>,
        path: PathId,
        responses: &Bytes,
    ) -> Option<Bytes> {
        let confirmed =
            self.paths.find(incoming.source) == Some(path) && self.paths[path].is_confirmed();
        let packet = HEADER + self.paths[path].pmdcs();
        let most = if confirmed { packet } else { packet.min(incoming.bytes.len() + 8) };
        let head = HEADER + self.authentication_len(ChunkType::ASCONF_ACK) + 8;
        let end = fitting(responses, incoming.left(most).saturating_sub(head));
        let leaves = end > 0 || responses.is_empty();
        (leaves && incoming.affords(head + end, most)).then(|| responses.slice(..end))
    }

    //= RFC 5061 4.2-1 4.2-2 4.2.6-4 5.2-4 5.2-5 5.2-6 5.4-2 5.4-3
    /// Goes through the requests in their order. The encoded responses come out: refusals, and what is not understood; the rest
    /// is done.
    fn perform_requests(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        asconf: &Asconf<'_>,
    ) -> Vec<u8> {
        let mut state = Processing::default();
        for raw in asconf.requests.iter().map_while(Result::ok) {
            let Ok(parameter) = Parameter::parse(raw) else {
                state.refuse_unreadable(raw);
                continue;
            };
            match parameter {
                Parameter::AddIpAddress(request) => {
                    let refusal = match state.fails {
                        false => self.add_peer_address(now, incoming, &request).err(),
                        true => Some(Refusal::Shortage),
                    };
                    state.fails |= refusal.is_some();
                    state.respond(refusal, &request, raw);
                }
                Parameter::DeleteIpAddress(request) => {
                    let refusal = match state.fails {
                        false => self.delete_peer_address(now, incoming, &request).err(),
                        true => Some(Refusal::Shortage),
                    };
                    state.fails |= refusal.is_some();
                    state.respond(refusal, &request, raw);
                }
                Parameter::SetPrimaryAddress(request) => {
                    let address = meant(&request, incoming);
                    // §5.4: what "does not exist" is not honored.
                    let refusal = match self.paths.find(address) {
                        _ if state.stopped => Some(Refusal::Shortage),
                        Some(path) => {
                            self.prefer_address(path);
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
        state.finish(self.paths.amdcs())
    }

    //= RFC 5061 4.2.1-3 5.3-19
    fn add_peer_address(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        request: &AddressRequest,
    ) -> Result<(), Refusal> {
        let address = meant(request, incoming);
        let foreign_loopback = address.is_loopback() && !incoming.source.is_loopback();
        let sources = &self.addresses.sources;
        // As with those that are listed (`usable_peers`): one that our host has is not the peer's, who is elsewhere. It is one
        // that many hosts have, such as that of a bridge between containers.
        let beside_us = sources.is_own(incoming.source) || incoming.source.is_loopback();
        let ours = sources.is_own(address) && !beside_us;
        if !is_usable(address) || foreign_loopback || ours || !sources.reach(address) {
            return Err(Refusal::Unusable);
        }
        if self.paths.find(address).is_some() {
            return Ok(());
        }
        // What it lists may be reached at the port that its packets come from.
        let encapsulation = incoming.encapsulation;
        self.add_path(now, address, encapsulation).map(|_| ()).ok_or(Refusal::Shortage)
    }

    //= RFC 5061 4.2.2-3 5.3-15 5.3-16 5.3-17 5.3-18 5.3-22
    fn delete_peer_address(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        request: &AddressRequest,
    ) -> Result<(), Refusal> {
        let source = self.paths.find(incoming.source);
        if request.address.is_unspecified() {
            // "all addresses of the peer except the source address of the packet".
            let source = source.ok_or(Refusal::Source)?;
            let others: Vec<PathId> = self.paths.ids().filter(|path| *path != source).collect();
            for path in others {
                self.remove_path(now, path);
            }
            return Ok(());
        }
        let path = self.paths.find(request.address).ok_or(Refusal::Unusable)?;
        if self.paths.len() == 1 {
            return Err(Refusal::Last);
        }
        if request.address == incoming.source {
            return Err(Refusal::Source);
        }
        if self.remove_path(now, path) { Ok(()) } else { Err(Refusal::Last) }
    }
}

/// The address that a request is about: a wildcard means where the packet comes from.
fn meant(request: &AddressRequest, incoming: &Incoming<'_>) -> IpAddr {
    if request.address.is_unspecified() { incoming.source } else { request.address }
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
fn fitting(list: &[u8], room: usize) -> usize {
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
