//! Buffers and ancillary data of messages (RFC 6458 §5.3).

use std::net::{IpAddr, SocketAddr};

use libc::iovec;
use tresse_socket_protocol::abi::{Fields, SCTP, Struct, sinfo};
use tresse_socket_protocol::opening::Opening;
use tresse_socket_protocol::protocol::{RxHeader, TxHeader, flag, kind};

use crate::Fallible;
use crate::memory::plausible;

/// A message, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Bytes that were stored.
    pub len: usize,
    /// What is known of it.
    pub header: RxHeader,
    /// What to hand over with it, see [`flag`].
    pub flags: u8,
    /// The message ends here (MSG_EOR).
    pub end: bool,
    /// The message that comes next, if it is here already and was asked for.
    pub next: Option<RxHeader>,
}

impl Received {
    /// `msg_flags` of `recvmsg`.
    #[must_use]
    pub fn message_flags(&self) -> i32 {
        let end = if self.end { libc::MSG_EOR } else { 0 };
        let notification =
            if self.header.kind == kind::NOTIFICATION { MSG_NOTIFICATION } else { 0 };
        end | notification
    }
}

/// RFC 6458 §6: the message is a notification.
const MSG_NOTIFICATION: i32 = 0x8000;

/// Types of ancillary data (`enum sctp_cmsg_type` of `linux/sctp.h`).
mod cmsg {
    pub(super) const INIT: i32 = 0;
    pub(super) const SNDRCV: i32 = 1;
    pub(super) const SNDINFO: i32 = 2;
    pub(super) const RCVINFO: i32 = 3;
    pub(super) const NXTINFO: i32 = 4;
    pub(super) const PRINFO: i32 = 5;
    pub(super) const AUTHINFO: i32 = 6;
    pub(super) const DSTADDRV4: i32 = 7;
    pub(super) const DSTADDRV6: i32 = 8;
    /// Linux has none.
    pub(super) const EXTRCV: i32 = 1003;
}

/// Bytes of `struct cmsghdr`: a `size_t` and two integers.
const CMSG_HEADER: usize = size_of::<usize>() + 8;

/// The most buffers of one call (`UIO_MAXIOV`).
pub(crate) const MAX_BUFFERS: usize = 1024;

fn align(len: usize) -> usize {
    len.next_multiple_of(size_of::<usize>())
}

/// Whether a range of the program can be a buffer.
fn check(iov: &iovec) -> Fallible<()> {
    if iov.iov_len > isize::MAX as usize {
        return Err(libc::EINVAL);
    }
    if plausible(iov.iov_base, iov.iov_len) { Ok(()) } else { Err(libc::EFAULT) }
}

/// Bytes of all buffers.
pub(crate) fn total(iov: &[iovec]) -> Fallible<usize> {
    iov.iter().try_fold(0usize, |sum, iov| {
        check(iov)?;
        sum.checked_add(iov.iov_len).ok_or(libc::EINVAL)
    })
}

/// The part of the program's buffers from byte `skip` on, at most `len` bytes.
pub(crate) fn part(iov: &[iovec], mut skip: usize, mut len: usize) -> impl Iterator<Item = iovec> {
    iov.iter().filter_map(move |iov| {
        let from = skip.min(iov.iov_len);
        let n = (iov.iov_len - from).min(len);
        skip -= from;
        len -= n;
        let base = iov.iov_base.wrapping_byte_add(from);
        (n > 0).then_some(iovec { iov_base: base, iov_len: n })
    })
}

/// Reads what goes with a message to send; `opening` gets what is said of the association that it may open.
///
/// # Errors
/// `EINVAL` for ancillary data that is cut short or cannot be honoured.
pub(crate) fn read_ancillary(
    mut ancillary: &[u8],
    header: &mut TxHeader,
    opening: &mut Opening,
) -> Fallible<()> {
    while ancillary.len() >= CMSG_HEADER {
        let f = Fields(ancillary);
        let mut len = [0; size_of::<usize>()];
        len.copy_from_slice(&ancillary[..size_of::<usize>()]);
        let len = usize::from_ne_bytes(len);
        if len < CMSG_HEADER || len > ancillary.len() {
            return Err(libc::EINVAL);
        }
        let (level, kind) =
            (f.u32(size_of::<usize>()) as i32, f.u32(size_of::<usize>() + 4) as i32);
        let data = &ancillary[CMSG_HEADER..len];
        if level == SCTP {
            read_one(kind, data, header, opening)?;
        }
        ancillary = &ancillary[align(len).min(ancillary.len())..];
    }
    Ok(())
}

