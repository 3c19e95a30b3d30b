//! How reliable messages are (RFC 6458 §5.3.7, §8.1.32, RFC 7496 §4), with Linux' numbers and errors.

use std::time::Duration;

use tresse::{AbandonPolicy, Reliability, StreamId};

use super::option_names::name;
use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Struct, errno, sinfo};
use tresse_socket_protocol::protocol::TxHeader;

/// What the header of a message says.
pub(super) fn reliability(header: &TxHeader) -> Reliability {
    match (header.sinfo_flags & sinfo::POLICY, header.pr_value) {
        (sinfo::PR_RTX, most) => Reliability::Retransmissions(most),
        (sinfo::PR_PRIO, value) => Reliability::Priority(value),
        //= RFC 6458 5.3.2-2
        // RFC 6458 §5.3.2: "the value of 0 is special in that it indicates no timeout should occur on this message".
        (_, 0) => Reliability::Full,
        // RFC 3758 §4.1: a lifetime is that of timed reliability, as Linux and FreeBSD have it without a policy, too.
        (_, ms) => Reliability::Timed(Duration::from_millis(ms.into())),
    }
}

impl Engine {
    /// SCTP_DEFAULT_PRINFO.
    pub(super) fn set_default_policy(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 12)?;
        let (number, value, policy) = (f.u32(0), f.u32(4), f.u16(8));
        if policy & !sinfo::POLICY != 0 {
            return Err(errno::EINVAL);
        }
        self.set_defaults(id, number, |(header, _)| {
            header.sinfo_flags = header.sinfo_flags & !sinfo::POLICY | policy;
            // RFC 7496 §4.2: with SCTP_PR_SCTP_NONE it is ignored.
            header.pr_value = if policy == 0 { 0 } else { value };
        })
    }

    /// What was set.
    pub(super) fn default_policy(&mut self, id: u64, given: &[u8]) -> Fallible<Vec<u8>> {
        let number = at_least(given, 12)?.u32(0);
        self.check_one_or_future(id, number)?;
        let own = self.association_of(id, number).map(|(_, association)| association.defaults);
        let header = match own {
            Some(header) => header,
            None => self.socket(id)?.options.defaults,
        };
        let policy = header.sinfo_flags & sinfo::POLICY;
        Ok(Struct::default().u32(number).u32(header.pr_value).u16(policy).u16(0).0.clone())
    }

    /// SCTP_PR_ASSOC_STATUS and SCTP_PR_STREAM_STATUS: how many messages were given up.
    pub(super) fn given_up(&mut self, id: u64, option: i32, given: &[u8]) -> Fallible<Vec<u8>> {
        let f = at_least(given, 24)?;
        let (number, stream, asked) = (f.u32(0), f.u16(4), f.u16(6));
        // RFC 7496 §4.3: "It is an error to use SCTP_PR_SCTP_NONE in sprstat_policy."
        let policy = match asked {
            sinfo::PR_TTL => Some(AbandonPolicy::Timed),
            sinfo::PR_RTX => Some(AbandonPolicy::Retransmissions),
            sinfo::PR_PRIO => Some(AbandonPolicy::Priority),
            sinfo::PR_ALL => None,
            _ => return Err(errno::EINVAL),
        };
        let (_, association) = self.association_of(id, number).ok_or(errno::EINVAL)?;
        let core = association.core;
        let one = (option == name::PR_STREAM_STATUS).then_some(StreamId(stream));
        let count = self.raw.act(|endpoint, _| endpoint.abandoned(core, one, policy));
        let count = count.map_err(|_| errno::EINVAL)?;
        let mut s = Struct::default();
        s.u32(number).u16(stream).u16(asked).u64(count.unsent).u64(count.sent);
        Ok(s.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RFC 6458 5.3.2-2
    #[test]
    fn a_policy_says_what_its_value_is() {
        let said = |sinfo_flags: u16, pr_value| {
            reliability(&TxHeader { sinfo_flags, pr_value, ..TxHeader::default() })
        };
        let second = Reliability::Timed(Duration::from_secs(1));
        assert_eq!(said(sinfo::UNORDERED, 1000), second);
        assert_eq!(said(sinfo::PR_TTL | sinfo::EOF, 1000), second);
        assert_eq!(said(sinfo::PR_RTX, 1000), Reliability::Retransmissions(1000));
        assert_eq!(said(sinfo::PR_PRIO, 1000), Reliability::Priority(1000));
        assert_eq!([said(0, 0), said(sinfo::PR_TTL, 0)], [Reliability::Full; 2]);
        assert_eq!(said(sinfo::PR_RTX, 0), Reliability::Retransmissions(0));
        assert_eq!(said(sinfo::PR_PRIO, 0), Reliability::Priority(0));
    }
}
