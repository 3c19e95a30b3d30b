//! Which timestamp to echo (Ladha et al. §4, with the rules of RFC 7323 §4.3).
//!
//! Idea: the echo must be that of the packet which the next SACK answers: the earliest one not yet
//! acknowledged if SACKs are delayed, the last one in sequence while there is a gap, the one that
//! fills a gap when it is filled.
//!
//! `TS.Recent = TSval <=> lowest TSN of the packet <= Cumulative TSN Ack of the last SACK + 1`

/// The timestamp to echo.
#[derive(Debug)]
pub(crate) struct TimestampEcho {
    recent: Option<u32>,
    /// Cumulative TSN Ack of the last SACK sent, unwrapped; at first the TSN before the initial one.
    last_ack: u64,
}

impl TimestampEcho {
    /// Nothing received; `cumulative` is the TSN before the peer's initial one, unwrapped.
    pub(crate) fn new(cumulative: u64) -> TimestampEcho {
        TimestampEcho { recent: None, last_ack: cumulative }
    }

    /// The peer numbers on from another TSN; its clock is the same.
    pub(crate) fn continued(&self, cumulative: u64) -> TimestampEcho {
        TimestampEcho { recent: self.recent, last_ack: cumulative }
    }

    /// A packet came with this timestamp; `lowest` is its lowest TSN, unwrapped, if it had DATA.
    pub(crate) fn on_packet(&mut self, tsval: u32, lowest: Option<u64>) {
        // Packets without DATA have no place in the sequence: they count only at the beginning.
        let in_sequence = lowest.map_or(self.recent.is_none(), |seq| seq <= self.last_ack + 1);
        let newer = self.recent.is_none_or(|r| tsval.wrapping_sub(r).cast_signed() >= 0);
        if in_sequence && newer {
            self.recent = Some(tsval);
        }
    }

    /// A SACK with this Cumulative TSN Ack left.
    pub(crate) fn on_sack_sent(&mut self, cumulative: u64) {
        self.last_ack = cumulative;
    }

    /// TSecr of the next packet; 0 before anything was received.
    pub(crate) fn echo(&self) -> u32 {
        self.recent.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cases_of_rfc_7323_section_4_3() {
        let mut echo = TimestampEcho::new(9);
        // Delayed acknowledgement: the earliest packet not acknowledged.
        echo.on_packet(100, Some(10));
        echo.on_packet(101, Some(11));
        assert_eq!(echo.echo(), 100);
        echo.on_sack_sent(11);
        // A hole: the last packet in sequence.
        echo.on_packet(103, Some(13));
        assert_eq!(echo.echo(), 100);
        echo.on_sack_sent(11);
        // A filled hole: the packet that filled it.
        echo.on_packet(110, Some(12));
        assert_eq!(echo.echo(), 110);
        // A late original of what was retransmitted does not turn time back.
        echo.on_sack_sent(13);
        echo.on_packet(102, Some(12));
        assert_eq!(echo.echo(), 110);
    }
}
