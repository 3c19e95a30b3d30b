//! The path MTU, and what a packet holds that fits it (RFC 9260 §7.3, RFC 1191, RFC 8201).

use std::net::IpAddr;
use std::time::Duration;

use tresse_wire::COMMON_HEADER_LEN;

use crate::time::Time;

/// A larger path MTU is tried again after this time (RFC 1191 §6.3, RFC 8201 §4: 10 minutes).
const RAISE_AFTER: Duration = Duration::from_secs(600);

/// Packets are never made for less: a cookie must fit ([`AssociationConfig::check`]). Over IPv4, routers
/// fragment them where the path MTU is smaller still.
///
/// [`AssociationConfig::check`]: crate::AssociationConfig::check
const SMALLEST: usize = 512;

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
    /// Bytes left for an SCTP packet in an IP packet of `mtu` bytes, a multiple of 4.
    const fn max_packet(self, mtu: usize) -> usize {
        let ip = if self.ipv6 { 40 } else { 20 };
        let udp = if self.udp { 8 } else { 0 };
        (mtu - ip - udp) & !3
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
    /// Bytes of the largest SCTP packet that fits.
    max_packet: usize,
}

impl Mtu {
    pub(super) const fn new(bytes: usize, headers: Headers) -> Mtu {
        let max_packet = headers.max_packet(bytes);
        Mtu { bytes, beneath: false, raise_at: None, max_packet }
    }

    /// Bytes of the largest IP packet.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the largest SCTP packet that fits.
    #[inline]
    pub(crate) const fn max_packet(&self) -> usize {
        self.max_packet
    }

    /// Path MTU Data Chunk Size: bytes for chunks in one packet.
    #[inline]
    pub(crate) const fn pmdcs(&self) -> usize {
        self.max_packet - COMMON_HEADER_LEN
    }

    //= RFC 9260 6.9-6
    /// Whether IP must fragment a packet of this many bytes.
    ///
    /// RFC 9260 §6.9: what was fragmented for a larger PMTU MUST be left to IP fragmentation. RFC 1191
    /// §6.5 allows to clear DF where the path MTU is too small to be used.
    pub(crate) const fn needs_fragments(&self, len: usize) -> bool {
        len > self.max_packet || self.beneath
    }

    /// When a larger one may be tried.
    pub(crate) const fn raise_at(&self) -> Option<Time> {
        self.raise_at
    }

    /// Packets have other headers from now on.
    pub(super) fn on_headers(&mut self, headers: Headers) {
        self.max_packet = headers.max_packet(self.bytes);
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
        // RFC 8201 §4: a message MUST NOT raise the path MTU. What routers fragment is told by no message.
        if mtu >= self.bytes || mtu < least || self.beneath {
            return None;
        }
        self.beneath = mtu < SMALLEST;
        self.set(mtu.max(SMALLEST), headers);
        self.raise_at = Some(now + RAISE_AFTER);
        Some(headers.max_packet(mtu) - COMMON_HEADER_LEN)
    }

    /// A larger one is tried again.
    pub(super) fn raise(&mut self, mtu: usize, headers: Headers) {
        self.raise_at = None;
        self.beneath = false;
        self.set(mtu, headers);
    }

    fn set(&mut self, bytes: usize, headers: Headers) {
        self.bytes = bytes;
        self.max_packet = headers.max_packet(bytes);
    }
}
