//! The State Cookie (RFC 9260 §5.1.3, §5.1.5): all that is needed to set up an association,
//! authenticated by a MAC, so that nothing is kept for an INIT.
//!
//! Layout, big-endian: version 1 byte, key number 1, ports 2 + 2, local tag 4, peer tag 4,
//! tie tags 4 + 4, our initial TSN 4, the peer's initial TSN 4, its a_rwnd 4, OS and MIS of the
//! peer 2 + 2, OS and MIS of ours 2 + 2, creation time 8, lifespan in ms 4, extensions that the
//! peer offers 1, whether it has an adaptation layer (1), more addresses (2), ECN (4) and ASCONF (128) 1, the indication of
//! the former, if there is one, 4, which address is to be the primary one (if flag 8 says so) 1, number of addresses 1, addresses (family 1, 4 or 16 bytes), whether both ends
//! authenticate chunks 1 and, if so, what ours and the peer's say of it in INIT and INIT ACK (RFC 4895 §6.3; never a shared key),
//! HMAC-SHA-256, the first 16 bytes (RFC 2104 §5). It is short, for an INIT ACK must not be much longer
//! than its INIT.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

//= RFC 9260 5.1.3-3
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tresse_wire::{Tsn, VerificationTag};

use crate::association::AcceptedCookie;
use crate::auth::Offer;
use crate::handshake::{Capabilities, PeerParameters};
use crate::path::MAX_PATHS;
use crate::rng::Rng;
use crate::time::Time;

const VERSION: u8 = 7;
const MAC_LEN: usize = 16;
//= RFC 9260 5.1.3-5 5.1.5-1
/// RFC 9260 §5.1.3: the secret key SHOULD be changed reasonably frequently, e.g. hourly.
const KEY_LIFE: Duration = Duration::from_secs(3600);

//= RFC 9260 3.3.3.1.1-1 5.1-5 5.1.3-1 5.1.3-2
/// What a cookie holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    pub(crate) local_tag: VerificationTag,
    /// Tie tags of an association that exists, 0 otherwise (§5.2.2).
    pub(crate) local_tie_tag: u32,
    pub(crate) peer_tie_tag: u32,
    pub(crate) initial_tsn: Tsn,
    pub(crate) peer: PeerParameters,
    /// What our INIT ACK says of authenticated chunks, if the peer has offered that, too.
    pub(crate) offer: Option<Box<Offer>>,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    pub(crate) created: Time,
    pub(crate) life: Duration,
}

impl Cookie {
    /// How long it has been valid beyond its life, if it has expired.
    pub(crate) fn staleness(&self, now: Time) -> Option<Duration> {
        let age = now.since(self.created);
        (age > self.life).then(|| age - self.life)
    }

    pub(crate) fn accepted(&self) -> AcceptedCookie {
        AcceptedCookie {
            local_tag: self.local_tag,
            initial_tsn: self.initial_tsn,
            peer: self.peer.clone(),
            offer: self.offer.clone(),
            created: self.created,
        }
    }

    //= RFC 4895 6.3-15
    //= RFC 9260 3.3.11-3 5.1.3-7 12.4-5
    fn encode(&self, key: u8) -> Vec<u8> {
        let mut b = Vec::with_capacity(128);
        b.extend([VERSION, key]);
        for port in [self.local_port, self.remote_port] {
            b.extend(port.to_be_bytes());
        }
        let p = &self.peer;
        for word in [
            self.local_tag.0,
            p.tag.0,
            self.local_tie_tag,
            self.peer_tie_tag,
            self.initial_tsn.0,
            p.initial_tsn.0,
            p.a_rwnd,
        ] {
            b.extend(word.to_be_bytes());
        }
        for n in
            [p.outbound_streams, p.inbound_streams, self.outbound_streams, self.inbound_streams]
        {
            b.extend(n.to_be_bytes());
        }
        b.extend(self.created.as_nanos().to_be_bytes());
        let life = u32::try_from(self.life.as_millis()).unwrap_or(u32::MAX);
        b.extend(life.to_be_bytes());
        b.push(p.extensions.to_bits());
        let addresses = &p.addresses[..p.addresses.len().min(MAX_PATHS)];
        let primary = p.primary.and_then(|primary| addresses.iter().position(|a| *a == primary));
        b.push(
            u8::from(p.adaptation.is_some())
                | u8::from(p.omitted) << 1
                | u8::from(p.extensions.chosen.ecn) << 2
                | u8::from(primary.is_some()) << 3
                | u8::from(p.extensions.chosen.packet_drop_reports) << 4
                | u8::from(p.extensions.chosen.address_reconfiguration) << 7,
        );
        b.extend(p.adaptation.into_iter().flat_map(u32::to_be_bytes));
        b.extend(primary.map(|index| index as u8));
        b.push(addresses.len() as u8);
        for address in addresses {
            match address {
                IpAddr::V4(a) => {
                    b.push(4);
                    b.extend(a.octets());
                }
                IpAddr::V6(a) => {
                    b.push(6);
                    b.extend(a.octets());
                }
            }
        }
        let offers = self.offer.as_ref().zip(p.offer.as_ref());
        b.push(u8::from(offers.is_some()));
        if let Some((ours, theirs)) = offers {
            ours.encode(&mut b);
            theirs.encode(&mut b);
        }
        b
    }

