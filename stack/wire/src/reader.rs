//! Sequential reading of big-endian fields that cannot run past the end.

/// What is left of a slice being read from front to back.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Takes a 16-bit number in network byte order; `None` when fewer than two bytes are left.
    pub(crate) fn u16(&mut self) -> Option<u16> {
        let (head, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*head))
    }

    /// Takes a 32-bit number in network byte order; `None` when fewer than four bytes are left.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*head))
    }

    /// All bytes not taken yet.
    pub(crate) const fn rest(self) -> &'a [u8] {
        self.0
    }
}
