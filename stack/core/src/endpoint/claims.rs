//! What one source of packets may ask of an endpoint: this many answers to INITs and restarts in a second, this many
//! associations.
//!
//! A source is an IPv4 address, or the first 64 bits of one of IPv6: a host's or a household's. The sources of
//! INITs may be forged, so that nothing is kept for each: they share a table of fixed size, and nobody can
//! tell which of them share a place. Associations are counted once a cookie has shown that the peer is there,
//! and only where there are any.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use crate::rng::Rng;
use crate::time::Time;

/// Places in a table of rates.
const PLACES: usize = 4096;
/// What a source saves up by asking nothing.
const BURST: Duration = Duration::from_secs(1);

/// The source that an address belongs to.
fn source(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(a) => Ipv6Addr::from_bits(a.to_bits() >> 64 << 64).into(),
    }
}

/// How often each source has asked lately.
#[derive(Debug, Default)]
struct Rates {
    /// Until when the requests so far have used up what was granted. Empty until the first one.
    spent: Vec<Time>,
}

impl Rates {
    /// Whether the source at this place may ask once more, if it may do so `rate` times in a second; 0 is no
    /// limit. After a second without any it may ask as often at once.
    fn admit(&mut self, now: Time, place: usize, rate: u32) -> bool {
        if rate == 0 {
            return true;
        }
        if self.spent.is_empty() {
            self.spent = vec![Time::ZERO; PLACES];
        }
        let spent = &mut self.spent[place % PLACES];
        let from = now.max(*spent);
        if from.since(now) > BURST {
            return false;
        }
        *spent = from + BURST / rate;
        true
    }
}

/// How often sources ask for what leaves no trace here: INITs and restarts.
#[derive(Debug)]
pub(super) struct RequestRates {
    /// A secret: nobody knows who shares his place.
    key: [u64; 2],
    inits: Rates,
    restarts: Rates,
}

impl RequestRates {
    pub(super) fn new(rng: &mut Rng) -> RequestRates {
        RequestRates {
            key: [rng.next_u64(), rng.next_u64()],
            inits: Rates::default(),
            restarts: Rates::default(),
        }
    }

    fn place(&self, address: IpAddr) -> usize {
        let mut hasher = DefaultHasher::new();
        (self.key, source(address)).hash(&mut hasher);
        hasher.finish() as usize
    }

    /// Whether an INIT from this address is answered, of which there may be `rate` in a second.
    pub(super) fn admit_init(&mut self, now: Time, address: IpAddr, rate: u32) -> bool {
        self.inits.admit(now, self.place(address), rate)
    }

    /// Whether a peer at this address may restart an association, `rate` times in a second.
    pub(super) fn admit_restart(&mut self, now: Time, address: IpAddr, rate: u32) -> bool {
        self.restarts.admit(now, self.place(address), rate)
    }
}

/// The associations of all sources that have any.
#[derive(Debug, Default)]
pub(super) struct Claims(BTreeMap<IpAddr, u32>);

impl Claims {
    /// A peer at this address has one more association.
    pub(super) fn add(&mut self, address: IpAddr) {
        *self.0.entry(source(address)).or_default() += 1;
    }

    /// And one less.
    pub(super) fn remove(&mut self, address: IpAddr) {
        let source = source(address);
        if let Some(count) = self.0.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&source);
            }
        }
    }

    /// How many the source has that this address belongs to.
    pub(super) fn of(&self, address: IpAddr) -> u32 {
        self.0.get(&source(address)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_its_rate_and_a_second_of_it_at_once() {
        let mut rates = Rates::default();
        let mut now = Time::from_millis(5000);
        let at_once = (0..5000).filter(|_| rates.admit(now, 7, 100)).count();
        assert!((100..=101).contains(&at_once), "{at_once}");
        let mut later = 0;
        for _ in 0..10_000 {
            now += Duration::from_millis(1);
            later += usize::from(rates.admit(now, 7, 100));
        }
        assert!((999..=1001).contains(&later), "{later} in ten seconds");
        assert!(rates.admit(now, 8, 100), "others have their own");
        assert!((0..5000).all(|_| rates.admit(now, 7, 0)), "0 is no limit");
    }

    #[test]
    fn a_source_is_a_host_or_a_network_of_ipv6() {
        let requests = RequestRates::new(&mut Rng::from_seed([1; 32]));
        let place = |text: &str| requests.place(text.parse().unwrap());
        assert_eq!(place("2001:db8::1"), place("2001:db8::ffff:1"));
        assert_ne!(place("2001:db8::1"), place("2001:db8:0:1::1"));
        assert_ne!(place("10.0.0.1"), place("10.0.0.2"));
        let other = RequestRates::new(&mut Rng::from_seed([2; 32]));
        assert_ne!(place("10.0.0.1"), other.place("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn forged_sources_take_no_memory() {
        let mut requests = RequestRates::new(&mut Rng::from_seed([1; 32]));
        for n in 0..100_000u32 {
            requests.admit_init(Time::from_millis(9), IpAddr::from(n.to_be_bytes()), 1000);
        }
        assert_eq!(requests.inits.spent.len(), PLACES);
    }
}