    fn decode(bytes: &[u8]) -> Option<Cookie> {
        let mut r = Reader(bytes);
        let [_version, _key] = r.array()?;
        let (local_port, remote_port) = (r.u16()?, r.u16()?);
        let (local_tag, peer_tag) = (VerificationTag(r.u32()?), VerificationTag(r.u32()?));
        let (local_tie_tag, peer_tie_tag) = (r.u32()?, r.u32()?);
        let (initial_tsn, peer_initial_tsn) = (Tsn(r.u32()?), Tsn(r.u32()?));
        let a_rwnd = r.u32()?;
        let (peer_os, peer_mis) = (r.u16()?, r.u16()?);
        let (outbound_streams, inbound_streams) = (r.u16()?, r.u16()?);
        let created = Time::from_nanos(u64::from_be_bytes(r.array()?));
        let life = Duration::from_millis(r.u32()?.into());
        let [extensions, flags] = r.array()?;
        let adaptation = if flags & 1 != 0 { Some(r.u32()?) } else { None };
        let primary = if flags & 8 != 0 { Some(r.array::<1>()?[0]) } else { None };
        let [n] = r.array()?;
        let mut addresses = Vec::with_capacity(usize::from(n).min(MAX_PATHS));
        for _ in 0..n {
            addresses.push(match r.array()? {
                [4] => Ipv4Addr::from(r.array::<4>()?).into(),
                [6] => Ipv6Addr::from(r.array::<16>()?).into(),
                [_] => return None,
            });
        }
        let (offer, peer_offer) = match r.array()? {
            [0] => (None, None),
            _ => (Some(Box::new(r.offer()?)), Some(Box::new(r.offer()?))),
        };
        let mut extensions = Capabilities::from_bits(extensions);
        extensions.chosen.authentication = peer_offer.is_some();
        extensions.chosen.address_reconfiguration = flags & 128 != 0;
        extensions.chosen.ecn = flags & 4 != 0;
        extensions.chosen.packet_drop_reports = flags & 16 != 0;
        r.0.is_empty().then_some(Cookie {
            local_port,
            remote_port,
            local_tag,
            local_tie_tag,
            peer_tie_tag,
            initial_tsn,
            peer: PeerParameters {
                tag: peer_tag,
                initial_tsn: peer_initial_tsn,
                a_rwnd,
                outbound_streams: peer_os,
                inbound_streams: peer_mis,
                primary: primary.and_then(|index| addresses.get(usize::from(index)).copied()),
                addresses,
                omitted: flags & 2 != 0,
                extensions,
                adaptation,
                offer: peer_offer,
            },
            offer,
            outbound_streams,
            inbound_streams,
            created,
            life,
        })
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk()?;
        self.0 = tail;
        Some(*head)
    }
    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }
    fn offer(&mut self) -> Option<Offer> {
        let (offer, rest) = Offer::decode(self.0)?;
        self.0 = rest;
        Some(offer)
    }
}

/// The secret keys: the current one, and the one before it for cookies still under way.
pub(crate) struct CookieKeys {
    current: [u8; 32],
    previous: Option<[u8; 32]>,
    number: u8,
    since: Option<Time>,
}

impl std::fmt::Debug for CookieKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieKeys(..)")
    }
}

impl CookieKeys {
    //= RFC 9260 5.1.3-4 14.1-1
    pub(crate) fn new(rng: &mut Rng) -> CookieKeys {
        let mut current = [0; 32];
        rng.fill(&mut current);
        CookieKeys { current, previous: None, number: 0, since: None }
    }

    fn rotate(&mut self, now: Time, rng: &mut Rng) {
        let since = *self.since.get_or_insert(now);
        if now.since(since) >= KEY_LIFE {
            self.previous = Some(self.current);
            rng.fill(&mut self.current);
            self.number = self.number.wrapping_add(1);
            self.since = Some(now);
        }
    }

    /// Encodes and signs a cookie.
    pub(crate) fn seal(&mut self, now: Time, rng: &mut Rng, cookie: &Cookie) -> Vec<u8> {
        self.rotate(now, rng);
        let mut bytes = cookie.encode(self.number);
        let mac = mac(&self.current, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&mac[..MAC_LEN]);
        bytes
    }

