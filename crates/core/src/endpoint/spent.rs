//! Cookies that have served: a COOKIE ECHO that the network kept or doubled must not open the
//! association again that it opened once (RFC 9260 §5.3.1).

use std::collections::{BTreeSet, VecDeque};

use tresse_wire::VerificationTag;

use super::cookie::Cookie;
use crate::time::Time;

/// So many cookies are remembered at most; of a larger crowd the oldest are forgotten. Each took
/// its sender a whole handshake.
const MAX_SPENT: usize = 65_536;

/// Our verification tags in all cookies that belong to an association, while they are valid.
#[derive(Debug, Default)]
pub(super) struct SpentCookies {
    tags: BTreeSet<u32>,
    /// Until when each cookie is valid, in the order of use.
    expiry: VecDeque<(Time, u32)>,
}

impl SpentCookies {
    /// The cookie was used, or can be used for an association that exists only.
    pub(super) fn add(&mut self, now: Time, cookie: &Cookie) {
        while let Some(&(until, tag)) = self.expiry.front()
            && (until < now || self.expiry.len() >= MAX_SPENT)
        {
            self.expiry.pop_front();
            self.tags.remove(&tag);
        }
        if self.tags.insert(cookie.local_tag.0) {
            self.expiry.push_back((cookie.created + cookie.life, cookie.local_tag.0));
        }
    }

    /// Whether the association that a cookie with this tag of ours belongs to came before.
    pub(super) fn contains(&self, tag: VerificationTag) -> bool {
        self.tags.contains(&tag.0)
    }
}
