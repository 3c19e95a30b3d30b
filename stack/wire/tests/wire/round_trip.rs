//! What is written is read back.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::reemit::check_packet;
use crate::spec::{chunk, decode, encode, header};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    //= RFC 9260 3.2-1 3.2-2 3.2-3 3.3.1-8 3.3.1-9 3.3.1-10
    #[test]
    fn packets_survive(header in header(), chunks in vec(chunk(), 0..8)) {
        let bytes = encode(header, &chunks);
        prop_assert_eq!(bytes.len() % 4, 0);
        let (read_header, read) = decode(&bytes);
        prop_assert_eq!(read_header, header);
        prop_assert_eq!(&read, &chunks);
        // Writing is canonical: the same chunks give the same bytes.
        prop_assert_eq!(encode(read_header, &read), bytes.clone());
        check_packet(&bytes);
    }

    //= RFC 9260 3.2-4
    /// RFC 9260 §3.2: the final padding may be absent, or counted in the Chunk Length.
    #[test]
    fn final_padding_does_not_matter(header in header(), chunk in chunk()) {
        let chunks = [chunk];
        let mut bytes = encode(header, &chunks);
        let length = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
        bytes.truncate(12 + length);
        let unpadded = tresse_wire::Packet::parse_unverified(&bytes).unwrap();
        prop_assert!(unpadded.chunks().all(|raw| tresse_wire::Chunk::parse(raw.unwrap()).is_ok()));
        check_packet(&bytes);
    }
}