fn read_one(kind: i32, data: &[u8], header: &mut TxHeader, opening: &mut Opening) -> Fallible<()> {
    let f = Fields(data);
    let needed = match kind {
        cmsg::SNDRCV => 32,
        cmsg::SNDINFO => 16,
        cmsg::INIT | cmsg::PRINFO => 8,
        cmsg::DSTADDRV4 => 4,
        cmsg::DSTADDRV6 => 16,
        cmsg::AUTHINFO => 2,
        _ => return Err(libc::EINVAL),
    };
    // As the kernel, which wants no other version of a structure; addresses may be padded.
    let exact = !matches!(kind, cmsg::DSTADDRV4 | cmsg::DSTADDRV6);
    if data.len() < needed || (exact && data.len() != needed) {
        return Err(libc::EINVAL);
    }
    match kind {
        cmsg::SNDRCV => {
            header.flags &= !flag::DEFAULTS;
            header.stream = f.u16(0);
            // SCTP_PRINFO has the last word on its part, wherever it stands.
            if header.flags & flag::DEFAULT_RELIABILITY == 0 {
                header.sinfo_flags = f.u16(4) & !sinfo::POLICY | header.sinfo_flags & sinfo::POLICY;
            } else {
                header.flags &= !flag::DEFAULT_RELIABILITY;
                (header.sinfo_flags, header.pr_value) = (f.u16(4), f.u32(16));
            }
            (header.ppid, header.context) = (f.u32(8), f.u32(12));
            header.association = f.u32(28);
        }
        cmsg::SNDINFO => {
            header.flags &= !flag::DEFAULTS;
            header.stream = f.u16(0);
            header.sinfo_flags = match header.flags & flag::DEFAULT_RELIABILITY {
                0 => f.u16(2) & !sinfo::POLICY | header.sinfo_flags & sinfo::POLICY,
                _ => f.u16(2),
            };
            (header.ppid, header.context) = (f.u32(4), f.u32(8));
            header.association = f.u32(12);
        }
        cmsg::PRINFO => set_policy(header, f.u16(0), f.u32(4))?,
        cmsg::DSTADDRV4 | cmsg::DSTADDRV6 => {
            let ip: IpAddr = match data.first_chunk::<16>() {
                Some(v6) if kind == cmsg::DSTADDRV6 => (*v6).into(),
                _ => [data[0], data[1], data[2], data[3]].into(),
            };
            // RFC 6458 §5.3.9: the port is that of the destination, and these are further addresses of an association that the
            // message opens. As in the kernel, alone they say nothing.
            if let Some(first) = header.address {
                opening.more.push(SocketAddr::new(ip, first.port()));
            }
        }
        cmsg::AUTHINFO => set_key(header, f.u16(0)),
        _ => opening.init.copy_from_slice(data),
    }
    Ok(())
}

/// Ancillary data for a program, as much as it has room for.
struct Ancillary {
    bytes: Vec<u8>,
    room: usize,
    cut: bool,
}

impl Ancillary {
    /// As the kernel does: what does not fit is cut off, and its length says so.
    fn append(&mut self, kind: i32, data: &[u8]) {
        let left = self.room - self.bytes.len();
        let len = (CMSG_HEADER + data.len()).min(left);
        self.cut |= len < CMSG_HEADER + data.len();
        if len < CMSG_HEADER {
            return;
        }
        let end = (self.bytes.len() + align(len)).min(self.room);
        self.bytes.extend_from_slice(&len.to_ne_bytes());
        self.bytes.extend_from_slice(&SCTP.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&data[..len - CMSG_HEADER]);
        self.bytes.resize(end, 0);
    }
}

