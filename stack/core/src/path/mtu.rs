//! The path MTU, and what a packet holds that fits it (RFC 9260 §7.3, RFC 1191, RFC 8201).

use std::net::IpAddr;
use std::time::Duration;

use tresse_wire::{COMMON_HEADER_LEN, IpFragments};

use super::HeartbeatInfo;
use super::mtu_search::{Finding, LostChunk, Padding, SMALLEST, Search, Verdict};
use crate::ids::{MtuCause, MtuSearchState};
use crate::mtu_discovery::MtuDiscovery;
use crate::recovery::RoundTrip;
use crate::settings::PathSettings;
use crate::time::Time;

/// The smallest MTU that a link can have (RFC 791 §3.2, RFC 8200 §5), for IPv4 and IPv6. A router that reports
/// less is wrong (RFC 1191 §3, RFC 8201 §4).
const LEAST: (usize, usize) = (68, 1280);

/// MTUs of common links, tried in turn when a router did not name its own (RFC 1191 §7).
const PLATEAUS: [usize; 7] = [4352, 2002, 1492, 1006, 576, 296, 68];

/// What IP and UDP take of a packet to one address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Headers {
    pub(super) ipv6: bool,
    pub(super) udp: bool,
}

impl Headers {
    pub(super) const fn new(remote: IpAddr, encapsulation: Option<u16>) -> Headers {
        Headers { ipv6: remote.is_ipv6(), udp: encapsulation.is_some() }
    }

    //= RFC 6951 5.6-1 5.6-2
    //= RFC 8899 5-2
    /// Bytes left for an SCTP packet in an IP packet of `mtu` bytes, a multiple of 4.
    pub(super) const fn max_packet(self, mtu: usize) -> usize {
        (mtu - self.bytes()) & !3
    }

    /// Bytes of the IP packet with an SCTP packet of this many. Packets are of whole words: none is larger for a base of three bytes
    /// more.
    fn ip_size(self, len: usize, base: usize) -> usize {
        let size = len + self.bytes();
        if len >= self.max_packet(base) { size.max(base) } else { size }
    }

    const fn bytes(self) -> usize {
        let ip = if self.ipv6 { 40 } else { 20 };
        let udp = if self.udp { 8 } else { 0 };
        ip + udp
    }
}

/// Path MTU of one path.
#[derive(Debug)]
pub(crate) struct Mtu {
    /// Bytes of the largest IP packet.
    bytes: usize,
    /// It is even smaller than what packets are made for: routers fragment them.
    beneath: bool,
    /// When a larger one may be tried, after ICMP has lowered it.
    raise_at: Option<Time>,
    /// Bytes of the largest SCTP packet that is made: one that fits, less what is kept free.
    max_packet: usize,
    /// It is as set, whatever ICMP says.
    fixed: bool,
    /// Bytes that are kept free in each packet, for an AUTH chunk (RFC 4895).
    reserve: usize,
    /// What is found out by probes, if that is wanted.
    search: Option<Search>,
    /// What changed it last.
    cause: MtuCause,
    told: MtuTold,
}

/// What those who trace are told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MtuTold {
    pub(crate) bytes: usize,
    pub(crate) state: Option<MtuSearchState>,
}

impl MtuTold {
    fn of(bytes: usize, search: Option<&Search>) -> MtuTold {
        MtuTold { bytes, state: search.map(Search::state) }
    }
}

impl Mtu {
    pub(super) fn new(settings: &PathSettings, headers: Headers) -> Mtu {
        let search = Search::of(settings);
        let bytes = search.as_ref().map_or(settings.mtu, Search::base);
        Mtu {
            bytes,
            beneath: false,
            raise_at: None,
            max_packet: headers.max_packet(bytes),
            fixed: settings.mtu_discovery == MtuDiscovery::Off,
            reserve: 0,
            told: MtuTold::of(bytes, search.as_ref()),
            search,
            cause: MtuCause::Configured,
        }
    }

    /// Nothing is known any more, but for what was told.
    pub(super) fn anew(&self, settings: &PathSettings, headers: Headers) -> Mtu {
        Mtu { told: self.told, ..Mtu::new(settings, headers) }
    }

