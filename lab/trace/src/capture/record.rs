//! Records of a capture, whatever its format.

use super::window::Window;
use crate::Skipped;

/// No record is longer: Wireshark's own limit is 256 KiB for a packet.
pub(super) const MAX_RECORD: usize = 1 << 24;
/// The capture ends within a record.
pub(super) const CUT: &str = "records cut off by the end of the capture";
/// Bytes that make no sense.
pub(super) const CORRUPT: &str = "corrupt places in the capture, passed over up to the next record";
/// How many bytes those were.
pub(super) const CORRUPT_BYTES: &str = "bytes passed over at corrupt places";

/// Link-layer header type, as tcpdump.org registers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkType(
    /// The registered number.
    pub u32,
);

/// Which way a packet went by the host that captured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It arrived there.
    In,
    /// It left from there.
    Out,
}

/// Where a record stands in the window, and what its header says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    pub(super) at: u64,
    pub(super) link: LinkType,
    pub(super) interface: u32,
    pub(super) offset: usize,
    pub(super) kept: usize,
    pub(super) original: usize,
    pub(super) id: u64,
    pub(super) bound: Option<Bound>,
    /// Length of the whole record.
    pub(super) length: usize,
}

/// Passes bytes over until `plausible` holds of what follows, `step` at a time; at least one step.
/// False at the end.
pub(super) fn resynchronise(
    window: &mut Window,
    skipped: &mut Skipped,
    step: usize,
    look: usize,
    plausible: impl Fn(&mut Window) -> bool,
) -> bool {
    skipped.add(CORRUPT);
    let mut passed = 0;
    let found = loop {
        if !window.has(step + look) {
            passed += window.bytes().len() as u64;
            window.consume(window.bytes().len());
            break false;
        }
        window.consume(step);
        passed += step as u64;
        if plausible(window) {
            break true;
        }
    };
    skipped.add_many(CORRUPT_BYTES, passed);
    found
}

/// The number in two, four bytes.
pub(super) fn u16_at(bytes: &[u8], at: usize, big: bool) -> Option<u16> {
    let bytes = *bytes.get(at..)?.first_chunk()?;
    Some(if big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
}

pub(super) fn u32_at(bytes: &[u8], at: usize, big: bool) -> Option<u32> {
    let bytes = *bytes.get(at..)?.first_chunk()?;
    Some(if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
}
