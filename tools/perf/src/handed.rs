//! What was handed to an association, and how much of it has arrived.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Messages in the order in which the association took them.
#[derive(Debug, Default)]
pub(crate) struct Handed(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    /// Of those that are not known to have arrived, the sizes.
    under_way: VecDeque<usize>,
    /// Bytes of all messages.
    bytes: u64,
    arrived: Amounts,
}

/// Messages and the user data in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Handed {
    /// A message of this many bytes was taken.
    pub(crate) fn add(&self, bytes: usize) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.under_way.push_back(bytes);
        queue.bytes += bytes as u64;
    }

    /// What has arrived when `acknowledged` bytes of all are acknowledged, as if those of different streams arrived in
    /// the order in which they were handed over. A message counts once all of it is acknowledged, its bytes one by one.
    pub(crate) fn arrived(&self, acknowledged: u64) -> Amounts {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let acknowledged = acknowledged.min(queue.bytes);
        while let Some(size) = queue.under_way.front().map(|size| *size as u64)
            && queue.arrived.bytes + size <= acknowledged
        {
            queue.under_way.pop_front();
            queue.arrived.messages += 1;
            queue.arrived.bytes += size;
        }
        Amounts { messages: queue.arrived.messages, bytes: acknowledged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_count_when_all_of_them_is_acknowledged() {
        let handed = Handed::default();
        assert_eq!(handed.arrived(7), Amounts::default());
        [100, 50, 200].into_iter().for_each(|size| handed.add(size));
        for (acknowledged, messages, bytes) in
            [(99, 0, 99), (100, 1, 100), (149, 1, 149), (350, 3, 350), (999, 3, 350)]
        {
            assert_eq!(handed.arrived(acknowledged), Amounts { messages, bytes });
        }
        handed.add(1);
        assert_eq!(handed.arrived(u64::MAX), Amounts { messages: 4, bytes: 351 });
    }
}
