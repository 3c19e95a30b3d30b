//! Message contents that the receiver can verify byte by byte.

use tresse_core::Bytes;

use tresse_netem::mix;

/// Bytes of the index at the beginning of a message.
const INDEX_LEN: usize = 8;

/// What the bytes of a message say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The message with this index, every byte as it was sent.
    Intact(u64),
    /// Shorter than 8 bytes: too short to tell.
    Short,
    /// Not as any sender made it.
    Damaged,
}

/// The content of the message number `index` with `size` bytes: the index as 8 bytes in network
/// order, then filler that depends on index, size and position. A message shorter than 8 bytes
/// carries the low-order bytes of the index only.
pub fn content(index: u64, size: usize) -> Bytes {
    let head = index.to_be_bytes();
    if size < INDEX_LEN {
        return Bytes::copy_from_slice(&head[INDEX_LEN - size..]);
    }
    let mut bytes = vec![0; size];
    let mut filler = Filler::new(index, size);
    let (words, tail) = bytes.as_chunks_mut::<INDEX_LEN>();
    if let Some((first, words)) = words.split_first_mut() {
        *first = head;
        for word in words {
            *word = filler.next_word();
        }
    }
    for (byte, filling) in tail.iter_mut().zip(filler.next_word()) {
        *byte = filling;
    }
    Bytes::from(bytes)
}

/// Compares a message with what [`content`] made.
pub fn inspect(bytes: &[u8]) -> Content {
    let Some((head, rest)) = bytes.split_first_chunk::<INDEX_LEN>() else { return Content::Short };
    let index = u64::from_be_bytes(*head);
    let mut filler = Filler::new(index, bytes.len());
    let (words, tail) = rest.as_chunks::<INDEX_LEN>();
    let intact = words.iter().all(|word| *word == filler.next_word())
        && filler.next_word().starts_with(tail);
    if intact { Content::Intact(index) } else { Content::Damaged }
}

/// An endless sequence of 8-byte words that depends on index and size. Words at different
/// positions differ in every byte or nearly so, which is all that verifying needs; being a mere
/// sum it costs next to nothing.
struct Filler {
    state: u64,
}

impl Filler {
    const fn new(index: u64, size: usize) -> Filler {
        Filler { state: mix(index ^ mix(size as u64)) }
    }

    const fn next_word(&mut self) -> [u8; 8] {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_noticed() {
        for size in [8, 9, 15, 16, 17, 100, 1452] {
            let original = content(7, size);
            assert_eq!(original.len(), size);
            assert_eq!(inspect(&original), Content::Intact(7), "size {size}");
            for position in 0..size {
                let mut bytes = original.to_vec();
                bytes[position] ^= 0x10;
                // A message of nothing but an index is intact under another index.
                let expected = match size {
                    8 => Content::Intact(7 ^ (0x10 << (8 * (7 - position)))),
                    _ => Content::Damaged,
                };
                assert_eq!(inspect(&bytes), expected, "size {size}, byte {position}");
            }
        }
        let message = content(7, 100);
        assert_eq!(inspect(&message[..99]), Content::Damaged, "cut short");
        assert_eq!(inspect(&[&message[..], &[0]].concat()), Content::Damaged, "too long");
        assert_eq!(content(0x0102, 2)[..], [1, 2]);
        assert_eq!(inspect(&[1, 2]), Content::Short);
        assert!(content(1, 0).is_empty());
    }
}
