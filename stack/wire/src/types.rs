//! Newtypes for the numbers of the protocol.
//!
//! Sequence numbers wrap around, so they have no total order and the types do not implement `Ord`:
//! comparing goes through serial number arithmetic (RFC 1982, RFC 9260 §1.6).

use std::fmt;

//= RFC 9260 1.6-1 1.6-2 1.6-4 1.6-5
macro_rules! serial_number {
    ($(#[$doc:meta])* $name:ident, $unsigned:ty, $signed:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
        pub struct $name(
            /// The number as it stands in the packet, in host byte order.
            pub $unsigned,
        );

        impl $name {
            /// The number `count` steps later, wrapping to 0 after the largest value.
            #[must_use]
            pub const fn wrapping_add(self, count: $unsigned) -> Self {
                Self(self.0.wrapping_add(count))
            }

            /// The number `count` steps earlier, wrapping to the largest value below 0.
            #[must_use]
            pub const fn wrapping_sub(self, count: $unsigned) -> Self {
                Self(self.0.wrapping_sub(count))
            }

            /// `self - earlier` in serial number arithmetic (RFC 1982): how many steps `self` lies
            /// after `earlier`, negative when it lies before it.
            ///
            /// Two numbers exactly half the number space apart have no order; the distance is then
            /// the smallest negative value in both directions.
            #[must_use]
            pub const fn distance(self, earlier: Self) -> $signed {
                self.0.wrapping_sub(earlier.0).cast_signed()
            }

            /// Whether `self` comes before `other`. False for equal numbers and for numbers exactly
            /// half the number space apart, which RFC 1982 §3.2 leaves unordered.
            #[must_use]
            pub const fn precedes(self, other: Self) -> bool {
                other.distance(self) > 0
            }

            /// Whether `self` comes after `other`. False for equal numbers and for numbers exactly
            /// half the number space apart, which RFC 1982 §3.2 leaves unordered.
            #[must_use]
            pub const fn follows(self, other: Self) -> bool {
                self.distance(other) > 0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

serial_number! {
    /// Transmission Sequence Number: numbers DATA chunks in one direction of an association
    /// (RFC 9260 §3.3.1, §1.6).
    Tsn, u32, i32
}

serial_number! {
    /// Stream Sequence Number: numbers ordered user messages within one stream (RFC 9260 §3.3.1,
    /// §6.5).
    Ssn, u16, i16
}

serial_number! {
    /// Message Identifier: numbers the ordered user messages of a stream, and the unordered ones for themselves, where they
    /// may be interleaved (RFC 8260 §2.1).
    Mid, u32, i32
}

serial_number! {
    /// Fragment Sequence Number: numbers the fragments of a user message (RFC 8260 §2.1).
    Fsn, u32, i32
}

serial_number! {
    /// Re-configuration Request Sequence Number: numbers the requests that one end makes to change
    /// streams (RFC 6525 §4.1).
    RequestNumber, u32, i32
}

serial_number! {
    /// Sequence Number of ASCONF and ASCONF-ACK chunks: numbers the requests that one end makes to change addresses
    /// (RFC 5061 §4.1.1).
    AsconfNumber, u32, i32
}

/// Stream Identifier: which stream of the association a user message belongs to (RFC 9260 §3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct StreamId(
    /// The identifier, counted from 0.
    pub u16,
);

impl From<u16> for StreamId {
    fn from(number: u16) -> StreamId {
        StreamId(number)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Verification Tag, also called Initiate Tag where it is announced (RFC 9260 §3.1, §8.5).
///
/// Zero is legal only in a packet that carries an INIT chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct VerificationTag(
    /// The tag in host byte order.
    pub u32,
);

impl fmt::Display for VerificationTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// Payload Protocol Identifier: passed from application to application (RFC 9260 §3.3.1).
///
/// SCTP itself never touches the field. Here it is the host-order number of the big-endian field,
/// as in the IANA registry (51 is a WebRTC string). 0 means that none was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Ppid(
    /// The identifier in host byte order.
    pub u32,
);

impl fmt::Display for Ppid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RFC 9260 1.6-1 1.6-2 1.6-4 1.6-5
    #[test]
    fn serial_arithmetic_wraps() {
        let last = Tsn(u32::MAX);
        assert_eq!(last.wrapping_add(1), Tsn(0));
        assert_eq!(Tsn(0).wrapping_sub(1), last);
        assert_eq!(Tsn(3).distance(Tsn(u32::MAX - 1)), 5);
        assert_eq!(Tsn(u32::MAX - 1).distance(Tsn(3)), -5);
        assert!(last.precedes(Tsn(0)) && Tsn(0).follows(last));
        assert!(!Tsn(9).precedes(Tsn(9)) && !Tsn(9).follows(Tsn(9)));
        assert!(Ssn(65_530).precedes(Ssn(3)) && Ssn(3).follows(Ssn(65_530)));
        assert_eq!(Ssn(3).distance(Ssn(65_530)), 9);
    }

    #[test]
    fn half_the_number_space_has_no_order() {
        let (a, b) = (Tsn(5), Tsn(5 + (1 << 31)));
        assert!(!a.precedes(b) && !a.follows(b) && !b.precedes(a) && !b.follows(a));
        assert_eq!(a.distance(b), i32::MIN);
        assert!(a.precedes(Tsn(4 + (1 << 31))) && a.follows(Tsn(6 + (1 << 31))));
    }

    #[test]
    fn tags_are_shown_in_hexadecimal() {
        assert_eq!(VerificationTag(0xbeef).to_string(), "0x0000beef");
        assert_eq!(format!("{}/{}/{}", Tsn(1), Ssn(2), StreamId(3)), "1/2/3");
        assert_eq!(Ppid(51).to_string(), "51");
    }
}