    /// Verifies and decodes a cookie, whatever its age; `None` if it is not ours, altered, or made with a key that is forgotten.
    pub(crate) fn open(&self, bytes: &[u8]) -> Option<Cookie> {
        let at = bytes.len().checked_sub(MAC_LEN)?;
        let (content, tag) = bytes.split_at(at);
        let key = match content {
            [VERSION, n, ..] if *n == self.number => &self.current,
            [VERSION, n, ..] if n.wrapping_add(1) == self.number => self.previous.as_ref()?,
            _ => return None,
        };
        // Constant-time comparison.
        mac(key, content).verify_truncated_left(tag).ok()?;
        Cookie::decode(content)
    }
}

fn mac(key: &[u8; 32], content: &[u8]) -> Hmac<Sha256> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length (RFC 2104)");
    mac.update(content);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Authentication;
    use tresse_wire::ChunkType;

    fn cookie() -> Cookie {
        Cookie {
            local_port: 5000,
            remote_port: 6000,
            local_tag: VerificationTag(1),
            local_tie_tag: 3,
            peer_tie_tag: 4,
            initial_tsn: Tsn(u32::MAX),
            peer: PeerParameters {
                tag: VerificationTag(2),
                initial_tsn: Tsn(7),
                a_rwnd: 65_536,
                outbound_streams: 10,
                inbound_streams: 20,
                omitted: true,
                addresses: vec!["10.0.0.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
                extensions: Capabilities {
                    retransmit_bit: true,
                    nr_sack: true,
                    ..Capabilities::NONE
                },
                adaptation: Some(9),
                primary: Some("2001:db8::1".parse().unwrap()),
                offer: None,
            },
            offer: None,
            outbound_streams: 16,
            inbound_streams: 65_535,
            created: Time::from_millis(5),
            life: Duration::from_secs(60),
        }
    }

    //= RFC 4895 6.1-8 6.3-15
    #[test]
    fn it_has_what_both_ends_say_of_authentication_and_no_key() {
        let mut rng = Rng::from_seed([9; 32]);
        let mut settings = Authentication::default();
        settings.keys.set(1, &[0xa5; 24]).unwrap();
        settings.keys.activate(1).unwrap();
        settings.chunks = vec![ChunkType::DATA, ChunkType::COOKIE_ECHO];
        let mut made = || Some(Box::new(Offer::new(&settings, &mut rng)));
        let mut cookie = Cookie { offer: made(), ..cookie() };
        cookie.peer.offer = made();
        cookie.peer.extensions.chosen.authentication = true;
        let mut keys = CookieKeys::new(&mut rng);
        let sealed = keys.seal(Time::ZERO, &mut rng, &cookie);
        assert_eq!(keys.open(&sealed), Some(cookie));
        assert!(!sealed.windows(4).any(|bytes| bytes == [0xa5; 4]));
    }

    //= RFC 9260 3.3.3.1.1-1 5.1-5 5.1.3-1 5.1.3-2 5.1.3-3 5.1.3-4 14.1-1
    #[test]
    fn opens_what_it_sealed_and_nothing_else() {
        let mut rng = Rng::from_seed([7; 32]);
        let mut keys = CookieKeys::new(&mut rng);
        let sealed = keys.seal(Time::ZERO, &mut rng, &cookie());
        assert_eq!(keys.open(&sealed), Some(cookie()));
        for i in 0..sealed.len() {
            let mut forged = sealed.clone();
            forged[i] ^= 1;
            assert_eq!(keys.open(&forged), None, "byte {i}");
            assert_eq!(keys.open(&sealed[..i]), None, "cut at {i}");
        }
        let mut longer = sealed.clone();
        longer.push(0);
        assert_eq!(keys.open(&longer), None);
        let other = CookieKeys::new(&mut rng);
        assert_eq!(other.open(&sealed), None);
    }

    //= RFC 9260 5.1.3-5 5.1.5-1
    #[test]
    fn the_previous_key_still_opens_and_older_ones_do_not() {
        let mut rng = Rng::from_seed([8; 32]);
        let mut keys = CookieKeys::new(&mut rng);
        let first = keys.seal(Time::ZERO, &mut rng, &cookie());
        let hour = Duration::from_secs(3600);
        let second = keys.seal(Time::ZERO + hour, &mut rng, &cookie());
        assert!(keys.open(&first).is_some() && keys.open(&second).is_some());
        keys.seal(Time::ZERO + hour * 2, &mut rng, &cookie());
        assert!(keys.open(&first).is_none() && keys.open(&second).is_some());
    }

    #[test]
    fn staleness_begins_after_its_life() {
        let c = cookie();
        assert_eq!(c.staleness(Time::from_millis(60_005)), None);
        assert_eq!(c.staleness(Time::from_millis(60_006)), Some(Duration::from_millis(1)));
    }
}
