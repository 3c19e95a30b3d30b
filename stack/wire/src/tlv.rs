//! The Type-Length-Value format shared by parameters and error causes (RFC 9260 §3.2.1, §3.3.10).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Parameter Type         |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                        Parameter Value                        /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

/// Length of the type and length fields in front of a value.
pub(crate) const TLV_HEADER_LEN: usize = 4;

/// `n` rounded up to the next multiple of four bytes, as chunks, parameters and error causes are
/// padded (RFC 9260 §3.2). Saturates instead of overflowing.
#[must_use]
pub const fn padded(n: usize) -> usize {
    n.saturating_add(3) & !3
}

/// One item of a list.
#[derive(Clone, Copy)]
pub(crate) struct RawTlv<'a> {
    /// Parameter Type or Cause Code.
    pub(crate) kind: u16,
    /// The value without header and padding.
    pub(crate) value: &'a [u8],
    /// Header and value without padding.
    pub(crate) bytes: &'a [u8],
}

/// Why a list cannot be read further.
#[derive(Clone, Copy)]
pub(crate) enum TlvError {
    /// 1 to 3 bytes are left.
    Partial { available: usize },
    /// The length field is below four or beyond the end of the list.
    Length { kind: u16, length: u16, available: usize },
}

/// Walks a list. Every step consumes at least four bytes, so the walk ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tlvs<'a>(pub(crate) &'a [u8]);

impl<'a> Tlvs<'a> {
    fn step(&mut self) -> Result<RawTlv<'a>, TlvError> {
        let available = self.0.len();
        let Some(&[k0, k1, l0, l1]) = self.0.first_chunk() else {
            return Err(TlvError::Partial { available });
        };
        let kind = u16::from_be_bytes([k0, k1]);
        let length = u16::from_be_bytes([l0, l1]);
        let parts = self.0.split_at_checked(usize::from(length));
        let Some((bytes, rest)) = parts else {
            return Err(TlvError::Length { kind, length, available });
        };
        let Some(value) = bytes.get(TLV_HEADER_LEN..) else {
            return Err(TlvError::Length { kind, length, available });
        };
        // RFC 9260 §3.2: the final padding may be absent from the Chunk Length.
        //= RFC 9260 3.2.1-3
        let padding = padded(bytes.len()) - bytes.len();
        self.0 = rest.get(padding..).unwrap_or_default();
        Ok(RawTlv { kind, value, bytes })
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<RawTlv<'a>, TlvError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let item = self.step();
        if item.is_err() {
            self.0 = &[];
        }
        Some(item)
    }
}

/// Takes the padding of the last item off a padded list.
///
/// RFC 9260 §3.2: the Chunk Length "does include any padding of variable-length parameters other
/// than the last parameter in the chunk". A malformed list is returned as it is.
pub(crate) fn without_final_padding(list: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut items = Tlvs(list);
    loop {
        let start = list.len() - items.0.len();
        match items.next() {
            Some(Ok(item)) => end = start + item.bytes.len(),
            Some(Err(_)) => return list,
            None => return list.get(..end).unwrap_or(list),
        }
    }
}

//= RFC 9260 3.2.1-1 3.2.1-2
/// Appends an item and pads it with zeros.
///
/// Leaves the list as it is and returns false when the item would make it longer than `limit`;
/// the padding of the last item does not count.
pub(crate) fn push(list: &mut Vec<u8>, limit: usize, kind: u16, value: &[&[u8]]) -> bool {
    let length = value.iter().fold(TLV_HEADER_LEN, |sum, part| sum.saturating_add(part.len()));
    let Ok(length_field) = u16::try_from(length) else { return false };
    if list.len().saturating_add(length) > limit {
        return false;
    }
    list.extend_from_slice(&kind.to_be_bytes());
    list.extend_from_slice(&length_field.to_be_bytes());
    for part in value {
        list.extend_from_slice(part);
    }
    list.resize(padded(list.len()), 0);
    true
}

