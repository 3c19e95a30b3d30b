//! Numbers of 16 bits, one after the other: how parameters and causes list streams and types.

use std::marker::PhantomData;

/// A list of numbers of 16 bits, each of which stands for a `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct List<'a, T> {
    bytes: &'a [[u8; 2]],
    of: PhantomData<T>,
}

impl<'a, T: From<u16> + PartialEq> List<'a, T> {
    /// `None` when the number of bytes is odd.
    pub(crate) const fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        match bytes.as_chunks::<2>() {
            (bytes, []) => Some(Self { bytes, of: PhantomData }),
            _ => None,
        }
    }

    /// How many are listed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether none is listed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// They in the order of the list, unjudged.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + Clone + use<'a, T> {
        self.bytes.iter().map(|bytes| T::from(u16::from_be_bytes(*bytes)))
    }

    /// Whether the list names this one.
    #[must_use]
    pub fn contains(&self, wanted: &T) -> bool {
        self.iter().any(|listed| listed == *wanted)
    }
}
