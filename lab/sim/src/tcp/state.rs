//! What a sender knows of its losses.

use super::options::Options;

/// RFC 2581 §3.2: three duplicate ACKs.
pub(super) const DUPLICATES: u64 = 3;
/// More reordering is never thought of.
const MOST_REORDERING: u64 = 127;

/// Where a sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Open,
    Disorder,
    Recovery,
    Loss,
}

/// What an ACK brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// It acknowledges more.
    pub(super) acked: bool,
    /// SACK blocks have something new.
    pub(super) sacked: bool,
    /// A block reaches beyond what was sent when the recovery began.
    pub(super) beyond: bool,
}

/// What a sender knows of its losses.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    pub(super) state: State,
    /// The state ends when this is acknowledged.
    pub(super) high: u64,
    /// How far segments overtake each other.
    pub(super) reordering: u64,
    pub(super) fack: bool,
    /// Timeouts without an ACK between them.
    pub(super) timeouts: u32,
    /// What the cut can be undone with, see `undo`.
    pub(super) undo: Undo,
}

/// What is needed to undo a cut of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// What was acknowledged when the window was cut; `None`: it is not to be undone.
    pub(super) from: Option<u64>,
    /// Segments sent again since then and not known to be needless.
    pub(super) needed: i64,
    /// The threshold before; `None`: not kept.
    pub(super) ssthresh: Option<u64>,
    /// When the first segment was sent again.
    pub(super) first_at: Option<u64>,
}

impl Recovery {
    pub(super) fn new(options: Options) -> Recovery {
        Recovery {
            state: State::Open,
            high: 0,
            reordering: DUPLICATES,
            fack: options.sack && options.fack,
            timeouts: 0,
            undo: Undo::default(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    pub(super) fn is_recovering(&self) -> bool {
        self.state == State::Recovery
    }

    pub(super) fn is_in_loss(&self) -> bool {
        self.state == State::Loss
    }

    pub(super) const fn has_fack(&self) -> bool {
        self.fack
    }

    pub(super) const fn high(&self) -> u64 {
        self.high
    }

    pub(super) fn open(&mut self) {
        self.state = State::Open;
    }

    /// Segments overtook each other by this many: FACK cannot be used then.
    pub(super) fn reordered(&mut self, by: u64) {
        if by > self.reordering {
            self.reordering = by.min(MOST_REORDERING);
            self.fack = false;
        }
    }

    pub(super) fn sent_again(&mut self, now: u64) {
        self.undo.first_at.get_or_insert(now);
        self.undo.needed += 1;
    }
}
