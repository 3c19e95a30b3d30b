//! What the peer answers to what this end has asked of it (RFC 5061 §5.1, §5.3).

use tresse_wire::{AsconfAck, Cause, CauseWriter, ChunkType};

use super::{AddressChanges, Addresses, Common, End, tell_of_change};
use crate::asconf::{Meaning, Request};
use crate::event::{AddressChange, AddressOutcome, CloseReason};
use crate::journal::Journal;
use crate::path::source::Sources;
use crate::send::Sender;

impl AddressChanges {
    //= RFC 5061 5.1-7 5.3-2
    /// An ASCONF-ACK chunk, which was authenticated.
    pub(in crate::association) fn on_ack(
        &mut self,
        cx: &mut Common<'_>,
        sender: &Sender,
        addresses: &mut Addresses,
        ack: &AsconfAck<'_>,
    ) -> Result<(), End> {
        if !cx.state.may_change_addresses() {
            return Ok(());
        }
        let sent = self.requests.sent_on();
        match self.requests.on_ack(ack) {
            Meaning::Old => {}
            Meaning::Illegal => {
                let causes = CauseWriter::new().illegal_asconf_ack().finish();
                let reason = CloseReason::ProtocolViolation("illegal ASCONF-ACK");
                return Err(End { causes, reason });
            }
            Meaning::Answers(answers) => {
                cx.outbox.drop_asconf();
                if let Some((path, sent)) = sent.filter(|(path, _)| cx.paths.is_living(*path)) {
                    cx.answered(path, sent, sender);
                }
                let (mut granted, mut has_failed) = (Vec::new(), false);
                for (request, outcome) in answers {
                    if request.change == AddressChange::Add && outcome == AddressOutcome::Done {
                        granted.push(request.address);
                    }
                    has_failed |= outcome == AddressOutcome::Failed;
                    conclude(cx.journal, addresses.sources_mut(), request, outcome);
                }
                addresses.leave_lost(cx);
                for local in &granted {
                    addresses.spread_to(cx, *local);
                }
                cx.paths.begin_opportunity(cx.profile());
                self.follow_answers(cx, addresses, !granted.is_empty(), has_failed);
                self.pursue(cx, addresses);
            }
        }
        Ok(())
    }

    //= RFC 5061 4.1.1-8 5.1-9 5.1.1-7
    /// An Unrecognized Chunk Type error cause of the peer: if that is our ASCONF chunk, it gets no more of them (A9).
    pub(in crate::association) fn on_unrecognized_chunk(
        &mut self,
        cx: &mut Common<'_>,
        sources: &mut Sources,
        cause: &Cause<'_>,
    ) {
        let Cause::UnrecognizedChunkType(chunk) = cause else { return };
        if chunk.first() != Some(&ChunkType::ASCONF.0) {
            return;
        }
        let open = self.requests.give_up(true);
        cx.outbox.drop_asconf();
        sources.stay();
        for request in open {
            tell_of_change(cx.journal, request, AddressOutcome::NotSupported);
        }
    }
}

//= RFC 5061 5.3-3 5.3-26
/// A request was granted, or not.
fn conclude(
    journal: &mut Journal,
    sources: &mut Sources,
    request: Request,
    outcome: AddressOutcome,
) {
    let done = outcome == AddressOutcome::Done;
    match request.change {
        // F2
        AddressChange::Add if done => sources.learn(request.address),
        AddressChange::Delete if done => sources.forget(request.address),
        AddressChange::Delete => sources.keep(request.address),
        AddressChange::Add | AddressChange::SetPrimary => {}
    }
    tell_of_change(journal, request, outcome);
}
