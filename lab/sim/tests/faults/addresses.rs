//! What became of changes of addresses: each that an end takes is answered once.

use std::net::IpAddr;

use tresse_core::{AddressChange, AddressOutcome};

use crate::ledger::{Kind, Ledger};

impl Ledger {
    /// An end has taken a request.
    pub(crate) fn asked(&mut self, end: usize, change: AddressChange, address: IpAddr) {
        self.ends[end].asked.push((change, address));
    }

    /// What became of one; an end that follows its host makes some of its own.
    pub(crate) fn address_changed(
        &mut self,
        end: usize,
        change: AddressChange,
        address: IpAddr,
        outcome: AddressOutcome,
        follows: bool,
    ) {
        self.seen.insert(match (outcome, change) {
            (AddressOutcome::Done, AddressChange::Add) => "address added",
            (AddressOutcome::Done, AddressChange::Delete) => "address deleted",
            (AddressOutcome::Done, AddressChange::SetPrimary) => "peer told of its primary path",
            (AddressOutcome::Refused { .. }, _) => "change of addresses refused",
            (AddressOutcome::NotSupported, _) => "change of addresses not supported",
            _ => "change of addresses failed",
        });
        let asked = &mut self.ends[end].asked;
        if let Some(at) = asked.iter().position(|one| *one == (change, address)) {
            asked.remove(at);
        } else if !follows {
            let text = format!("{}: {change:?} {address}: {outcome:?}", self.ends[end].name);
            self.violate(Kind::EventOrder, text);
        }
    }

    /// No request of an end that has closed is left without an answer.
    pub(crate) fn settle_addresses(&mut self) {
        let open = self.ends.iter().filter(|end| end.closed.is_some() && !end.asked.is_empty());
        let texts: Vec<String> =
            open.map(|end| format!("{}: no answer to {:?}", end.name, end.asked)).collect();
        for text in texts {
            self.violate(Kind::EventOrder, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_core::{CloseReason, Time};

    #[test]
    fn a_missing_answer_and_one_too_many_are_noticed() {
        let kinds = |answers: usize, follows: bool| {
            let mut ledger = Ledger::default();
            let end = ledger.open(Time::ZERO, 0, 1, "a".into());
            let (change, address) = (AddressChange::Add, IpAddr::from([10, 0, 0, 1]));
            ledger.asked(end, change, address);
            for _ in 0..answers {
                ledger.address_changed(end, change, address, AddressOutcome::Done, follows);
            }
            ledger.closed(Time::ZERO, end, CloseReason::Shutdown);
            ledger.settle_addresses();
            ledger.violations.len()
        };
        assert_eq!([kinds(0, false), kinds(1, false), kinds(2, false)], [1, 0, 1]);
        assert_eq!([kinds(0, true), kinds(2, true)], [1, 0]);
    }
}