    /// Other settings hold. What is known to be too large is not believed to fit because of that, unless nobody is to find out.
    pub(super) fn configure(&mut self, now: Time, settings: &PathSettings, headers: Headers) {
        let is_known = self.search.is_some() || self.raise_at.is_some();
        let before = self.bytes;
        let (beneath, reserve) = (self.beneath, self.reserve);
        *self = Mtu { beneath, ..self.anew(settings, headers) };
        self.reserve(reserve, headers);
        if self.fixed {
            self.beneath = false;
        } else if is_known && self.search.is_none() && before < self.bytes {
            self.raise_at = Some(now + MtuDiscovery::RAISE_AFTER);
            self.set(before, headers, MtuCause::Configured);
        }
    }

    /// Packets go another way from now on, of which nothing is known: one that is searched begins with the base. Else what a
    /// router said of the last way holds on, since the next one may say nothing.
    pub(super) fn start_over(&mut self, now: Time, settings: &PathSettings, headers: Headers) {
        if let Some(search) = &self.search {
            let search = search.start_over(now, settings);
            let (reserve, before) = (self.reserve, self.bytes);
            *self = Mtu { search, ..self.anew(settings, headers) };
            self.reserve(reserve, headers);
            self.set(before.min(self.bytes), headers, MtuCause::Source);
        }
    }

    /// Bytes of the largest IP packet.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What has changed since that was asked last: as it was, as it is, and why.
    pub(crate) fn news(&mut self) -> Option<(MtuTold, MtuTold, MtuCause)> {
        let told = MtuTold::of(self.bytes, self.search.as_ref());
        let before = std::mem::replace(&mut self.told, told);
        (told != before).then_some((before, told, self.cause))
    }

    /// Bytes of the largest SCTP packet that is made; one that fits, less what is kept free.
    #[inline]
    pub(crate) const fn max_packet(&self) -> usize {
        self.max_packet
    }

    /// Bytes of the largest SCTP packet with a report of what has arrived. Nobody tells whether it gets through, and a peer that
    /// hears nothing sends all again: it is of a size that no path is below, as far as packets are made. The blocks that have no room
    /// follow when those before them are one.
    pub(super) fn max_report(&self, headers: Headers) -> usize {
        let Some(search) = &self.search else { return self.max_packet };
        let least = if headers.ipv6 { search.base() } else { SMALLEST };
        self.max_packet.min(self.made(headers, least))
    }

    /// Path MTU Data Chunk Size: bytes for chunks in one packet.
    #[inline]
    pub(crate) const fn pmdcs(&self) -> usize {
        self.max_packet - COMMON_HEADER_LEN
    }

    //= RFC 9260 6.9-6
    //= RFC 8899 3-1
    /// Whether IP may fragment a packet of this many bytes.
    ///
    /// RFC 9260 §6.9: what was fragmented for a larger PMTU MUST be left to IP fragmentation. RFC 1191
    /// §6.5 allows to clear DF where the path MTU is too small to be used.
    pub(crate) const fn fragments(&self, len: usize) -> IpFragments {
        if len > self.max_packet + self.reserve {
            IpFragments::Needed
        } else if self.beneath || self.fixed {
            IpFragments::Allowed
        } else {
            IpFragments::Forbidden
        }
    }

    /// When a larger one may be tried, or the next probe is due.
    #[inline]
    pub(crate) fn due(&self) -> Option<Time> {
        match &self.search {
            Some(search) => search.due(),
            None => self.raise_at,
        }
    }

    /// Probes find it out.
    #[inline]
    pub(crate) const fn is_searched(&self) -> bool {
        self.search.is_some()
    }

    /// Whether packets of the base get through is what is being found out.
    pub(crate) fn is_doubtful(&self) -> bool {
        let state = self.search.as_ref().map(Search::state);
        matches!(state, Some(MtuSearchState::Base | MtuSearchState::Error))
    }

    /// The peer has been reached: the search begins, if larger packets are `wanted`, and else as soon as there is a reason.
    pub(super) fn reach(&mut self, now: Time, wanted: bool) {
        if let Some(search) = &mut self.search {
            search.reach(now, wanted);
        }
    }

    /// Larger packets would be of use.
    pub(super) fn want_larger(&mut self, now: Time) {
        if let Some(search) = &mut self.search {
            search.want(now);
        }
    }

