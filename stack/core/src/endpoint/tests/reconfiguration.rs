//! Stream reconfiguration (RFC 6525): what is asked, what is answered, both ends together, at random, and abuse.

mod abuse;
mod answering;
mod asking;
mod both;
mod outcomes;
mod parked;
mod partial;
mod random;

use tresse_wire::{
    AddStreams, Chunk, Parameter, ReconfigurationResponse, ReconfigurationResult, RequestNumber,
};

use super::*;
use crate::config::ReconfigurationPolicy;
use crate::event::{ReconfigurationOutcome, ResetDirection};
use script::{PEER_TSN, peer_fields};

type Outcome = ReconfigurationOutcome;

/// RFC 9260 as it stands, with the extension; everything is allowed.
fn config() -> AssociationConfig {
    AssociationConfig {
        extensions: Extensions { stream_reconfiguration: true, ..Extensions::NONE },
        reconfiguration: ReconfigurationPolicy {
            reset_association: true,
            ..ReconfigurationPolicy::default()
        },
        ..standard()
    }
}

/// An association with a peer that has the extension and 10 streams in each direction.
fn agreed(config: &AssociationConfig) -> Script {
    let mut script = Script::connecting(config);
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").supported_extensions(&[ChunkType::RE_CONFIG.0]);
    script.init_ack_with(&peer_fields(), &mut parameters);
    script.cookie_ack();
    script
}

/// The numbers of the peer's requests, from 0.
fn theirs(n: u32) -> RequestNumber {
    RequestNumber(PEER_TSN.0).wrapping_add(n)
}

/// Those of the endpoint.
fn ours(script: &Script, n: u32) -> RequestNumber {
    RequestNumber(script.first.0).wrapping_add(n)
}

/// A parameter, with request numbers from 0 and TSNs from the first one.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    /// Number, the number that it answers, Sender's Last Assigned TSN (from 0), streams.
    Out(u32, i32, u32, Vec<u16>),
    In(u32, Vec<u16>),
    Tsn(u32),
    AddOut(u32, u16),
    AddIn(u32, u16),
    /// Number, result.
    Response(u32, u32),
    /// The same with Sender's and Receiver's Next TSN.
    Tsns(u32, u32, Tsn, Tsn),
}
use Seen::{AddIn, AddOut, In, Out, Response, Tsns};

/// The RE-CONFIG chunks that the endpoint sent.
fn seen(script: &Script, sent: &[Sent]) -> Vec<Vec<Seen>> {
    asked(script.first, sent)
}

/// The same, by the first TSN of the endpoint.
fn asked(first: Tsn, sent: &[Sent]) -> Vec<Vec<Seen>> {
    let own = |n: RequestNumber| n.0.wrapping_sub(first.0);
    let peers = |n: RequestNumber| n.0.wrapping_sub(PEER_TSN.0);
    let ids = |streams: tresse_wire::StreamIds<'_>| streams.iter().map(|s| s.0).collect();
    let one = |parameter: Parameter<'_>| match parameter {
        Parameter::OutgoingSsnReset(r) => Out(
            own(r.request),
            peers(r.response).cast_signed(),
            r.last_tsn.0.wrapping_sub(first.0),
            ids(r.streams),
        ),
        Parameter::IncomingSsnReset(r) => In(own(r.request), ids(r.streams)),
        Parameter::SsnTsnReset(request) => Seen::Tsn(own(request)),
        Parameter::AddOutgoingStreams(a) => AddOut(own(a.request), a.streams),
        Parameter::AddIncomingStreams(a) => AddIn(own(a.request), a.streams),
        Parameter::ReconfigurationResponse(r) => match r.next_tsns {
            None => Response(peers(r.request), r.result.0),
            Some((sender, receiver)) => Tsns(peers(r.request), r.result.0, sender, receiver),
        },
        other => panic!("{other:?}"),
    };
    let chunks = sent.iter().flat_map(Sent::chunks);
    let lists = chunks.filter_map(|c| if let Chunk::ReConfig(c) = c { Some(c) } else { None });
    lists.map(|c| c.parameters.parsed().map(Result::unwrap).map(one).collect()).collect()
}

/// A RE-CONFIG chunk of the peer.
fn give(script: &mut Script, write: impl FnOnce(&mut ParameterWriter)) -> Vec<Sent> {
    let mut parameters = ParameterWriter::new();
    write(&mut parameters);
    let parameters = parameters.finish();
    script.give(|w| w.re_config(&parameters))
}

/// The peer answers a request of the endpoint.
fn answer(script: &mut Script, n: u32, result: ReconfigurationResult) -> Vec<Sent> {
    let request = ours(script, n);
    let response = ReconfigurationResponse { request, result, next_tsns: None };
    give(script, |p| {
        p.reconfiguration_response(&response);
    })
}

fn streams(list: &[u16]) -> Vec<StreamId> {
    list.iter().copied().map(StreamId).collect()
}

fn add(n: u32, streams: u16) -> AddStreams {
    AddStreams { request: theirs(n), streams }
}

/// The application of the endpoint asks for a reset.
fn reset(script: &mut Script, direction: ResetDirection, list: &[u16]) -> Vec<Sent> {
    script.end.reset_streams(script.now, script.id, direction, &streams(list)).unwrap();
    script.poll()
}

fn send(script: &mut Script, stream: u16) -> Vec<Sent> {
    script.try_send(stream, 100, SendOptions::default()).unwrap();
    script.poll()
}

/// Stream and SSN of the chunks in packets.
fn ssns(sent: &[Sent]) -> Vec<(u16, u16)> {
    sent.iter()
        .flat_map(|p| p.data().iter().map(|d| (d.stream.0, d.ssn.0)).collect::<Vec<_>>())
        .collect()
}

/// An ordered message of the peer.
fn data(script: &mut Script, tsn: u32, stream: u16, ssn: u16) -> Vec<Sent> {
    let tsn = PEER_TSN.wrapping_add(tsn);
    let flags = DataFlags::UNFRAGMENTED;
    script.give(|w| w.data(tsn, StreamId(stream), Ssn(ssn), Ppid(0), flags, &[1; 10]))
}

/// TSN, stream and SSN of what can be read.
fn read(script: &mut Script) -> Vec<(u32, u16, u16)> {
    let one = |m: ReceivedMessage| (m.tsn.0.wrapping_sub(PEER_TSN.0), m.stream.0, m.ssn.0);
    std::iter::from_fn(|| script.recv()).map(one).collect()
}

/// The events of resets and added streams since the last call.
fn told(script: &mut Script) -> Vec<Event> {
    script.poll();
    let (told, rest) = std::mem::take(&mut script.events).into_iter().partition(|event| {
        matches!(
            event,
            Event::StreamsReset { .. }
                | Event::AssociationReset { .. }
                | Event::StreamsAdded { .. }
        )
    });
    script.events = rest;
    told
}

fn reset_event(direction: ResetDirection, list: &[u16], outcome: Outcome) -> Event {
    Event::StreamsReset { direction, streams: streams(list), outcome }
}
