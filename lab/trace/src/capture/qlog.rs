//! Logs of Tresse's own endpoints (docs/qlog.md): JSON text sequences (RFC 7464). Packets are put
//! together again, with zeros for user data; what the sender says of itself comes beside them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde_json::Value;
use tresse_wire::{ChunkType, Ecn, IpHeaders, IpLabels};

use super::record::{Bound, CUT, LinkType, Record};
use super::window::Window;
use crate::Skipped;
use crate::sender::{Note, SenderState};

/// Bytes of a record at most: 64 KiB of small chunks take less.
const MAX_RECORD: usize = 1 << 20;
/// This many values a record has at most. Each takes much more memory than the two bytes that it takes in
/// the file, up to some 700 bytes for an object.
const MAX_VALUES: usize = 1 << 17;
/// RFC 7464 §2.2: begins a JSON text.
const SEPARATOR: u8 = 0x1e;
const RAW_IP: LinkType = LinkType(101);
const BAD_RECORD: &str = "qlog records that are malformed";

pub(super) struct Qlog {
    /// When the log's times count from, in nanoseconds since 1970.
    epoch: u64,
    ports: (u16, u16),
    /// Tag of the packets that are sent.
    tag: Option<u32>,
    pub(super) packet: Vec<u8>,
    /// Whether that packet left the endpoint or came to it.
    bound: Option<Bound>,
    pub(super) note: Option<Note>,
}

impl Qlog {
    pub(super) fn begin(window: &mut Window) -> Option<Qlog> {
        if !window.has(1) || window.bytes().first() != Some(&SEPARATOR) {
            return None;
        }
        let (length, text) = record(window)?;
        let header = value(&window.bytes()[text])?;
        let common = &header["trace"]["common_fields"];
        let port = |name: &str| common[name].as_u64().and_then(|port| u16::try_from(port).ok());
        let epoch = common["reference_time"]["wall_clock_time"].as_str().and_then(since_1970);
        window.consume(length);
        Some(Qlog {
            epoch: epoch.unwrap_or(0),
            ports: (port("local_port")?, port("remote_port")?),
            tag: None,
            packet: Vec::new(),
            bound: None,
            note: None,
        })
    }

    pub(super) fn next(&mut self, window: &mut Window, skipped: &mut Skipped) -> Option<Record> {
        loop {
            let Some((length, text)) = record(window) else {
                if !window.bytes().is_empty() {
                    skipped.add(CUT);
                }
                return None;
            };
            let event = value(&window.bytes()[text]);
            self.packet.clear();
            (self.bound, self.note) = (None, None);
            match event.as_ref().and_then(|event| Some((time(event)?, self.event(event)?))) {
                Some((at, true)) => {
                    let at = self.epoch.saturating_add(at);
                    let kept = self.packet.len();
                    let (link, original) = (RAW_IP, kept);
                    return Some(Record {
                        at,
                        link,
                        interface: 0,
                        offset: 0,
                        kept,
                        original,
                        id: 0,
                        bound: self.bound,
                        length,
                    });
                }
                // Nothing that is analysed.
                Some((_, false)) => {}
                None => skipped.add(BAD_RECORD),
            }
            window.consume(length);
        }
    }

