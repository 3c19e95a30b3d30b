//! Why chunks are sent again: all causes, and the one place where they are classified.

/// Makes the causes of one table: what each is, its name, what shows the loss, and what is sent again for. Everything else follows
/// from that.
macro_rules! causes {
    ($($(#[$doc:meta])* $cause:ident($name:literal, $evidence:ident, $purpose:ident),)*) => {
        /// Why a chunk was declared lost and is sent again, or why the sender probes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum LossCause {
            $($(#[$doc])* $cause,)*
        }

        impl LossCause {
            /// All causes, in the order in which statistics count them.
            pub const ALL: [LossCause; [$($name),*].len()] = [$(LossCause::$cause),*];

            const fn row(self) -> (&'static str, LossEvidence, LossPurpose) {
                match self {
                    $(LossCause::$cause => ($name, LossEvidence::$evidence, LossPurpose::$purpose),)*
                }
            }
        }
    };
}

causes! {
    /// Enough miss indications (RFC 9260 §7.2.4).
    FastRetransmit("fast-retransmit", Counted, Repair),
    /// Byte-based Early Retransmit (RFC 5827 §3.1).
    EarlyRetransmitBytes("early-retransmit-bytes", FewerCounted, Repair),
    /// Packet-based Early Retransmit (RFC 5827 §3.2; Hurtig & Brunstrom §2.3).
    EarlyRetransmitPackets("early-retransmit-packets", FewerCounted, Repair),
    /// The T3-rtx timer expired (RFC 9260 §6.3.3).
    Timeout("timeout", TimedOut, Repair),
    /// Its path failed, was removed, or became too narrow for it.
    PathFailure("path-failure", Void, Repair),
    /// It was a probe of a closed window, which has opened since (RFC 9260 §6.1 A).
    ZeroWindowProbe("zero-window-probe", Void, WindowProbe),
    /// One miss indication in a thin stream (Pedersen 2006 §4.2.1).
    ThinFastRetransmit("thin-fast-retransmit", OneSack, Repair),
    /// A chunk sent later was acknowledged and the reordering window has passed (RFC 8985 §6).
    Rack("rack", Overtaken, Repair),
    /// Not lost: the last chunk is sent again to elicit a SACK (RFC 8985 §7).
    TailLossProbe("tail-loss-probe", InFlight, TailProbe),
    /// Not lost: it fills up a packet that leaves anyway (Pedersen 2006 §4.2.2, §4.4).
    Bundled("bundled", InFlight, Filling),
    /// Not known to be lost: it holds up the buffers (Sarnow 2017 §6.2.3), or its path is silent, and
    /// it leaves again over another one.
    Rescheduled("rescheduled", InFlight, Detour),
    /// Not lost: a thin stream goes over all paths at once.
    Redundant("redundant", InFlight, Copy),
    /// The peer got it damaged, and says so (draft-stewart-sctp-pktdrprep).
    PacketDropReport("packet-drop-report", Reported, Repair),
}

/// What shows that a chunk which is sent again had not arrived.
///
/// Together with [`LossPurpose`] it classifies all [causes](LossCause::evidence). It may be matched without a rest: whoever
/// does need not know the causes, and a new one need not change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossEvidence {
    /// As many SACKs reported what was sent later as RFC 9260 §7.2.4 asks for.
    Counted,
    /// Fewer of them: the threshold was lowered.
    FewerCounted,
    /// A single one, which is hardly more than a guess.
    OneSack,
    /// What was sent later was acknowledged, and the time that reordering may take is over: that goes for what was sent
    /// again, too.
    Overtaken,
    /// Nothing was acknowledged for as long as T3-rtx runs.
    TimedOut,
    /// The peer told that it came damaged, which is no congestion.
    Reported,
    /// It was sent for nothing, without any congestion: to a peer without room, or where nothing comes through.
    Void,
    /// Nothing: it is in flight, as far as is known.
    InFlight,
}

/// What it is sent again for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossPurpose {
    /// To take the place of what did not arrive.
    Repair,
    /// To have the peer answer with a SACK, which tells what arrived.
    TailProbe,
    /// To have the peer answer with a SACK, which tells how large its window is.
    WindowProbe,
    /// To fill up a packet that leaves anyway.
    Filling,
    /// To arrive sooner than over the path that it is in flight on.
    Detour,
    /// To arrive over several paths, of which one may lose it.
    Copy,
}

impl LossCause {
    /// A short name for tables, such as `fast-retransmit`.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The cause of that [name](Self::name), if there is one.
    pub fn named(name: &str) -> Option<LossCause> {
        LossCause::ALL.into_iter().find(|cause| cause.name() == name)
    }

    /// What shows that the chunk had not arrived.
    pub const fn evidence(self) -> LossEvidence {
        self.row().1
    }

    /// What it is sent again for.
    pub const fn purpose(self) -> LossPurpose {
        self.row().2
    }

    /// Where statistics count it: its place in [`ALL`](Self::ALL).
    pub const fn index(self) -> usize {
        self as usize
    }

    /// SACKs that reported higher TSNs declared it lost: that is also what reordering looks like.
    pub const fn is_found_by_sacks(self) -> bool {
        use LossEvidence::{Counted, FewerCounted, OneSack, Overtaken};
        matches!(self.evidence(), Counted | FewerCounted | OneSack | Overtaken)
    }

    /// It says that the chunk did not arrive, and not that it was sent for nothing, came damaged, or is better sent elsewhere:
    /// what congestion looks like.
    pub(crate) const fn is_loss(self) -> bool {
        use LossEvidence::{InFlight, Reported, Void};
        !matches!(self.evidence(), Void | InFlight | Reported)
    }

    /// Fewer miss indications than RFC 9260 §7.2.4 asks for were enough.
    pub(crate) const fn lowers_threshold(self) -> bool {
        matches!(self.evidence(), LossEvidence::FewerCounted | LossEvidence::OneSack)
    }

    /// What declares a chunk lost for it follows its retransmissions too: it sees when one of them is lost.
    pub(crate) const fn sees_retransmissions(self) -> bool {
        matches!(self.evidence(), LossEvidence::Overtaken)
    }

    /// The chunk begins again, as if it was never struck: no SACK had to do with it.
    pub(crate) const fn begins_again(self) -> bool {
        use LossEvidence::{Reported, TimedOut, Void};
        matches!(self.evidence(), TimedOut | Void | Reported)
    }

    /// What is sent again for it waits for its SACK; what only rides along, or takes another path too, does not.
    pub(crate) const fn awaits_sack(self) -> bool {
        !matches!(self.purpose(), LossPurpose::Filling | LossPurpose::Copy)
    }

    /// What is sent again for it is to leave over another path.
    pub(crate) const fn takes_another_path(self) -> bool {
        matches!(self.purpose(), LossPurpose::Detour)
    }

    /// What is sent again for it repairs a loss, or would.
    pub(crate) const fn is_repair(self) -> bool {
        !matches!(self.evidence(), LossEvidence::Void)
            && !matches!(self.purpose(), LossPurpose::Copy)
    }

    /// It was sent again on little or no evidence that it is lost, to be quick if it is.
    pub(crate) const fn is_guess(self) -> bool {
        match self.evidence() {
            LossEvidence::OneSack => true,
            LossEvidence::InFlight => {
                matches!(self.purpose(), LossPurpose::TailProbe | LossPurpose::Filling)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_counted_in_their_order() {
        for (n, cause) in LossCause::ALL.into_iter().enumerate() {
            assert_eq!(cause.index(), n, "{}", cause.name());
        }
    }

    #[test]
    fn causes_have_names_of_their_own() {
        for cause in LossCause::ALL {
            assert_eq!(LossCause::named(cause.name()), Some(cause));
        }
        assert_eq!(LossCause::named("bad-luck"), None);
    }

    /// What follows from the table, cause by cause.
    #[test]
    fn what_follows_from_a_cause() {
        use LossCause::*;
        let those = |is: fn(LossCause) -> bool| -> Vec<LossCause> {
            LossCause::ALL.into_iter().filter(|cause| is(*cause)).collect()
        };
        let early = [EarlyRetransmitBytes, EarlyRetransmitPackets, ThinFastRetransmit];
        assert_eq!(those(LossCause::lowers_threshold), early);
        let by_sacks = [
            FastRetransmit,
            EarlyRetransmitBytes,
            EarlyRetransmitPackets,
            ThinFastRetransmit,
            Rack,
        ];
        assert_eq!(those(LossCause::is_found_by_sacks), by_sacks);
        let lost = |cause: LossCause| cause.is_loss() && !cause.is_found_by_sacks();
        assert_eq!(those(lost), [Timeout]);
        assert_eq!(those(LossCause::sees_retransmissions), [Rack]);
        let again = [Timeout, PathFailure, ZeroWindowProbe, PacketDropReport];
        assert_eq!(those(LossCause::begins_again), again);
        assert_eq!(those(|cause| !cause.awaits_sack()), [Bundled, Redundant]);
        assert_eq!(those(LossCause::takes_another_path), [Rescheduled]);
        assert_eq!(those(|c| !c.is_repair()), [PathFailure, ZeroWindowProbe, Redundant]);
        assert_eq!(those(LossCause::is_guess), [ThinFastRetransmit, TailLossProbe, Bundled]);
    }
}
