//! HMACs (RFC 2104) of chunks: the seam to the libraries that compute them.

//= RFC 4895 3.3-6 6.1-7 6.2-6
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;
use tresse_wire::HmacIdentifier;

/// A hash function that is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HmacAlgorithm {
    Sha1,
    Sha256,
}

impl HmacAlgorithm {
    pub(super) const fn of(identifier: HmacIdentifier) -> Option<HmacAlgorithm> {
        match identifier {
            HmacIdentifier::SHA_1 => Some(HmacAlgorithm::Sha1),
            HmacIdentifier::SHA_256 => Some(HmacAlgorithm::Sha256),
            _ => None,
        }
    }

    pub(super) const fn identifier(self) -> HmacIdentifier {
        match self {
            HmacAlgorithm::Sha1 => HmacIdentifier::SHA_1,
            HmacAlgorithm::Sha256 => HmacIdentifier::SHA_256,
        }
    }
}

/// HMACs with one key.
#[derive(Clone)]
pub(super) enum Keyed {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
}

impl std::fmt::Debug for Keyed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keyed(..)")
    }
}

/// An HMAC.
pub(super) struct Tag {
    bytes: [u8; 32],
    len: usize,
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Keyed {
    pub(super) fn new(algorithm: HmacAlgorithm, key: &[u8]) -> Keyed {
        const ANY: &str = "HMAC takes keys of any length (RFC 2104)";
        match algorithm {
            HmacAlgorithm::Sha1 => Keyed::Sha1(KeyInit::new_from_slice(key).expect(ANY)),
            HmacAlgorithm::Sha256 => Keyed::Sha256(KeyInit::new_from_slice(key).expect(ANY)),
        }
    }

    /// The HMAC of `data`.
    pub(super) fn sign(&self, data: &[u8]) -> Tag {
        let mut tag = Tag { bytes: [0; 32], len: 0 };
        let mut take = |bytes: &[u8]| {
            tag.len = bytes.len();
            tag.bytes[..bytes.len()].copy_from_slice(bytes);
        };
        match self.clone() {
            Keyed::Sha1(mac) => take(&mac.chain_update(data).finalize().into_bytes()),
            Keyed::Sha256(mac) => take(&mac.chain_update(data).finalize().into_bytes()),
        }
        tag
    }

    /// Whether `tag` is the HMAC of these parts, one after the other; in constant time.
    pub(super) fn verify(&self, parts: [&[u8]; 3], tag: &[u8]) -> bool {
        fn all<M: Mac>(mac: M, parts: [&[u8]; 3], tag: &[u8]) -> bool {
            parts
                .into_iter()
                .fold(mac, |mac, part| mac.chain_update(part))
                .verify_slice(tag)
                .is_ok()
        }
        match self.clone() {
            Keyed::Sha1(mac) => all(mac, parts, tag),
            Keyed::Sha256(mac) => all(mac, parts, tag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digit = |i| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digit).collect()
    }

    fn check(algorithm: HmacAlgorithm, key: &[u8], data: &[u8], expected: &str) {
        let (keyed, expected) = (Keyed::new(algorithm, key), hex(expected));
        assert_eq!(keyed.sign(data).as_ref(), expected);
        let (head, tail) = data.split_at(data.len() / 2);
        assert!(keyed.verify([head, &[], tail], &expected));
        for i in 0..expected.len() {
            let mut other = expected.clone();
            other[i] ^= 0x80;
            assert!(!keyed.verify([data, &[], &[]], &other), "byte {i}");
            assert!(!keyed.verify([data, &[], &[]], &expected[..i]), "cut at {i}");
        }
        assert!(!keyed.verify([data, &[], &[0]], &expected));
    }

    //= RFC 4895 3.3-6 6.2-6
    /// RFC 2202 §3, test cases 1 to 3, 6 and 7.
    #[test]
    fn hmac_sha_1_has_the_values_of_rfc_2202() {
        let sha1 = |key: &[u8], data: &[u8], digest| check(HmacAlgorithm::Sha1, key, data, digest);
        sha1(&[0x0b; 20], b"Hi There", "b617318655057264e28bc0b6fb378c8ef146be00");
        let what = b"what do ya want for nothing?";
        sha1(b"Jefe", what, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
        sha1(&[0xaa; 20], &[0xdd; 50], "125d7342b9ac11cd91a39af48aa17b4f63f175d3");
        let larger = b"Test Using Larger Than Block-Size Key - Hash Key First";
        sha1(&[0xaa; 80], larger, "aa4ae5e15272d00e95705637ce8a3b55ed402112");
        let both = b"Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data";
        sha1(&[0xaa; 80], both, "e8e99d0f45237d786d6bbaa7965c7808bbff1a91");
    }

    /// RFC 4231 §4.2 to §4.4 and §4.7.
    #[test]
    fn hmac_sha_256_has_the_values_of_rfc_4231() {
        let sha256 =
            |key: &[u8], data: &[u8], digest| check(HmacAlgorithm::Sha256, key, data, digest);
        let first = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        sha256(&[0x0b; 20], b"Hi There", first);
        let second = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        sha256(b"Jefe", b"what do ya want for nothing?", second);
        let third = "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe";
        sha256(&[0xaa; 20], &[0xdd; 50], third);
        let larger = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let sixth = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        sha256(&[0xaa; 131], larger, sixth);
    }

    #[test]
    fn algorithms_have_their_numbers() {
        for algorithm in [HmacAlgorithm::Sha1, HmacAlgorithm::Sha256] {
            let identifier = algorithm.identifier();
            assert_eq!(HmacAlgorithm::of(identifier), Some(algorithm));
            let len = Keyed::new(algorithm, b"").sign(b"").len;
            assert_eq!(identifier.hmac_len(), Some(len));
        }
        assert_eq!(HmacAlgorithm::of(HmacIdentifier(2)), None);
        assert_eq!(format!("{:?}", Keyed::new(HmacAlgorithm::Sha1, b"secret")), "Keyed(..)");
    }
}
