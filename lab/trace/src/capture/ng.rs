//! The pcapng format (draft-ietf-opsawg-pcapng).

use pcap_file::Endianness;
use pcap_file::pcapng::PcapNgParser;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;

use super::record::{Bound, CUT, LinkType, MAX_RECORD, Record, resynchronise, u16_at, u32_at};
use super::window::Window;
use crate::Skipped;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// The option `epb_flags`.
const FLAGS: u16 = 2;
/// The option `epb_packetid`.
const PACKET_ID: u16 = 5;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Type, length and a second length around every block.
const FRAME: usize = 12;
const BAD_BLOCK: &str = "pcapng blocks that are malformed";
const UNKNOWN_INTERFACE: &str = "packets of interfaces that the capture does not describe";

#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    /// Units of a second, and seconds that are added.
    rate: u64,
    offset_s: u64,
    snaplen: usize,
}

pub(super) struct Ng {
    parser: PcapNgParser,
    big: bool,
    interfaces: Vec<Interface>,
}

/// Type and length of a block.
struct Head {
    kind: u32,
    length: usize,
}

impl Ng {
    pub(super) fn begin(window: &mut Window) -> Option<Ng> {
        // The type of a section header reads the same from both ends.
        if !window.has(FRAME) || u32_at(window.bytes(), 0, true) != Some(SECTION_HEADER) {
            return None;
        }
        let head = head(window.bytes(), true)?;
        if !window.has(head.length) {
            return None;
        }
        let mut ng = Ng {
            parser: PcapNgParser::new(&window.bytes()[..head.length]).ok()?.1,
            big: true,
            interfaces: Vec::new(),
        };
        ng.big = ng.parser.section().endianness == Endianness::Big;
        window.consume(head.length);
        Some(ng)
    }

    /// Whether a block could begin here, behind a corrupt place.
    fn plausible(&self, window: &mut Window) -> bool {
        let Some(head) = head(window.bytes(), self.big) else { return false };
        let known = matches!(
            head.kind,
            SECTION_HEADER | INTERFACE_DESCRIPTION | SIMPLE_PACKET | ENHANCED_PACKET
        );
        known && head.length > FRAME && window.has(head.length) && trailer(window, &head, self.big)
    }

    pub(super) fn next(&mut self, window: &mut Window, skipped: &mut Skipped) -> Option<Record> {
        loop {
            if !window.has(FRAME) {
                if !window.bytes().is_empty() {
                    skipped.add(CUT);
                }
                return None;
            }
            let head = head(window.bytes(), self.big);
            let whole = head.as_ref().is_some_and(|head| window.has(head.length));
            match head {
                Some(head) if whole && trailer(window, &head, self.big) => {
                    let record = self.block(&window.bytes()[..head.length], &head, skipped);
                    if record.is_some() {
                        return record;
                    }
                    window.consume(head.length);
                }
                Some(_) if !whole => {
                    // The rest may still hold blocks, if this length was damaged.
                    skipped.add(CUT);
                    if window.bytes().len() < 2 * FRAME
                        || !resynchronise(window, skipped, 4, FRAME, |w| self.plausible(w))
                    {
                        return None;
                    }
                }
                _ => {
                    if !resynchronise(window, skipped, 4, FRAME, |w| self.plausible(w)) {
                        return None;
                    }
                }
            }
        }
    }

    /// Takes notice of a block; the packet in it, if it holds one.
    fn block(&mut self, block: &[u8], head: &Head, skipped: &mut Skipped) -> Option<Record> {
        match head.kind {
            SECTION_HEADER => match PcapNgParser::new(block) {
                Ok((_, parser)) => {
                    self.big = parser.section().endianness == Endianness::Big;
                    self.parser = parser;
                    self.interfaces.clear();
                }
                Err(_) => skipped.add(BAD_BLOCK),
            },
            INTERFACE_DESCRIPTION => self.describe(block, skipped),
            ENHANCED_PACKET | SIMPLE_PACKET | OBSOLETE_PACKET => {
                let record = self.packet(block, head);
                if record.is_none() {
                    skipped.add(if self.interfaces.is_empty() {
                        UNKNOWN_INTERFACE
                    } else {
                        BAD_BLOCK
                    });
                }
                return record;
            }
            // Statistics, names, comments: nothing that is analysed.
            _ => {}
        }
        None
    }

    fn describe(&mut self, block: &[u8], skipped: &mut Skipped) {
        // With options that cannot be read, the interface still counts, and its type is known.
        let link = LinkType(u16_at(block, 8, self.big).unwrap_or(0).into());
        let snaplen = u32_at(block, 12, self.big).unwrap_or(0) as usize;
        let mut interface = Interface { link, rate: 1_000_000, offset_s: 0, snaplen };
        match self.parser.next_raw_block(block) {
            Ok(_) => {
                let options = self.parser.interfaces().last().map(|i| i.options.as_slice());
                for option in options.unwrap_or_default() {
                    match option {
                        InterfaceDescriptionOption::IfTsResol(value) => {
                            interface.rate = rate(*value);
                        }
                        InterfaceDescriptionOption::IfTsOffset(value) => {
                            interface.offset_s = *value;
                        }
                        _ => {}
                    }
                }
            }
            Err(_) => skipped.add(BAD_BLOCK),
        }
        self.interfaces.push(interface);
    }

