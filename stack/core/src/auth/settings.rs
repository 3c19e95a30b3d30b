//! What an application chooses.

use tresse_wire::{ChunkType, HmacIdentifier};

use super::chunk_set::NEVER;
use super::keys::SharedKeys;
use super::mac::HmacAlgorithm;

/// How chunks are authenticated (RFC 4895), where
/// [`Extensions::authentication`](crate::Extensions::authentication) is on. It is settled when an association begins, but for
/// the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// Types of chunks that are taken from the peer only if they are authenticated (SCTP_AUTH_CHUNK, RFC 6458 §8.3.1). Default:
    /// none. [`ChunkType::DATA`] is for those who want to be sure of what is read. With [`ChunkType::ABORT`] nobody else can end the
    /// association, and a peer that has lost it can neither; with [`ChunkType::COOKIE_ECHO`] only who knows a key
    /// can open one, and a peer that has lost it can restart only with the keys of the old one (RFC 4895 §6.3). INIT, INIT
    /// ACK, SHUTDOWN COMPLETE and AUTH cannot be listed. Each packet with such a chunk costs 28 bytes with SHA-1, 40 with
    /// SHA-256, and the hash.
    pub chunks: Vec<ChunkType>,
    /// With what the peer may authenticate its chunks, the most preferable first (SCTP_HMAC_IDENT, RFC 6458 §8.1.17). SHA-1
    /// must be among them (RFC 4895 §6.1), and the peer may use the weakest one. Default: SHA-256, SHA-1.
    pub algorithms: Vec<HmacIdentifier>,
    /// The keys that an association begins with. Default: number 0, which is empty.
    pub keys: SharedKeys,
    /// `true` refuses a peer that does not authenticate chunks: who can change INIT or INIT ACK on the way could
    /// otherwise make both ends believe that the other one does not. Only keys that are not empty keep whoever can do
    /// that from taking part in the association. Default `false`: without the peer's consent, chunks go unauthenticated
    /// both ways.
    pub required: bool,
}

impl Default for Authentication {
    fn default() -> Self {
        Authentication {
            chunks: Vec::new(),
            algorithms: vec![HmacIdentifier::SHA_256, HmacIdentifier::SHA_1],
            keys: SharedKeys::default(),
            required: false,
        }
    }
}

impl Authentication {
    /// Checks ranges; says what is wrong.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(kind) = self.chunks.iter().find(|kind| NEVER.contains(kind)) {
            return Err(format!("authentication.chunks has {kind}, which cannot be authenticated"));
        }
        if self.chunks.len() > 256 {
            return Err("authentication.chunks has more types than there are".to_owned());
        }
        if let Some(other) = self.algorithms.iter().find(|one| HmacAlgorithm::of(**one).is_none()) {
            return Err(format!("authentication.algorithms has {other}, which is not known"));
        }
        if !self.algorithms.contains(&HmacIdentifier::SHA_1) || self.algorithms.len() > 2 {
            return Err("authentication.algorithms must have SHA-1, and each but once".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RFC 4895 3.2-5
    #[test]
    fn what_cannot_be_is_named() {
        let fails = |change: fn(&mut Authentication)| {
            let mut settings = Authentication::default();
            change(&mut settings);
            settings.check().unwrap_err()
        };
        assert_eq!(Authentication::default().check(), Ok(()));
        for kind in NEVER {
            let settings = Authentication { chunks: vec![kind], ..Authentication::default() };
            assert!(settings.check().unwrap_err().contains(&kind.to_string()));
        }
        assert!(fails(|s| s.algorithms = vec![HmacIdentifier::SHA_256]).contains("SHA-1"));
        assert!(fails(|s| s.algorithms.push(HmacIdentifier(2))).contains("HMAC 2"));
        assert!(fails(|s| s.algorithms.push(HmacIdentifier::SHA_1)).contains("once"));
        assert!(fails(|s| s.chunks = vec![ChunkType::DATA; 257]).contains("more types"));
    }
}