    /// An SCTP packet of this many bytes leaves, which no router may fragment.
    #[inline]
    pub(super) fn on_packet(&mut self, now: Time, len: usize, headers: Headers) {
        if let Some(search) = &mut self.search {
            search.on_packet(now, len + headers.bytes());
        }
    }

    /// A chunk is lost, perhaps for the size of its packet. Whether packets larger than the base do not get through.
    pub(super) fn on_lost(&mut self, now: Time, lost: LostChunk, headers: Headers) -> bool {
        let today = self.bytes;
        let finding = self.search.as_mut().and_then(|search| {
            let size = headers.ip_size(COMMON_HEADER_LEN + lost.size, search.base());
            search.on_lost(now, LostChunk { size, ..lost }, today)
        });
        self.believe(finding, headers)
    }

    /// T3-rtx says that a chunk is lost, or the peer had no room for it.
    pub(super) fn on_dropped(&mut self, now: Time, lost: LostChunk, headers: Headers) {
        let today = self.bytes;
        if let Some(search) = &mut self.search {
            let size = headers.ip_size(COMMON_HEADER_LEN + lost.size, search.base());
            search.on_dropped(now, LostChunk { size, ..lost }, today);
        }
    }

    /// Something was not answered, or given up, that may be large. Whether packets larger than the base do not get through.
    pub(super) fn doubt(&mut self, now: Time, headers: Headers) -> bool {
        let size = self.bytes;
        let finding = self.search.as_mut().and_then(|search| search.doubt(now, size));
        self.believe(finding, headers)
    }

    /// A chunk was given up in flight, where RTO is `rto`. Whether packets larger than the base do not get through.
    pub(super) fn on_given_up(&mut self, now: Time, rto: Duration, headers: Headers) -> bool {
        let size = self.bytes;
        let finding = self.search.as_mut().and_then(|search| search.on_given_up(now, rto, size));
        self.believe(finding, headers)
    }

    fn believe(&mut self, finding: Option<Finding>, headers: Headers) -> bool {
        if finding == Some(Finding::TooLarge) {
            self.follow(Some(Verdict::TooLarge { proved: 0 }), headers);
        }
        finding == Some(Finding::Hole)
    }

    /// Nothing is probed before `again`.
    pub(crate) fn suspend_search(&mut self, again: Option<Time>) {
        if let Some(search) = &mut self.search {
            search.suspend(again);
        }
    }

    /// The path answers again, to what was sent at `sent`: a search that waits for that goes on.
    pub(super) fn resume_search(&mut self, sent: Time) {
        if let Some(search) = &mut self.search {
            search.resume(sent);
        }
    }

    /// A timer of the search has expired: the size of the IP packet with the probe that leaves, if one does.
    pub(super) fn search_on(&mut self, now: Time, headers: Headers) -> Option<usize> {
        let (verdict, probe) = self.search.as_mut()?.on_timer(now, self.bytes);
        self.follow(verdict, headers);
        probe
    }

    /// A probe of this size leaves.
    pub(crate) fn on_probe(
        &mut self,
        now: Time,
        info: HeartbeatInfo,
        size: usize,
        times: [Option<Duration>; 2],
    ) {
        if let Some(search) = &mut self.search {
            search.on_sent(now, info, size, times);
        }
    }

    /// How the next probe is padded.
    pub(crate) fn padding(&self) -> Padding {
        self.search.as_ref().map_or(Padding::Chunk, Search::padding)
    }

    /// Data was acknowledged that left at `sent` in an SCTP packet of this many bytes, which no router may have fragmented.
    pub(super) fn on_data(&mut self, now: Time, sent: Time, len: usize, headers: Headers) {
        let Some(search) = self.search.as_mut().filter(|_| !self.beneath) else { return };
        let size = headers.ip_size(len, search.base());
        let verdict = search.on_data(now, sent, size);
        self.follow(verdict, headers);
    }

    /// The probe does not leave: there is no room for it now.
    pub(crate) fn postpone_probe(&mut self, now: Time, rto: Duration) {
        if let Some(search) = &mut self.search {
            search.postpone(now, rto);
        }
    }

    /// Whether `info` stands in a probe.
    pub(crate) fn is_probed_by(&self, info: HeartbeatInfo) -> bool {
        self.search.as_ref().is_some_and(|search| search.knows(info))
    }