/// Declares a list of error causes or of parameters as it stands in a chunk, and its iterator.
macro_rules! tlv_list {
    (
        $one:literal: $list:ident, $raw:ident { $kind:ident: $number:ident },
        $raws:ident, $partial:ident, $length:ident
    ) => {
        #[doc = concat!("A list of ", $one, "s as it stands in a chunk: a cheap view.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
        pub struct $list<'a>(&'a [u8]);

        impl<'a> $list<'a> {
            #[doc = concat!("A view of bytes that are, or claim to be, a list of ", $one, "s.")]
            #[must_use]
            pub const fn new(bytes: &'a [u8]) -> Self {
                Self(bytes)
            }

            /// The bytes of the list.
            #[must_use]
            pub const fn as_bytes(&self) -> &'a [u8] {
                self.0
            }

            #[doc = concat!("Whether there is no ", $one, ".")]
            #[must_use]
            pub const fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            #[doc = concat!("Walks the ", $one, "s in order, checking framing only.")]
            ///
            #[doc = concat!("Ends after the first error ([`ChunkError::", stringify!($partial), "`] or")]
            #[doc = concat!("[`ChunkError::", stringify!($length), "`]): what follows cannot be told apart.")]
            #[must_use]
            pub const fn iter(&self) -> $raws<'a> {
                $raws($crate::tlv::Tlvs(self.0))
            }

            /// Checks the framing of the whole list at once.
            ///
            /// # Errors
            #[doc = concat!("[`ChunkError::", stringify!($partial), "`] or [`ChunkError::", stringify!($length), "`].")]
            pub fn check(&self) -> Result<(), ChunkError> {
                self.iter().try_for_each(|item| item.map(drop))
            }
        }

        impl<'a> IntoIterator for $list<'a> {
            type Item = Result<$raw<'a>, ChunkError>;
            type IntoIter = $raws<'a>;

            fn into_iter(self) -> $raws<'a> {
                self.iter()
            }
        }

        #[doc = concat!("Iterator over ", $one, "s, made by [`", stringify!($list), "::iter`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $raws<'a>($crate::tlv::Tlvs<'a>);

        impl<'a> Iterator for $raws<'a> {
            type Item = Result<$raw<'a>, ChunkError>;

            fn next(&mut self) -> Option<Self::Item> {
                use $crate::tlv::{RawTlv, TlvError};
                Some(match self.0.next()? {
                    Ok(RawTlv { kind, value, bytes }) => {
                        Ok($raw { $kind: $number(kind), value, bytes })
                    }
                    Err(TlvError::Partial { available }) => Err(ChunkError::$partial { available }),
                    Err(TlvError::Length { kind, length, available }) => {
                        Err(ChunkError::$length { $kind: $number(kind), length, available })
                    }
                })
            }
        }

        impl std::iter::FusedIterator for $raws<'_> {}
    };
}

/// Declares the walk through such a list that validates each item.
macro_rules! validated {
    ($one:literal: $list:ident, $raws:ident, $item:ident, $items:ident) => {
        impl<'a> $list<'a> {
            #[doc = concat!("Walks the ", $one, "s in order, validating each with [`", stringify!($item), "::parse`].")]
            ///
            /// Ends after a framing error, but goes on after one that is not valid.
            #[must_use]
            pub const fn parsed(&self) -> $items<'a> {
                $items(self.iter())
            }
        }

        #[doc = concat!("Iterator over validated ", $one, "s, made by [`", stringify!($list), "::parsed`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $items<'a>($raws<'a>);

        impl<'a> Iterator for $items<'a> {
            type Item = Result<$item<'a>, ChunkError>;

            fn next(&mut self) -> Option<Self::Item> {
                Some(self.0.next()?.and_then($item::parse))
            }
        }

        impl std::iter::FusedIterator for $items<'_> {}
    };
}

pub(crate) use {tlv_list, validated};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_saturates() {
        assert_eq!([0, 1, 3, 4, 5].map(padded), [0, 4, 4, 4, 8]);
        assert_eq!(padded(usize::MAX), usize::MAX - 3);
    }

    #[test]
    fn final_padding_is_taken_off_once() {
        let list = [0, 1, 0, 5, 9, 0, 0, 0, 0, 1, 0, 6, 9, 9, 0, 0];
        assert_eq!(without_final_padding(&list), &list[..14]);
        assert_eq!(without_final_padding(&list[..14]), &list[..14]);
        assert_eq!(without_final_padding(&list[..8]), &list[..5]);
        assert_eq!(without_final_padding(&[]), &[] as &[u8]);
        let malformed = [0, 1, 0, 99, 0, 0];
        assert_eq!(without_final_padding(&malformed), &malformed);
    }

    //= RFC 9260 3.2.1-3
    #[test]
    fn padding_is_ignored() {
        let list = [0, 1, 0, 5, 9, 0xff, 0xff, 0xff, 0, 2, 0, 4];
        let kinds: Vec<_> = Tlvs(&list).map_while(Result::ok).map(|t| (t.kind, t.value)).collect();
        assert_eq!(kinds, [(1, &[9][..]), (2, &[])]);
    }

    //= RFC 9260 3.2.1-1 3.2.1-2
    #[test]
    fn push_keeps_to_its_limit() {
        let mut list = Vec::new();
        assert!(push(&mut list, 13, 1, &[&[7]]));
        assert!(push(&mut list, 13, 1, &[&[7]]));
        assert_eq!(list.len(), 16);
        assert!(!push(&mut list, 19, 1, &[]));
        assert!(push(&mut list, 20, 1, &[]));
        assert!(!push(&mut list, usize::MAX, 1, &[&[0; 65_532]]));
        assert!(push(&mut list, usize::MAX, 1, &[&[0; 65_530], &[1]]));
        assert_eq!(list.len(), 20 + 65_536);
    }
}