    fn packet(&self, block: &[u8], head: &Head) -> Option<Record> {
        let word = |at: usize| u32_at(block, at, self.big);
        let room = |offset: usize| head.length.checked_sub(offset + 4);
        let (interface, ticks, offset, kept, original) = match head.kind {
            SIMPLE_PACKET => {
                let original = word(8)? as usize;
                let most = self.interfaces.first()?.snaplen;
                let kept = if most == 0 { original } else { original.min(most) };
                (0, 0, 12, kept.min(room(12)?), original)
            }
            kind => {
                let interface = match kind {
                    ENHANCED_PACKET => word(8)?,
                    _ => u32::from(u16_at(block, 8, self.big)?),
                };
                let ticks = u64::from(word(12)?) << 32 | u64::from(word(16)?);
                let kept = word(20)? as usize;
                (interface, ticks, 28, kept, word(24)? as usize)
            }
        };
        if kept > room(offset)? {
            return None;
        }
        let described = self.interfaces.get(interface as usize)?;
        Some(Record {
            at: nanoseconds(ticks, described),
            link: described.link,
            interface,
            offset,
            kept,
            original,
            length: head.length,
            ..self.options(block, head, offset + kept)
        })
    }

    /// What the options behind a packet say, which ends at `end`: `epb_flags` and `epb_packetid`.
    fn options(&self, block: &[u8], head: &Head, end: usize) -> Record {
        let mut record = Record::default();
        if head.kind != ENHANCED_PACKET {
            return record;
        }
        let mut at = end.next_multiple_of(4);
        while let Some(code) = u16_at(block, at, self.big).filter(|code| *code != 0)
            && let Some(length) = u16_at(block, at + 2, self.big)
        {
            let word = |place: usize| u32_at(block, at + 4 + 4 * place, self.big);
            match (code, length, word(0), word(1)) {
                (FLAGS, 4, Some(flags), _) => {
                    // Bits 0 and 1: 01 inbound, 10 outbound.
                    record.bound = match flags & 3 {
                        1 => Some(Bound::In),
                        2 => Some(Bound::Out),
                        _ => None,
                    };
                }
                (PACKET_ID, 8, Some(first), Some(second)) => {
                    let (high, low) = if self.big { (first, second) } else { (second, first) };
                    record.id = u64::from(high) << 32 | u64::from(low);
                }
                _ => {}
            }
            at += 4 + usize::from(length).next_multiple_of(4);
        }
        record
    }
}

/// Type and length of the block at the beginning of `bytes`; `None` if no block is so long.
fn head(bytes: &[u8], big: bool) -> Option<Head> {
    let kind = u32_at(bytes, 0, big)?;
    let big = match (kind, u32_at(bytes, 8, true)) {
        // A section header has its own byte order.
        (SECTION_HEADER, Some(BYTE_ORDER)) => true,
        (SECTION_HEADER, Some(order)) if order == BYTE_ORDER.swap_bytes() => false,
        (SECTION_HEADER, _) => return None,
        _ => big,
    };
    let length = u32_at(bytes, 4, big)? as usize;
    (length.is_multiple_of(4) && (FRAME..=MAX_RECORD).contains(&length))
        .then_some(Head { kind, length })
}

/// Whether the second length agrees with the first.
fn trailer(window: &Window, head: &Head, big: bool) -> bool {
    let bytes = window.bytes();
    let own = head.kind == SECTION_HEADER && u32_at(bytes, 8, true) == Some(BYTE_ORDER);
    let big = if head.kind == SECTION_HEADER { own } else { big };
    u32_at(bytes, head.length - 4, big).map(|length| length as usize) == Some(head.length)
}

/// Units of a second that `if_tsresol` says, at most as many as can be counted.
fn rate(resolution: u8) -> u64 {
    let exponent = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 {
        10u64.checked_pow(exponent).unwrap_or(u64::MAX)
    } else {
        2u64.checked_pow(exponent).unwrap_or(u64::MAX)
    }
}

fn nanoseconds(ticks: u64, interface: &Interface) -> u64 {
    let time = match interface.rate {
        1_000_000_000 => ticks,
        1_000_000 => ticks.saturating_mul(1000),
        rate => {
            let time = u128::from(ticks) * 1_000_000_000 / u128::from(rate);
            u64::try_from(time).unwrap_or(u64::MAX)
        }
    };
    time.saturating_add(interface.offset_s.saturating_mul(1_000_000_000))
}
