//! How many messages were given up, by stream and policy (RFC 7496 §4.3, §4.4).

use std::collections::BTreeMap;

use tresse_wire::StreamId;

use crate::reliability::{AbandonPolicy, AbandonedMessages};

/// Streams of which nothing was given up take no memory.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: BTreeMap<(u16, AbandonPolicy), AbandonedMessages>,
}

impl Tally {
    /// A message was given up; `sent` if a part of it had left.
    pub(super) fn count(&mut self, stream: StreamId, policy: AbandonPolicy, sent: bool) {
        let counts = self.counts.entry((stream.0, policy)).or_default();
        *if sent { &mut counts.sent } else { &mut counts.unsent } += 1;
    }

    /// Those of a stream and of a policy, or of all.
    pub(super) fn of(
        &self,
        stream: Option<StreamId>,
        policy: Option<AbandonPolicy>,
    ) -> AbandonedMessages {
        let wanted = |(key, which): &(u16, AbandonPolicy)| {
            stream.is_none_or(|stream| stream.0 == *key)
                && policy.is_none_or(|policy| policy == *which)
        };
        let found = self.counts.iter().filter(|(key, _)| wanted(key));
        found.fold(AbandonedMessages::default(), |sum, (_, one)| AbandonedMessages {
            unsent: sum.unsent + one.unsent,
            sent: sum.sent + one.sent,
        })
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.counts.len() * 2 * size_of::<((u16, AbandonPolicy), AbandonedMessages)>()
    }
}
