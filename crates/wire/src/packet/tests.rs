//! Tests of packet framing and checksum.