/// Ancillary data for a message that arrived, as the socket's options ask for, in `room` bytes; and
/// whether some was cut off.
#[must_use]
pub(crate) fn write_ancillary(received: &Received, room: usize) -> (Vec<u8>, bool) {
    let mut out = Ancillary { bytes: Vec::new(), room, cut: false };
    // The kernel's order.
    if received.flags & flag::NXTINFO != 0
        && let Some(next) = &received.next
    {
        out.append(cmsg::NXTINFO, &nxtinfo(next));
    }
    if received.flags & flag::RCVINFO != 0 {
        out.append(cmsg::RCVINFO, &rcvinfo(received));
    }
    if received.flags & flag::SNDRCVINFO != 0 {
        let (kind, info) = sender_info(received);
        out.append(kind, &info);
    }
    (out.bytes, out.cut)
}

/// What SCTP_USE_EXT_RCVINFO chooses, and its type: `struct sctp_sndrcvinfo`, or `struct sctp_extrcvinfo`.
#[must_use]
pub fn sender_info(received: &Received) -> (i32, Vec<u8>) {
    match received.flags & flag::EXTRCVINFO {
        0 => (cmsg::SNDRCV, sndrcvinfo(received)),
        _ => (cmsg::EXTRCV, extrcvinfo(received)),
    }
}

/// `struct sctp_sndrcvinfo`.
fn sndrcvinfo(received: &Received) -> Vec<u8> {
    let (h, mut s) = (&received.header, Struct::default());
    s.u16(h.stream).u16(h.ssn).u16(h.sinfo_flags).u16(0).u32(h.ppid).u32(h.context);
    s.u32(0).u32(h.tsn).u32(h.cumulative_tsn).u32(h.association);
    s.0
}

/// `struct sctp_rcvinfo`.
#[must_use]
pub fn rcvinfo(received: &Received) -> Vec<u8> {
    let (h, mut s) = (&received.header, Struct::default());
    s.u16(h.stream).u16(h.ssn).u16(h.sinfo_flags).u16(0).u32(h.ppid).u32(h.tsn);
    s.u32(h.cumulative_tsn).u32(h.context).u32(h.association);
    s.0
}

/// `struct sctp_extrcvinfo` (RFC 6458 §5.3.3).
fn extrcvinfo(received: &Received) -> Vec<u8> {
    /// SCTP_NEXT_MSG_AVAIL, ...
    const AVAILABLE: u16 = 1;
    const COMPLETE: u16 = 2;
    const UNORDERED: u16 = 4;
    const NOTIFICATION: u16 = 8;
    let (h, mut s) = (&received.header, Struct::default());
    s.u16(h.stream).u16(h.ssn).u16(h.sinfo_flags).u16(0).u32(h.ppid).u32(h.context);
    s.u32(0).u32(h.tsn).u32(h.cumulative_tsn);
    let next = received.next.unwrap_or_default();
    let bit = |bit, there| if there { bit } else { 0 };
    let flags = bit(AVAILABLE, received.next.is_some())
        | bit(COMPLETE, next.flags & flag::END != 0)
        | bit(UNORDERED, next.sinfo_flags & sinfo::UNORDERED != 0)
        | bit(NOTIFICATION, next.kind == kind::NOTIFICATION);
    s.u16(flags).u16(next.stream).u32(next.association).u32(next.length).u32(next.ppid);
    s.u32(h.association);
    s.0
}

/// `struct sctp_nxtinfo` (RFC 6458 §5.3.6).
#[must_use]
pub fn nxtinfo(next: &RxHeader) -> Vec<u8> {
    /// SCTP_COMPLETE and SCTP_NOTIFICATION.
    const COMPLETE: u16 = 0x20;
    const NOTIFICATION: u16 = 0x8000;
    let bit = |bit, there| if there { bit } else { 0 };
    let flags = next.sinfo_flags
        | bit(COMPLETE, next.flags & flag::END != 0)
        | bit(NOTIFICATION, next.kind == kind::NOTIFICATION);
    let mut s = Struct::default();
    s.u16(next.stream).u16(flags).u32(next.ppid).u32(next.length).u32(next.association);
    s.0
}

