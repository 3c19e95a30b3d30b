//! Exact sets of packet numbers, such as `drop_packets = [3, 17]`.

/// The three numbers by which patterns name a packet, all counted from 1 since the link was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// Among all packets offered.
    pub(crate) packet: u64,
    /// Among those with [`Class::DATA`](crate::Class::DATA); 0 if it is none.
    pub(crate) data: u64,
    /// Among those with [`Class::ACK`](crate::Class::ACK); 0 if it is none.
    pub(crate) ack: u64,
}

/// A set of numbers, asked in increasing order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pattern {
    numbers: Vec<u64>,
    next: usize,
}

impl Pattern {
    pub(crate) fn new(numbers: &[u64]) -> Pattern {
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        Pattern { numbers, next: 0 }
    }

    /// Whether `number` is in the set. Numbers asked for must not decrease, except for 0, which
    /// stands for a packet that is not counted and is in no set.
    pub(crate) fn matches(&mut self, number: u64) -> bool {
        while self.numbers.get(self.next).is_some_and(|n| *n < number) {
            self.next += 1;
        }
        self.numbers.get(self.next) == Some(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repetition_of_the_list_do_not_matter() {
        let mut pattern = Pattern::new(&[5, 2, 2]);
        let hits: Vec<u64> = (1..=7).filter(|n| pattern.matches(*n)).collect();
        assert_eq!(hits, [2, 5]);
        assert!(!Pattern::new(&[1]).matches(0));
        assert!(Pattern::new(&[9]).matches(9));
    }
}
