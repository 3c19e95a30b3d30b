//! The pcap format (draft-ietf-opsawg-pcap).

use pcap_file::pcap::PcapParser;
use pcap_file::{Endianness, TsResolution};

use super::record::{CUT, LinkType, MAX_RECORD, Record, resynchronise, u32_at};
use super::window::Window;
use crate::Skipped;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Longer packets do not exist; a snapshot length of 0 means that none is given.
const MAX_PACKET: usize = 1 << 18;
/// After a corrupt place a record is believed if it is this close in time to the one before.
const CLOSE_S: u32 = 24 * 3600;

pub(super) struct Classic {
    big: bool,
    /// Nanoseconds of a unit of the fraction.
    unit: u32,
    link: LinkType,
    most: usize,
    /// Seconds of the last record.
    last: Option<u32>,
}

struct Header {
    seconds: u32,
    fraction: u32,
    kept: usize,
    original: usize,
}

impl Classic {
    pub(super) fn begin(window: &mut Window) -> Option<Classic> {
        if !window.has(FILE_HEADER) {
            return None;
        }
        let (_, parser) = PcapParser::new(&window.bytes()[..FILE_HEADER]).ok()?;
        let header = parser.header();
        window.consume(FILE_HEADER);
        let most = (header.snaplen as usize).clamp(MAX_PACKET, MAX_RECORD);
        Some(Classic {
            big: header.endianness == Endianness::Big,
            unit: if header.ts_resolution == TsResolution::NanoSecond { 1 } else { 1000 },
            // The upper bits say whether frames end with a check sequence.
            link: LinkType(u32::from(header.datalink) & 0xffff),
            most,
            last: None,
        })
    }

    fn header(&self, bytes: &[u8]) -> Option<Header> {
        let word = |index: usize| u32_at(bytes, 4 * index, self.big);
        let header = Header {
            seconds: word(0)?,
            fraction: word(1)?,
            kept: word(2)? as usize,
            original: word(3)? as usize,
        };
        let sound = header.kept <= self.most && header.fraction < 1_000_000_000 / self.unit;
        sound.then_some(header)
    }

    /// Whether a record could begin here, behind a corrupt place.
    fn plausible(&self, window: &mut Window) -> bool {
        let one = |header: &Header| {
            header.kept > 0
                && header.kept <= header.original
                && header.original <= self.most
                && self.last.is_none_or(|last| header.seconds.abs_diff(last) <= CLOSE_S)
        };
        let Some(first) = self.header(window.bytes()).filter(one) else { return false };
        // Another one must follow, or the end.
        let next = RECORD_HEADER + first.kept;
        if window.has(next + RECORD_HEADER) {
            self.header(&window.bytes()[next..]).is_some_and(|header| one(&header))
        } else {
            window.bytes().len() == next
        }
    }

    pub(super) fn next(&mut self, window: &mut Window, skipped: &mut Skipped) -> Option<Record> {
        loop {
            if !window.has(RECORD_HEADER) {
                if !window.bytes().is_empty() {
                    skipped.add(CUT);
                }
                return None;
            }
            let Some(header) = self.header(window.bytes()) else {
                if !resynchronise(window, skipped, 1, RECORD_HEADER, |w| self.plausible(w)) {
                    return None;
                }
                continue;
            };
            let length = RECORD_HEADER + header.kept;
            if !window.has(length) {
                skipped.add(CUT);
                return None;
            }
            self.last = Some(header.seconds);
            let nanoseconds = u64::from(header.fraction) * u64::from(self.unit);
            return Some(Record {
                at: u64::from(header.seconds) * 1_000_000_000 + nanoseconds,
                link: self.link,
                interface: 0,
                offset: RECORD_HEADER,
                kept: header.kept,
                original: header.original,
                id: 0,
                bound: None,
                length,
            });
        }
    }
}
