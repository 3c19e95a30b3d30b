//! What the chunks of a packet say, in few words.

use tresse_core::wire::{self, Tsn};

use crate::story::Chunk;

/// The first TSNs of both directions, as INIT and INIT ACK told them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FirstTsns {
    /// Of the sender of messages.
    there: Option<Tsn>,
    /// Of their receiver.
    back: Option<Tsn>,
}

impl FirstTsns {
    /// A TSN of the sender of messages, counted from 1.
    pub(crate) fn there(&self, tsn: Tsn) -> u32 {
        relative(self.there, tsn)
    }
}

fn relative(first: Option<Tsn>, tsn: Tsn) -> u32 {
    first.map_or(tsn.0, |first| tsn.0.wrapping_sub(first.0).wrapping_add(1))
}

/// The chunks of a packet. `there`: whether it goes to the receiver of messages.
pub(crate) fn read(packet: &[u8], there: bool, first: &mut FirstTsns) -> Vec<Chunk> {
    let Ok(packet) = wire::Packet::parse_unverified(packet) else { return Vec::new() };
    let mut chunks = Vec::new();
    for raw in packet.chunks() {
        let Ok(raw) = raw else { break };
        let Ok(chunk) = wire::Chunk::parse(raw) else { break };
        chunks.push(describe(&chunk, there, first));
    }
    chunks
}

fn describe(chunk: &wire::Chunk<'_>, there: bool, first: &mut FirstTsns) -> Chunk {
    let plain = |name, text: String| Chunk { name, text, tsn: None, transmission: None };
    let empty = |name| plain(name, String::new());
    let (own, peer) = if there { (first.there, first.back) } else { (first.back, first.there) };
    let data = |name, tsn: Tsn, bytes: usize, flags: String| {
        let tsn = relative(own, tsn);
        Chunk { name, text: format!("{bytes} bytes{flags}"), tsn: Some(tsn), transmission: None }
    };
    match chunk {
        wire::Chunk::Data(d) => data("DATA", d.tsn, d.payload.len(), flags(d.flags)),
        wire::Chunk::IData(d) => data("I-DATA", d.tsn, d.payload.len(), flags(d.flags)),
        wire::Chunk::Init(init) => {
            if there {
                first.there = Some(init.initial_tsn);
            } else {
                first.back = Some(init.initial_tsn);
            }
            empty("INIT")
        }
        wire::Chunk::InitAck(init) => {
            if there {
                first.there = Some(init.initial_tsn);
            } else {
                first.back = Some(init.initial_tsn);
            }
            empty("INIT ACK")
        }
        wire::Chunk::Sack(sack) => plain("SACK", sacked(peer, sack)),
        wire::Chunk::NrSack(nr) => plain("NR-SACK", sacked(peer, &nr.sack)),
        wire::Chunk::Heartbeat(_) => empty("HEARTBEAT"),
        wire::Chunk::HeartbeatAck(_) => empty("HEARTBEAT ACK"),
        wire::Chunk::Abort(_) => empty("ABORT"),
        wire::Chunk::Shutdown(_) => empty("SHUTDOWN"),
        wire::Chunk::ShutdownAck => empty("SHUTDOWN ACK"),
        wire::Chunk::Error(_) => empty("ERROR"),
        wire::Chunk::CookieEcho(_) => empty("COOKIE ECHO"),
        wire::Chunk::CookieAck => empty("COOKIE ACK"),
        wire::Chunk::Ecne(_) => empty("ECNE"),
        wire::Chunk::Cwr(_) => empty("CWR"),
        wire::Chunk::ShutdownComplete(_) => empty("SHUTDOWN COMPLETE"),
        wire::Chunk::Auth(_) => empty("AUTH"),
        wire::Chunk::ReConfig(_) => empty("RE-CONFIG"),
        wire::Chunk::ForwardTsn(_) => empty("FORWARD TSN"),
        wire::Chunk::IForwardTsn(_) => empty("I-FORWARD-TSN"),
        wire::Chunk::PacketDrop(report) => {
            plain("PKTDROP", format!("{} bytes quoted", report.packet.len()))
        }
        wire::Chunk::Pad(_) => empty("PAD"),
        wire::Chunk::Timestamp(_) => empty("TIMESTAMP"),
        _ => empty("unknown"),
    }
}

/// Flags of user data that tell something.
fn flags(flags: wire::DataFlags) -> String {
    let mut text = String::new();
    for (set, name) in [
        (flags.immediate, ", SACK at once"),
        (flags.unordered, ", unordered"),
        (!flags.beginning || !flags.ending, ", a fragment"),
        (flags.retransmission, ", marked as sent again"),
    ] {
        if set {
            text.push_str(name);
        }
    }
    text
}

/// The most that is listed of blocks and of duplicates.
const MAX_LISTED: usize = 6;

fn sacked(first: Option<Tsn>, sack: &wire::Sack<'_>) -> String {
    let base = relative(first, sack.cumulative_tsn_ack);
    let mut text = base.to_string();
    for (index, gap) in sack.gap_blocks().enumerate() {
        if index == MAX_LISTED {
            text.push_str(", …");
            break;
        }
        let at = |offset: u16| base.wrapping_add(offset.into());
        text.push_str(&match (at(gap.start), at(gap.end)) {
            (start, end) if start == end => format!(", {start}"),
            (start, end) => format!(", {start}–{end}"),
        });
    }
    let twice = sack.duplicates().take(MAX_LISTED);
    let listed: Vec<String> = twice.map(|tsn| relative(first, tsn).to_string()).collect();
    if !listed.is_empty() {
        text.push_str(&format!("; twice: {}", listed.join(", ")));
    }
    text
}
