//! The hash functions of authentication (RFC 4895 §3.3), which its chunk, a parameter and an error cause name.

use crate::code_points::code_points;
use crate::list::List;

code_points! {
    /// HMAC Identifier: which hash function an HMAC is made with (RFC 4895 §3.3, table 2).
    HmacIdentifier(u16), "HMAC {}";

    /// SHA-1, which every endpoint with authentication supports.
    SHA_1 = 1, "SHA-1";
    /// SHA-256.
    SHA_256 = 3, "SHA-256";
}

impl From<u16> for HmacIdentifier {
    fn from(number: u16) -> HmacIdentifier {
        HmacIdentifier(number)
    }
}

impl HmacIdentifier {
    /// Bytes of an HMAC, `None` if the hash function is not known here.
    #[must_use]
    pub const fn hmac_len(self) -> Option<usize> {
        match self {
            Self::SHA_1 => Some(20),
            Self::SHA_256 => Some(32),
            _ => None,
        }
    }
}

/// HMAC Identifiers of a Requested HMAC Algorithm parameter, the most preferable one first.
pub type HmacIdentifiers<'a> = List<'a, HmacIdentifier>;
