//! The sending half itself: SACKs, timers and packets, each of which takes all of its parts.

mod api;
mod guesses;
mod loss;
mod reported;
mod rtt;
mod sack;
mod silence;
mod t3;
mod timers;
mod write;

use tresse_wire::Tsn;

use super::abandon::Abandonment;
use super::contradictions::Contradictions;
use super::cwnd_overrides::CwndOverrides;
use super::distribution::Distribution;
use super::gate::Gate;
use super::outbound::Outbound;
use super::zero_window::ZeroWindow;
use crate::config::AssociationConfig;
use crate::handshake::Capabilities;
use crate::recovery::{Decisions, Recovery};
use crate::scoreboard::AckOutcome;
use crate::time::Time;
pub(crate) use sack::Effects;
pub(crate) use write::{DataPacket, Plan};

/// What a SACK carries beside acknowledgements.
#[derive(Clone, Copy, Debug)]
struct SackSigns {
    /// TSecr of the packet's TIMESTAMP chunk.
    timestamp_echo: Option<u32>,
    /// The R bit.
    retransmit_bit: bool,
    /// The PC bits: how many packets with DATA it answers, 0 if it does not say.
    packets: u8,
    /// What was sent by then may have been acknowledged before, by a SACK that came damaged and was asked for again.
    repeats: Option<Time>,
}

/// A SACK came damaged, and was asked for again (draft-stewart-sctp-pktdrprep).
#[derive(Clone, Copy, Debug)]
struct DamagedSack {
    asked: Time,
    /// Sooner it does not come.
    from: Time,
}

/// Scratch space for one SACK; its memory is used again for the next.
#[derive(Debug, Default)]
struct Work {
    outcome: AckOutcome,
    decisions: Decisions,
    /// TSNs that it reports as duplicates, unwrapped.
    duplicates: Vec<u64>,
}

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    data: Outbound,
    overrides: CwndOverrides,
    zero_window: ZeroWindow,
    distribution: Distribution,
    abandonment: Abandonment,
    recovery: Recovery,
    contradictions: Contradictions,
    /// Until a SACK comes that may be the one that was asked for. If it is not, it left after the damaged one as well, and leaves
    /// nothing that the other would acknowledge late. What comes sooner may have left before, and been overtaken: it tells nothing.
    damaged_sack: Option<DamagedSack>,
    /// For the next SACK.
    work: Option<Box<Work>>,
}

impl Sender {
    pub(crate) fn new(initial_tsn: Tsn, config: &AssociationConfig) -> Sender {
        Sender {
            data: Outbound::new(initial_tsn, config),
            overrides: CwndOverrides::default(),
            zero_window: ZeroWindow::default(),
            distribution: Distribution::new(&config.profile.multipath),
            abandonment: Abandonment::default(),
            recovery: Recovery::new(&config.profile, false, false),
            contradictions: Contradictions::default(),
            damaged_sack: None,
            work: None,
        }
    }

    /// The peer has restarted. What was outstanding or waited was taken out before.
    pub(crate) fn restart(&mut self, initial_tsn: Tsn, config: &AssociationConfig) {
        let old = std::mem::replace(self, Sender::new(initial_tsn, config));
        self.abandonment = old.abandonment.restarted();
        self.data = old.data.restarted(initial_tsn, config);
    }

    /// The handshake has agreed on these capabilities.
    pub(crate) fn agree(&mut self, capabilities: Capabilities, config: &AssociationConfig) {
        self.data.agree(capabilities);
        self.recovery =
            Recovery::new(&config.profile, capabilities.timestamp, capabilities.retransmit_bit);
    }

    /// What waits, and what is outstanding.
    #[inline]
    pub(crate) const fn data(&self) -> &Outbound {
        &self.data
    }

    /// What may leave now.
    const fn gate(&self) -> Gate<'_> {
        Gate::new(&self.data, &self.overrides, &self.zero_window)
    }

    /// The stream is thin.
    pub(crate) fn is_thin(&self) -> bool {
        self.recovery.is_thin(self.data.board())
    }
}