/// Says how reliable a message is (`struct sctp_prinfo`).
///
/// # Errors
/// EINVAL for what is no policy.
pub fn set_policy(header: &mut TxHeader, policy: u16, value: u32) -> Fallible<()> {
    if policy & !sinfo::POLICY != 0 {
        return Err(libc::EINVAL);
    }
    header.flags &= !flag::DEFAULT_RELIABILITY;
    header.sinfo_flags = header.sinfo_flags & !sinfo::POLICY | policy;
    // RFC 7496 §4.2: with SCTP_PR_SCTP_NONE it is ignored.
    header.pr_value = if policy == 0 { 0 } else { value };
    Ok(())
}

/// Says with which shared key a message is authenticated (`struct sctp_authinfo`).
pub const fn set_key(header: &mut TxHeader, number: u16) {
    header.flags |= flag::KEY;
    header.key = number;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_socket_protocol::protocol::RxHeader;

    #[test]
    fn ancillary_data_is_read_and_what_is_wrong_is_refused() {
        let mut ancillary = Ancillary { bytes: Vec::new(), room: 1000, cut: false };
        let mut info = Struct::default();
        info.u16(7).u16(1).u32(0x0102).u32(5).u32(9);
        ancillary.append(cmsg::SNDINFO, &info.0);
        ancillary.append(cmsg::DSTADDRV4, &[192, 0, 2, 1]);
        ancillary.append(cmsg::AUTHINFO, &300u16.to_ne_bytes());
        ancillary.append(cmsg::INIT, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let mut ancillary = ancillary.bytes;
        let port = Some("[::]:80".parse().unwrap());
        let mut header = TxHeader { flags: flag::DEFAULTS, address: port, ..TxHeader::default() };
        let mut opening = Opening::default();
        read_ancillary(&ancillary, &mut header, &mut opening).unwrap();
        assert_eq!((header.stream, header.sinfo_flags, header.ppid), (7, 1, 0x0102));
        assert_eq!((header.context, header.association, header.flags), (5, 9, flag::KEY));
        assert_eq!(header.key, 300);
        assert_eq!(header.address, port);
        assert_eq!(opening.more, ["192.0.2.1:80".parse().unwrap()]);
        assert_eq!(opening.init, [1, 2, 3, 4, 5, 6, 7, 8]);
        for len in 1..ancillary.len() {
            // Never a panic.
            let _ = read_ancillary(&ancillary[..len], &mut header, &mut opening);
        }
        ancillary[0] = 3;
        assert_eq!(read_ancillary(&ancillary, &mut header, &mut opening), Err(libc::EINVAL));
    }

    #[test]
    fn both_tsns_are_told() {
        let header = RxHeader { tsn: 5, cumulative_tsn: 9, ..RxHeader::default() };
        let received = Received { len: 0, header, flags: 0, end: true, next: None };
        let (new, old) = (rcvinfo(&received), sndrcvinfo(&received));
        assert_eq!((Fields(&new).u32(12), Fields(&new).u32(16)), (5, 9));
        assert_eq!((Fields(&old).u32(20), Fields(&old).u32(24)), (5, 9));
    }

    /// RFC 6458 §5.3.3: what the next message is stands beside what is known of this one.
    #[test]
    fn the_extended_information_tells_of_the_next_message() {
        let header = RxHeader { stream: 1, tsn: 5, association: 9, ..RxHeader::default() };
        let next = RxHeader {
            kind: kind::NOTIFICATION,
            flags: flag::END,
            stream: 3,
            ppid: 7,
            length: 20,
            association: 8,
            ..RxHeader::default()
        };
        let flags = flag::SNDRCVINFO | flag::EXTRCVINFO;
        let received = Received { len: 0, header, flags, end: true, next: Some(next) };
        let (ancillary, cut) = write_ancillary(&received, 1000);
        let (f, info) = (Fields(&ancillary), Fields(&ancillary[CMSG_HEADER..]));
        assert_eq!((ancillary.len(), cut), (align(CMSG_HEADER + 48), false));
        assert_eq!(f.u32(CMSG_HEADER - 4), 1003);
        assert_eq!((info.u16(0), info.u32(20), info.u32(44)), (1, 5, 9));
        assert_eq!((info.u16(28), info.u16(30), info.u32(32)), (1 | 2 | 8, 3, 8));
        assert_eq!((info.u32(36), info.u32(40)), (20, 7));
        let part = RxHeader { kind: kind::DATA, flags: flag::LATER, sinfo_flags: 1, ..next };
        let told = extrcvinfo(&Received { next: Some(part), ..received });
        assert_eq!(Fields(&told).u16(28), 1 | 4);
        assert_eq!(extrcvinfo(&Received { next: None, ..received })[28..44], [0; 16]);
        let plain = Received { flags: flag::EXTRCVINFO, ..received };
        assert_eq!(write_ancillary(&plain, 1000), (Vec::new(), false), "nobody asked for any");
    }

    /// RFC 6458 §5.3.7: SCTP_PRINFO beside what says the rest, in any order.
    #[test]
    fn a_policy_is_read_wherever_it_stands() {
        let mut old = Struct::default();
        old.u16(7).u16(0).u16(sinfo::UNORDERED | sinfo::PR_RTX).u16(0).u32(1).u32(2).u32(9);
        old.u32(0).u32(0).u32(4);
        let mut new = Struct::default();
        new.u16(7).u16(sinfo::UNORDERED).u32(1).u32(2).u32(4);
        let prinfo = |policy: u16, value| Struct::default().u16(policy).u16(0).u32(value).0.clone();
        let read = |parts: &[(i32, &[u8])]| {
            let mut ancillary = Ancillary { bytes: Vec::new(), room: 1000, cut: false };
            parts.iter().for_each(|(kind, data)| ancillary.append(*kind, data));
            let flags = flag::DEFAULTS | flag::DEFAULT_RELIABILITY;
            let mut header = TxHeader { flags, ..TxHeader::default() };
            read_ancillary(&ancillary.bytes, &mut header, &mut Opening::default())?;
            Ok((header.flags, header.sinfo_flags, header.pr_value))
        };
        let priority = prinfo(sinfo::PR_PRIO, 3);
        let (old, new, priority): (&[u8], &[u8], &[u8]) = (&old.0, &new.0, &priority);
        assert_eq!(read(&[(cmsg::SNDRCV, old)]), Ok((0, 0x21, 9)));
        assert_eq!(read(&[(cmsg::SNDINFO, new)]), Ok((flag::DEFAULT_RELIABILITY, 1, 0)));
        assert_eq!(read(&[(cmsg::PRINFO, priority)]), Ok((flag::DEFAULTS, 0x30, 3)));
        for (kind, said) in [(cmsg::SNDRCV, old), (cmsg::SNDINFO, new)] {
            let policy = (cmsg::PRINFO, priority);
            assert_eq!(read(&[(kind, said), policy]), Ok((0, 0x31, 3)), "{kind}");
            assert_eq!(read(&[policy, (kind, said)]), Ok((0, 0x31, 3)), "{kind}");
        }
        assert_eq!(read(&[(cmsg::PRINFO, &prinfo(0, 5))]), Ok((flag::DEFAULTS, 0, 0)));
        for wrong in [1, 0x40, sinfo::PR_ALL] {
            assert_eq!(read(&[(cmsg::PRINFO, &prinfo(wrong, 5))]), Err(libc::EINVAL));
        }
    }

    #[test]
    fn what_has_no_room_is_cut_off() {
        for (room, len, cut) in [(100, 32, false), (31, 31, false), (20, 20, true), (15, 0, true)] {
            let mut ancillary = Ancillary { bytes: Vec::new(), room, cut: false };
            ancillary.append(cmsg::NXTINFO, &[1; 15]);
            assert_eq!((ancillary.bytes.len(), ancillary.cut), (len, cut), "{room}");
            if len > 0 {
                assert_eq!(ancillary.bytes[..8], len.min(31).to_ne_bytes());
            }
        }
    }
}
