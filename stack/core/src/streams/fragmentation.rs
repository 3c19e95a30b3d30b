//! Where a user message is cut (RFC 9260 §6.9).

/// One fragment: its length and whether it is the first or last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    /// Bytes of user data.
    pub(super) len: usize,
    /// B bit.
    pub(super) beginning: bool,
    /// E bit.
    pub(super) ending: bool,
}

//= RFC 8260 2.1-8 2.2.2-1 2.2.2-2 2.2.2-3
//= RFC 9260 3.3.1-11 6-8 6.9-2 6.9-9 6.9-13
/// The next fragment of a message of `total` bytes of which `taken` have left already, when a
/// chunk has room for `max_payload` bytes. `None` when no byte fits or none is left.
///
/// RFC 9260 §6.9: the B/E bits are 10 for the first, 01 for the last and 00 for all other
/// fragments; §3.3.1: an unfragmented message has both set.
///
/// Chunks already cut are never cut again ("it cannot be re-fragmented"): a smaller `max_payload`
/// applies to what has not left yet.
pub(super) fn cut(total: usize, taken: usize, max_payload: usize) -> Option<Fragment> {
    let rest = total - taken;
    let len = rest.min(max_payload);
    (len > 0).then_some(Fragment { len, beginning: taken == 0, ending: len == rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RFC 9260 3.3.1-11 6.9-13
    #[test]
    fn bits_follow_table_4() {
        let bits =
            |total, taken, max| cut(total, taken, max).map(|c| (c.len, c.beginning, c.ending));
        assert_eq!(bits(10, 0, 10), Some((10, true, true)));
        assert_eq!(bits(10, 0, 4), Some((4, true, false)));
        assert_eq!(bits(10, 4, 4), Some((4, false, false)));
        assert_eq!(bits(10, 8, 4), Some((2, false, true)));
        assert_eq!(bits(10, 6, 4), Some((4, false, true)));
    }

    #[test]
    fn nothing_without_room_or_data() {
        assert_eq!(cut(10, 0, 0), None);
        assert_eq!(cut(10, 10, 5), None);
    }
}