    /// The probe with `info` has arrived.
    pub(super) fn on_answer(
        &mut self,
        now: Time,
        info: HeartbeatInfo,
        (round_trip, least): (Option<RoundTrip>, Option<Duration>),
        headers: Headers,
    ) {
        let size = self.bytes;
        if let Some(search) = &mut self.search {
            let verdict = search.on_answer(now, info, size, round_trip, least);
            self.follow(verdict, headers);
        }
    }

    /// RFC 8899 §4.3: packets larger than the base do not arrive.
    pub(super) fn on_black_hole(&mut self, now: Time, headers: Headers) {
        if let Some(search) = &mut self.search {
            search.on_black_hole(now, None);
            let base = search.base();
            self.set(base, headers, MtuCause::BlackHole);
        }
    }

    fn follow(&mut self, verdict: Option<Verdict>, headers: Headers) {
        match verdict {
            Some(Verdict::Fits(size)) => {
                self.beneath = false;
                self.set(size.max(self.bytes), headers, MtuCause::Probe);
            }
            // RFC 8899 §5.2: "It signals a conservative value". IPv6 takes no less than the base.
            Some(Verdict::TooLarge { proved }) if !headers.ipv6 => {
                let least = SMALLEST.max(proved).min(self.bytes);
                self.set(least, headers, MtuCause::Unanswered);
            }
            _ => {}
        }
    }

    /// Packets have other headers from now on.
    pub(super) fn on_headers(&mut self, headers: Headers) {
        self.max_packet = self.made(headers, self.bytes);
    }

    /// This many bytes are kept free in each packet.
    pub(super) fn reserve(&mut self, reserve: usize, headers: Headers) {
        self.reserve = reserve;
        self.on_headers(headers);
    }

    /// Bytes of the largest SCTP packet that is made for IP packets of `mtu` bytes.
    const fn made(&self, headers: Headers, mtu: usize) -> usize {
        headers.max_packet(mtu) - self.reserve
    }

    //= RFC 9260 7.3-1 7.3-2
    /// A router reports that no more than `mtu` bytes get through, 0 if it does not say how many. Returns the
    /// bytes for chunks in the largest packet that does; `None` if that is no news.
    pub(super) fn lower(&mut self, now: Time, mtu: usize, headers: Headers) -> Option<usize> {
        let mtu = match mtu {
            0 => PLATEAUS.into_iter().find(|plateau| *plateau < self.bytes).unwrap_or(0),
            mtu => mtu,
        };
        let least = if headers.ipv6 { LEAST.1 } else { LEAST.0 };
        if let Some(search) = &mut self.search
            && mtu >= self.bytes
        {
            search.on_too_big(now, mtu, self.bytes);
        }
        //= RFC 8899 3-10
        // RFC 8201 §4: a message MUST NOT raise the path MTU. What routers fragment is told by no message.
        if mtu >= self.bytes || mtu < least || self.beneath || self.fixed {
            return None;
        }
        let used = match &mut self.search {
            None => {
                self.raise_at = Some(now + MtuDiscovery::RAISE_AFTER);
                mtu
            }
            //= RFC 8899 4.6.2-1
            // Nor is PLPMTU what the message says here: the ERROR state has a conservative value (§5.2).
            Some(search) if mtu < search.base() => {
                search.on_narrow(now);
                SMALLEST
            }
            //= RFC 8899 4.6.2-2
            // "The PLPMTU SHOULD be set to BASE_PLPMTU", and what the message says is tried.
            Some(search) => {
                search.on_black_hole(now, Some(mtu));
                search.base()
            }
        };
        self.beneath = mtu < SMALLEST;
        self.set(used.max(SMALLEST), headers, MtuCause::Icmp);
        Some(headers.max_packet(mtu).saturating_sub(COMMON_HEADER_LEN + self.reserve))
    }

    /// A larger one is tried again.
    pub(super) fn raise(&mut self, mtu: usize, headers: Headers) {
        self.raise_at = None;
        self.beneath = false;
        self.set(mtu, headers, MtuCause::Retry);
    }

    fn set(&mut self, bytes: usize, headers: Headers, cause: MtuCause) {
        self.cause = cause;
        self.bytes = bytes;
        self.max_packet = self.made(headers, bytes);
    }
}
