//! Probes of the path MTU that may still be answered, and how they are padded.

use smallvec::SmallVec;

use super::super::HeartbeatInfo;

/// MAX_PROBES (RFC 8899 §5.1.2).
pub(super) const MAX_PROBES: u8 = 3;
/// How many are remembered.
const REMEMBERED: usize = MAX_PROBES as usize;

/// Where the bytes are that make a probe as long as it is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    /// In a PAD chunk behind the HEARTBEAT (RFC 4820, RFC 8899 §6.2), and the answer is short.
    Chunk,
    /// Within the Heartbeat Info, which is as long as its sender likes (RFC 9260 §3.3.5). The answer is as long as
    /// the probe, so that the way back has to take it, too.
    Info,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    info: HeartbeatInfo,
    size: usize,
    padding: Padding,
}

/// The last probes of a path.
#[derive(Debug, Default)]
pub(super) struct Probes {
    last: SmallVec<[Probe; REMEMBERED]>,
    /// How the one was padded that was answered last; a PAD chunk that was answered once is for good.
    answered: Option<Padding>,
}

impl Probes {
    /// None of those that have left says anything any more.
    pub(super) fn clear(&mut self) {
        self.last.clear();
    }

    //= RFC 8899 6.2-2
    /// How the next one is padded: with a PAD chunk, as RFC 8899 §6.2 has it. A peer that has answered none of those may drop what
    /// it does not know, and gets one of the other kind if it is asked `again` by an odd number of probes.
    pub(super) const fn padding(&self, again: bool) -> Padding {
        match self.answered {
            Some(Padding::Chunk) => Padding::Chunk,
            Some(Padding::Info) if !again => Padding::Info,
            None if again => Padding::Info,
            _ => Padding::Chunk,
        }
    }

    /// One leaves.
    pub(super) fn push(&mut self, info: HeartbeatInfo, size: usize, padding: Padding) {
        if self.last.len() == REMEMBERED {
            self.last.remove(0);
        }
        self.last.push(Probe { info, size, padding });
    }

    /// Whether `info` stands in one of them.
    pub(super) fn knows(&self, info: HeartbeatInfo) -> bool {
        self.last.iter().any(|probe| probe.info == info)
    }

    /// The size of the last one.
    pub(super) fn newest(&self) -> Option<usize> {
        self.last.last().map(|probe| probe.size)
    }

    /// The one with `info` was answered: its size, and whether it was the last one.
    pub(super) fn take(&mut self, info: HeartbeatInfo) -> Option<(usize, bool)> {
        let at = self.last.iter().position(|probe| probe.info == info)?;
        let Probe { size, padding, .. } = self.last.remove(at);
        if self.answered != Some(Padding::Chunk) {
            self.answered = Some(padding);
        }
        Some((size, at == self.last.len()))
    }
}
