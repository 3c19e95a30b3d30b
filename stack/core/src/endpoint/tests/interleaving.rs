//! User messages that are interleaved (RFC 8260): what is agreed on, what leaves, what is taken, and both ends together.

mod agreement;
mod both;
mod giving_up;
mod receiving;
mod sending;

use tresse_wire::{Chunk, Fsn, IData, Mid, Parameter, SkippedMessages};

use super::*;
use script::{PEER_TSN, PMDCS, peer_fields};

/// User data of a full I-DATA chunk.
const FULL: usize = PMDCS - 20;

/// `rfc9260` without Nagle's algorithm and Max.Burst, with a stream scheduler and the extension.
fn config(scheduler: &str) -> AssociationConfig {
    AssociationConfig {
        extensions: Extensions { interleaving: true, ..Extensions::NONE },
        no_delay: true,
        ..profile(&format!("rfc9260+stream-{scheduler}"), "[limits]\nmax_burst = 0")
    }
}

/// The same with partial reliability.
fn partial() -> AssociationConfig {
    let extensions =
        Extensions { interleaving: true, partial_reliability: true, ..Extensions::NONE };
    AssociationConfig { extensions, ..config("round-robin") }
}

/// The chunk types that INIT or INIT ACK lists.
fn listed(sent: &[Sent]) -> Vec<u8> {
    let (_, parameters) = sent[0].init();
    let types = parameters.iter().find_map(|parameter| match parameter {
        Parameter::SupportedExtensions(types) => Some(types.to_vec()),
        _ => None,
    });
    types.unwrap_or_default()
}

/// An association that the endpoint opened, with a peer that lists these chunk types.
fn with_peer(config: &AssociationConfig, types: &[ChunkType]) -> Script {
    let mut script = Script::connecting(config);
    let types: Vec<u8> = types.iter().map(|kind| kind.0).collect();
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").supported_extensions(&types);
    script.init_ack_with(&peer_fields(), &mut parameters);
    script.cookie_ack();
    script
}

/// The same with a peer that has I-DATA and what else the endpoint offers.
fn agreed(config: &AssociationConfig) -> Script {
    let chosen = config.extensions;
    let all = [
        (true, ChunkType::I_DATA),
        (chosen.partial_reliability, ChunkType::I_FORWARD_TSN),
        (chosen.stream_reconfiguration, ChunkType::RE_CONFIG),
    ];
    let types: Vec<ChunkType> = all.iter().filter(|(on, _)| *on).map(|(_, kind)| *kind).collect();
    with_peer(config, &types)
}

fn i_data(packet: &Sent) -> Vec<IData<'_>> {
    let of = |chunk| if let Chunk::IData(data) = chunk { Some(data) } else { None };
    packet.chunks().filter_map(of).collect()
}

/// A line for each packet: its I-DATA chunks, as TSN, stream, MID and FSN, flags and bytes.
fn packets(script: &Script, sent: &[Sent]) -> Vec<String> {
    let line = |packet: &Sent| {
        let chunks = i_data(packet).into_iter().map(|data| {
            let IData { stream, mid, fsn, flags, payload, .. } = data;
            let tsn = data.tsn.0.wrapping_sub(script.first.0);
            let flags = [(flags.unordered, "U"), (flags.beginning, "B"), (flags.ending, "E")];
            let flags: String =
                flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
            format!("{tsn}: {stream}/{mid}/{fsn} {flags} {}", payload.len())
        });
        chunks.collect::<Vec<_>>().join(", ")
    };
    sent.iter().map(line).filter(|line| !line.is_empty()).collect()
}

impl Script {
    /// A message of the application on a stream.
    fn say(&mut self, stream: u16, len: usize, options: SendOptions) {
        self.try_send(stream, len, options).unwrap();
    }

    /// A fragment of the peer, as `B`, `M`, `E` or `W` for a whole message; its payload is its number `n`.
    fn fragment(&mut self, n: u32, part: char, stream: u16, mid: u32, fsn: u32) -> Vec<Sent> {
        let flags = DataFlags {
            beginning: matches!(part, 'B' | 'W'),
            ending: matches!(part, 'E' | 'W'),
            ..DataFlags::default()
        };
        self.give(|w| {
            w.i_data(&IData {
                tsn: PEER_TSN.wrapping_add(n),
                stream: StreamId(stream),
                mid: Mid(mid),
                ppid: Ppid(77),
                fsn: Fsn(fsn),
                flags,
                payload: &[n as u8; 100],
            });
        })
    }

    /// What can be read: the numbers of the chunks of each message.
    fn read_numbers(&mut self) -> Vec<Vec<u8>> {
        let parts = |m: ReceivedMessage| m.payload.chunks(100).map(|c| c[0]).collect();
        std::iter::from_fn(|| self.recv()).map(parts).collect()
    }

    fn skip(&mut self, n: u32, skipped: &[(u16, bool, u32)]) -> Vec<Sent> {
        let skipped = skipped.iter().map(|(stream, unordered, mid)| SkippedMessages {
            stream: StreamId(*stream),
            unordered: *unordered,
            mid: Mid(*mid),
        });
        self.give(|w| w.i_forward_tsn(PEER_TSN.wrapping_add(n), skipped))
    }
}

/// Whether an ABORT with Protocol Violation has left, and the association has ended.
fn is_violation(script: &Script, sent: &[Sent]) -> bool {
    let abort = sent.iter().find(|packet| packet.carries(ChunkType::ABORT));
    let codes = abort.map(|packet| packet.cause_codes());
    let closed = matches!(script.closed(), Some(CloseReason::ProtocolViolation(_)));
    assert_eq!(abort.is_some(), closed);
    codes == Some(vec![CauseCode::PROTOCOL_VIOLATION])
}