    /// Takes notice of an event: whether it is one that is analysed; `None` if it is malformed.
    fn event(&mut self, event: &Value) -> Option<bool> {
        let data = &event["data"];
        let sent = match event["name"].as_str()? {
            "sctp:packet_sent" => true,
            "sctp:packet_received" => false,
            name => {
                let Some(state) = SenderState::read(name, data)? else { return Some(false) };
                // Of whose association, a packet must have told.
                let Some(tag) = self.tag else { return Some(false) };
                let path = event["tuple"].as_str().and_then(|path| path.parse().ok()).unwrap_or(0);
                self.note = Some(Note { ports: self.ports, tag, path, state });
                return Some(true);
            }
        };
        let remote: SocketAddr = data["remote"].as_str()?.parse().ok()?;
        let tag = u32::try_from(data["verification_tag"].as_u64()?).ok()?;
        let local = match remote {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        self.bound = Some(if sent { Bound::Out } else { Bound::In });
        let ((from, to), (source, destination)) = if sent {
            self.tag = Some(tag).filter(|tag| *tag != 0).or(self.tag);
            (self.ports, (local, remote.ip()))
        } else {
            ((self.ports.1, self.ports.0), (remote.ip(), local))
        };
        let mut sctp = Vec::new();
        sctp.extend(from.to_be_bytes());
        sctp.extend(to.to_be_bytes());
        sctp.extend(tag.to_be_bytes());
        // The checksum is not in the log.
        sctp.extend([0; 4]);
        for chunk in data["chunks"].as_array()? {
            push_chunk(&mut sctp, chunk)?;
        }
        if sctp.len() > tresse_wire::MAX_PACKET_LEN {
            return None;
        }
        let ecn = Ecn::NotEct;
        let (protocol, labels) = (IpHeaders::SCTP, IpLabels::default());
        IpHeaders { source, destination, udp: None, protocol, ecn, labels }
            .write(&sctp, &mut self.packet);
        Some(true)
    }
}

/// What a record says; `None` if it is no JSON, or has more in it than any record of ours.
fn value(text: &[u8]) -> Option<Value> {
    let begins_one = |byte: &&u8| matches!(**byte, b'{' | b'[' | b',');
    let values = text.iter().filter(begins_one).count();
    (values <= MAX_VALUES).then(|| serde_json::from_slice(text).ok()).flatten()
}

/// The whole record at the beginning of the window: its length, and where its text is.
fn record(window: &mut Window) -> Option<(usize, std::ops::Range<usize>)> {
    let mut searched = 0;
    loop {
        let bytes = window.bytes();
        if let Some(end) = bytes[searched..].iter().position(|byte| *byte == b'\n') {
            let end = searched + end;
            let begin = usize::from(bytes.first() == Some(&SEPARATOR));
            return Some((end + 1, begin.min(end)..end));
        }
        searched = bytes.len();
        if searched > MAX_RECORD || !window.has(searched + 1) {
            return None;
        }
    }
}

/// Nanoseconds since the log's beginning.
fn time(event: &Value) -> Option<u64> {
    let ms = event["time"].as_f64().filter(|ms| (0.0..1e15).contains(ms))?;
    Some((ms * 1e6).round() as u64)
}

/// A time of RFC 3339 in UTC, in nanoseconds since 1970.
fn since_1970(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, by: char| -> Option<Vec<u64>> {
        text.split(by).map(|part| part.parse().ok()).collect()
    };
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let ([year, month, day], [hour, minute, second]) =
        (numbers(date, '-')?.try_into().ok()?, numbers(whole, ':')?.try_into().ok()?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March have the leap day last.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap = years / 4 - years / 100 + years / 400;
    // 719 468 days from March of the year 0 to 1970.
    let days = (365 * years + leap + (153 * months + 2) / 5 + day - 1).checked_sub(719_468)?;
    let digits = fraction.get(..fraction.len().min(9))?;
    let ns = digits.parse::<u64>().ok()? * 10u64.pow(9 - digits.len() as u32);
    let seconds: u64 = ((days * 24 + hour) * 60 + minute) * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// What a SACK or an NR-SACK says.
fn push_acknowledged(value: &mut Vec<u8>, kind: ChunkType, chunk: &Value) -> Option<()> {
    let word = |key: &str| u32::try_from(chunk[key].as_u64()?).ok();
    let list = |key: &str| chunk[key].as_array().map(Vec::as_slice);
    let (blocks, duplicates) = (list("gap_ack_blocks")?, list("duplicate_tsns")?);
    let is_nr = kind == ChunkType::NR_SACK;
    let kept = if is_nr { list("nr_gap_ack_blocks")? } else { &[] };
    let count = |list: &[Value]| u16::try_from(list.len()).ok().map(u16::to_be_bytes);
    value.extend(word("cumulative_tsn_ack")?.to_be_bytes());
    value.extend(word("a_rwnd")?.to_be_bytes());
    value.extend(count(blocks)?);
    if is_nr {
        value.extend(count(kept)?);
    }
    value.extend(count(duplicates)?);
    if is_nr {
        // Reserved.
        value.extend([0, 0]);
    }
    for offset in blocks.iter().chain(kept).flat_map(|block| [&block[0], &block[1]]) {
        value.extend(u16::try_from(offset.as_u64()?).ok()?.to_be_bytes());
    }
    for tsn in duplicates {
        value.extend(u32::try_from(tsn.as_u64()?).ok()?.to_be_bytes());
    }
    Some(())
}

/// Appends a chunk with the values that the log has; `None` if they are malformed.
fn push_chunk(out: &mut Vec<u8>, chunk: &Value) -> Option<()> {
    let name = chunk["chunk_type"].as_str()?;
    let length = chunk["length"].as_u64()? as usize;
    let word = |key: &str| u32::try_from(chunk[key].as_u64()?).ok();
    let half = |key: &str| u16::try_from(chunk[key].as_u64()?).ok();
    let mut value: Vec<u8> = Vec::new();
    let mut flags = 0;
    let kind = (0..=u8::MAX).map(ChunkType).find(|kind| kind.name() == Some(name));
    let kind = kind.or_else(|| {
        let number = u8::from_str_radix(name.strip_prefix("0x")?, 16).ok()?;
        Some(ChunkType(number))
    })?;
    match kind {
        ChunkType::DATA => {
            value.extend(word("tsn")?.to_be_bytes());
            value.extend(half("stream_id")?.to_be_bytes());
            value.extend(half("stream_sequence_number")?.to_be_bytes());
            value.extend(word("ppid")?.to_be_bytes());
            value.resize(12 + chunk["user_data_length"].as_u64()?.min(65_519) as usize, 0);
            let bit = |key: &str, bit: u8| chunk[key].as_bool().map(|set| u8::from(set) * bit);
            flags = bit("unordered", 4)? | bit("beginning", 2)? | bit("ending", 1)?;
        }
        ChunkType::I_DATA => {
            value.extend(word("tsn")?.to_be_bytes());
            value.extend(half("stream_id")?.to_be_bytes());
            value.extend([0, 0]);
            value.extend(word("message_identifier")?.to_be_bytes());
            let beginning = chunk["beginning"].as_bool()?;
            let number = if beginning { "ppid" } else { "fragment_sequence_number" };
            value.extend(word(number)?.to_be_bytes());
            value.resize(16 + chunk["user_data_length"].as_u64()?.min(65_515) as usize, 0);
            let bit = |key: &str, bit: u8| chunk[key].as_bool().map(|set| u8::from(set) * bit);
            flags = bit("unordered", 4)? | bit("beginning", 2)? | bit("ending", 1)?;
        }
        ChunkType::INIT | ChunkType::INIT_ACK => {
            value.extend(word("initiate_tag")?.to_be_bytes());
            value.extend(word("a_rwnd")?.to_be_bytes());
            value.extend(half("outbound_streams")?.to_be_bytes());
            value.extend(half("inbound_streams")?.to_be_bytes());
            value.extend(word("initial_tsn")?.to_be_bytes());
        }
        ChunkType::SACK | ChunkType::NR_SACK => push_acknowledged(&mut value, kind, chunk)?,
        ChunkType::FORWARD_TSN => {
            value.extend(word("new_cumulative_tsn")?.to_be_bytes());
            let streams = chunk["skipped_streams"].as_array()?;
            for number in streams.iter().flat_map(|stream| [&stream[0], &stream[1]]) {
                value.extend(u16::try_from(number.as_u64()?).ok()?.to_be_bytes());
            }
        }
        ChunkType::I_FORWARD_TSN => {
            value.extend(word("new_cumulative_tsn")?.to_be_bytes());
            for skipped in chunk["skipped_messages"].as_array()? {
                value.extend(u16::try_from(skipped[0].as_u64()?).ok()?.to_be_bytes());
                value.extend([0, u8::from(skipped[1].as_bool()?)]);
                value.extend(u32::try_from(skipped[2].as_u64()?).ok()?.to_be_bytes());
            }
        }
        ChunkType::ECNE => {
            value.extend(word("lowest_tsn")?.to_be_bytes());
            value.extend(word("packets").into_iter().flat_map(u32::to_be_bytes));
        }
        ChunkType::CWR => {
            value.extend(word("lowest_tsn")?.to_be_bytes());
            let bit = |key: &str, bit: u8| chunk[key].as_bool().map(|set| u8::from(set) * bit);
            flags = bit("any_path", 1)? | bit("same_window", 2)?;
        }
        ChunkType::PACKET_DROP => {
            let bit = |key: &str, bit: u8| chunk[key].as_bool().map(|set| u8::from(set) * bit);
            let truncated = chunk["truncated_length"].as_u64();
            let from = bit("from_middle_box", 1)? | bit("bad_checksum", 2)?;
            flags = from | if truncated.is_some() { 4 } else { 0 };
            value.extend(word("bandwidth")?.to_be_bytes());
            value.extend(word("queued")?.to_be_bytes());
            value.extend(u16::try_from(truncated.unwrap_or(0)).ok()?.to_be_bytes());
            // What is quoted is not in the log.
            let quoted = chunk["quoted_length"].as_u64()?.min(65_000) as usize;
            value.resize(value.len() + 2 + quoted, 0);
        }
        ChunkType::SHUTDOWN => value.extend(word("cumulative_tsn_ack")?.to_be_bytes()),
        // The log has nothing more of them than that they are there.
        ChunkType::COOKIE_ECHO => value.resize(length.clamp(8, 65_535) - 4, 0),
        ChunkType::HEARTBEAT | ChunkType::HEARTBEAT_ACK => value.extend([0, 1, 0, 4]),
        ChunkType::AUTH
        | ChunkType::TIMESTAMP
        | ChunkType::RE_CONFIG
        | ChunkType::ASCONF
        | ChunkType::ASCONF_ACK => return Some(()),
        _ => {}
    }
    out.extend([kind.0, flags]);
    out.extend(u16::try_from(value.len() + 4).ok()?.to_be_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.250Z"),
            (951_782_400, "2000-02-29T00:00:00.250Z"),
            (951_868_800, "2000-03-01T00:00:00.250Z"),
            (1_767_225_599, "2025-12-31T23:59:59.250Z"),
            (4_107_542_400, "2100-03-01T00:00:00.250Z"),
        ] {
            assert_eq!(since_1970(text), Some(seconds * 1_000_000_000 + 250_000_000), "{text}");
        }
        for text in ["", "1970", "1970-01-01T00:00:00", "0000-01-01T00:00:00Z", "x-1-1T0:0:0Z"] {
            assert_eq!(since_1970(text), None, "{text}");
        }
    }

    #[test]
    fn every_chunk_that_is_put_together_can_be_read() {
        let chunk = |name: &str| {
            serde_json::json!({
                "chunk_type": name, "length": 20, "tsn": 7, "stream_id": 1,
                "stream_sequence_number": 2, "ppid": 0, "unordered": true, "beginning": true,
                "ending": false, "user_data_length": 3, "initiate_tag": 1, "a_rwnd": 1500,
                "outbound_streams": 1, "inbound_streams": 1, "initial_tsn": 9,
                "cumulative_tsn_ack": 5, "gap_ack_blocks": [[2, 3], [5, 5]], "duplicate_tsns": [4],
                "nr_gap_ack_blocks": [[8, 9]],
                "lowest_tsn": 6, "packets": 3, "any_path": true, "same_window": false,
                "new_cumulative_tsn": 8, "skipped_streams": [[1, 7], [2, 0]],
                "message_identifier": 70_000, "skipped_messages": [[1, true, 70_000]],
                "from_middle_box": false, "bad_checksum": true, "bandwidth": 9000,
                "queued": 100, "truncated_length": 1500, "quoted_length": 40,
            })
        };
        let mut packet = vec![0; 12];
        let names: Vec<&str> = (0..=u8::MAX).filter_map(|n| ChunkType(n).name()).collect();
        for name in &names {
            push_chunk(&mut packet, &chunk(name)).unwrap();
        }
        let packet = tresse_wire::Packet::parse_unverified(&packet).unwrap();
        let mut found = 0;
        for raw in packet.chunks() {
            let raw = raw.unwrap();
            let parsed = tresse_wire::Chunk::parse(raw);
            assert!(parsed.is_ok(), "{:?}: {parsed:?}", raw.chunk_type);
            if let Ok(tresse_wire::Chunk::ForwardTsn(forward)) = parsed {
                assert_eq!((forward.new_cumulative_tsn.0, forward.skipped().len()), (8, 2));
            }
            if let Ok(tresse_wire::Chunk::NrSack(nr)) = parsed {
                let ends = |block: tresse_wire::GapAckBlock| (block.start, block.end);
                assert_eq!(nr.nr_gap_blocks().map(ends).collect::<Vec<_>>(), [(8, 9)]);
                assert_eq!(nr.sack.duplicates().map(|tsn| tsn.0).collect::<Vec<_>>(), [4]);
            }
            if let Ok(tresse_wire::Chunk::PacketDrop(report)) = parsed {
                assert!(report.bad_checksum && !report.from_middle_box);
                assert_eq!((report.bandwidth, report.queued), (9000, 100));
                assert_eq!((report.truncated_from, report.packet.len()), (Some(1500), 40));
            }
            if let Ok(tresse_wire::Chunk::Cwr(cwr)) = parsed {
                assert_eq!((cwr.lowest_tsn.0, cwr.any_path, cwr.same_window), (6, true, false));
            }
            if let Ok(tresse_wire::Chunk::IForwardTsn(forward)) = parsed {
                let skipped = forward.skipped().map(|s| (s.stream.0, s.unordered, s.mid.0));
                assert_eq!(skipped.collect::<Vec<_>>(), [(1, true, 70_000)]);
            }
            if let Ok(tresse_wire::Chunk::IData(data)) = parsed {
                assert_eq!((data.tsn.0, data.mid.0, data.payload.len()), (7, 70_000, 3));
            }
            if let Ok(tresse_wire::Chunk::Sack(sack)) = parsed {
                assert_eq!((sack.gap_blocks().count(), sack.duplicates().count()), (2, 1));
            }
            found += 1;
        }
        // All but AUTH, TIMESTAMP, RE-CONFIG, ASCONF and its answer.
        assert_eq!(found, names.len() - 5);
    }
}
