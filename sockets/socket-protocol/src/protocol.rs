//! How a client talks to the engine: frames on connections of the type `SOCK_SEQPACKET` to a path.
//!
//! All numbers are little-endian. There are two kinds of connection, mainly.
//!
//! A **data connection** *is* the program's socket. Its first frame is a [`Request`] with
//! [`Op::Socket`] or [`Op::Accept`], which names the inode of the client's end: the identity of the
//! socket, the same after `dup`, `fork` and `exec`. Once that is answered, the client sends
//! [`TxHeader`] + payload, one message a frame; the engine sends [`RxHeader`] +
//! payload: data, notifications, and on a listening socket one frame for each association.
//!
//! A message of several frames comes on a third one of its own ([`Op::Long`]).
//!
//! A **control connection** carries one [`Request`] about the socket that it names, and one answer
//! ([`reply`]). Before it answers, the engine takes what was written to the data connection.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// First bytes of every request.
const MAGIC: u32 = u32::from_le_bytes(*b"TRS1");

/// Payload bytes of one frame from the engine at most.
pub const MAX_RX_PAYLOAD: usize = 192 * 1024;

/// Bytes of a message of several frames that come in one at most.
pub const MAX_PIECE: usize = 192 * 1024;

/// Bytes of a request or a reply at most.
pub const MAX_CONTROL: usize = 80 * 1024;

/// Bytes asked for as send buffer of each end; a frame must fit into it.
pub const SOCKET_BUFFER: usize = 212_992;

/// What a request asks for. `a` and `b` are the two arguments of [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Op {
    /// A new socket: address family, socket type.
    Socket = 1,
    /// A new socket for an association: its number, as a listener's frame or `PeelOff` said.
    Accept = 2,
    /// Bind to the addresses of the payload; `a` 1 adds (`sctp_bindx`), 2 removes.
    Bind = 3,
    /// Begin to connect to the addresses of the payload; `a` 1: answer when the attempt has ended.
    /// Value: the association's number.
    Connect = 4,
    /// Listen: backlog.
    Listen = 5,
    /// `shutdown`: how.
    Shutdown = 6,
    /// The name of the socket (`a` 0) or of its peer (1). Payload: an address.
    Name = 7,
    /// Set an option: level, name. Payload: its value.
    SetOption = 8,
    /// Get an option: level, name. Payload: its value as given, and as answered.
    GetOption = 9,
    /// Take the pending error. Value: its number. Payload: a byte, 0 if more may come from the peer,
    /// 1 after its end, 2 if there is no association any more and the peer has not shut down, 3 if the
    /// error is that of an attempt to connect: the socket is like a new one then.
    TakeError = 10,
    /// Whether a message of `a` bytes may be sent: payload is its `TxHeader`, and further addresses
    /// of the peer; opens an association if it needs one. Value: how many streams may be used
    /// without asking again. Payload: the association's number, and how many bytes may be written to it before the client
    /// asks again if the socket is one-to-many (u32 each). EAGAIN if the send buffer of such an association is full, or with `b` 1
    /// no answer until it may be sent, unless the client ends the connection.
    CheckSend = 11,
    /// Detach the association `a` from a one-to-many socket, for `Accept`.
    PeelOff = 12,
    /// Answer when the association of a one-to-one socket has ended, or after `a` milliseconds.
    Linger = 13,
    /// Whether anything can still come: ENOTCONN if not.
    Expects = 14,
    /// What the kernel says of such a one-to-one socket with `poll`, besides POLLIN and POLLOUT. Value:
    /// POLLERR, POLLHUP and POLLRDHUP.
    Shown = 15,
    /// Every frame of this connection to come has one end of another connection with it
    /// (SCM_RIGHTS): for a process that cannot reach the path any more.
    Door = 16,
    /// A message of `a` bytes that one frame cannot hold is to be sent: payload, value and answer are those
    /// of `CheckSend`; EAGAIN while others wait. Then the client writes its bytes to this connection, in
    /// frames without heads of [`MAX_PIECE`] bytes at most. The engine takes them whether the peer reads
    /// or not, and answers again when it has all. If the connection ends before, there is no such message.
    Long = 17,
}

impl Op {
    fn from_code(code: u16) -> Option<Op> {
        use Op::*;
        [
            Socket, Accept, Bind, Connect, Listen, Shutdown, Name, SetOption, GetOption, TakeError,
            CheckSend, PeelOff, Linger, Expects, Shown, Door, Long,
        ]
        .into_iter()
        .find(|op| *op as u16 == code)
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it asks for.
    pub op: Op,
    /// Inode of the client's end of the data connection.
    pub socket: u64,
    /// First argument.
    pub a: i64,
    /// Second argument.
    pub b: i64,
    /// What else belongs to it.
    pub payload: Vec<u8>,
}

impl Request {
    const HEADER: usize = 32;

    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::HEADER + self.payload.len());
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&(self.op as u16).to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.socket.to_le_bytes());
        out.extend_from_slice(&self.a.to_le_bytes());
        out.extend_from_slice(&self.b.to_le_bytes());
        out.extend_from_slice(&self.payload);
        out
    }

    /// Reads a frame; `None` if it is no request.
    #[must_use]
    pub fn decode(frame: &[u8]) -> Option<Request> {
        let mut r = Reader(frame);
        if r.u32()? != MAGIC {
            return None;
        }
        let op = Op::from_code(r.u16()?)?;
        r.u16()?;
        let (socket, a, b) = (r.u64()?, r.u64()? as i64, r.u64()? as i64);
        Some(Request { op, socket, a, b, payload: r.0.to_vec() })
    }
}

/// An answer: error number (0 for success), value, and what the request's [`Op`] says.
#[must_use]
pub fn reply(errno: i32, value: i64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(12 + payload.len());
    out.extend_from_slice(&errno.to_le_bytes());
    out.extend_from_slice(&value.to_le_bytes());
    out.extend_from_slice(payload);
    out
}

/// Reads an answer: error number, value, payload.
#[must_use]
pub fn read_reply(frame: &[u8]) -> Option<(i32, i64, &[u8])> {
    let mut r = Reader(frame);
    Some((r.u32()? as i32, r.u64()? as i64, r.0))
}

/// Kinds of frames on a data connection.
pub mod kind {
    /// User data.
    pub const DATA: u8 = 1;
    /// A notification (RFC 6458 §6); only from the engine.
    pub const NOTIFICATION: u8 = 2;
    /// An association waits to be accepted; only from the engine. `association` is its number.
    pub const ACCEPT: u8 = 3;
    /// Nothing more comes; stays in front for good. Only from the engine.
    pub const END: u8 = 5;
    /// Nothing: keeps the send buffer full, so that the socket is not writable.
    pub const FILLER: u8 = 4;
    /// An attempt to connect has failed; removed by the first that has heard why. Only from the engine.
    pub const FAILED: u8 = 6;
}

/// Bits of the `flags` of both headers.
pub mod flag {
    /// The message ends with this frame; only from the engine.
    pub const END: u8 = 1;
    /// Hand over `sctp_sndrcvinfo` with the message (RFC 6458 §5.3.2).
    pub const SNDRCVINFO: u8 = 2;
    /// Hand over `sctp_rcvinfo` (RFC 6458 §5.3.5).
    pub const RCVINFO: u8 = 4;
    /// Hand over `sctp_nxtinfo` (RFC 6458 §5.3.6).
    pub const NXTINFO: u8 = 8;
    /// `stream`, `sinfo_flags`, ... were not given: use the defaults of the socket.
    pub const DEFAULTS: u8 = 16;
    /// How reliable the message is was not given: use the default of the socket (RFC 6458 §8.1.32).
    pub const DEFAULT_RELIABILITY: u8 = 32;
    /// What follows of the message has not arrived yet, and other frames may come before it; only from the engine.
    pub const LATER: u8 = 64;
    /// `key` was given; only from a client.
    pub const KEY: u8 = 128;
    /// Hand over `sctp_extrcvinfo` instead of `sctp_sndrcvinfo` (RFC 6458 §5.3.3); only from the engine.
    pub const EXTRCVINFO: u8 = 128;
}

/// Bytes of [`TxHeader`] and of [`RxHeader`].
pub const HEADER: usize = 64;

/// The last bytes of the head of each frame of a client.
const MARK: [u8; 8] = *b"\xf7Tresse\x01";

/// Before each message that a client sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxHeader {
    /// See [`kind`].
    pub kind: u8,
    /// See [`flag`].
    pub flags: u8,
    /// Stream number.
    pub stream: u16,
    /// `sinfo_flags` or `snd_flags` (RFC 6458 §5.3.2, §5.3.4), with the policy of `pr_policy` (§5.3.7).
    pub sinfo_flags: u16,
    /// Number of the shared key to authenticate with (RFC 6458 §5.3.8), if the flag says so.
    pub key: u16,
    /// Payload protocol identifier, as in memory (network byte order by convention).
    pub ppid: u32,
    /// Context given back when sending fails.
    pub context: u32,
    /// Association number, 0 if none.
    pub association: u32,
    /// `sinfo_timetolive` or `pr_value`: what the policy makes of it, milliseconds without one.
    pub pr_value: u32,
    /// Destination, if given.
    pub address: Option<SocketAddr>,
}

impl TxHeader {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER] {
        let mut w = Writer::new(self.kind, self.flags);
        w.put(&self.stream.to_le_bytes());
        w.put(&self.sinfo_flags.to_le_bytes());
        w.put(&self.key.to_le_bytes());
        for n in [self.ppid, self.context, self.association, self.pr_value] {
            w.put(&n.to_le_bytes());
        }
        w.address(self.address);
        w.0[HEADER - MARK.len()..].copy_from_slice(&MARK);
        w.0
    }

    /// Reads the head of a frame; `None` if it is no frame, but something that a program has written
    /// past the C library.
    #[must_use]
    pub fn decode(frame: &[u8]) -> Option<TxHeader> {
        if frame.get(HEADER - MARK.len()..HEADER)? != MARK {
            return None;
        }
        let mut r = Reader(frame.get(..HEADER)?);
        let [kind, flags] = r.u16()?.to_le_bytes();
        let (stream, sinfo_flags, key) = (r.u16()?, r.u16()?, r.u16()?);
        let [ppid, context, association, pr_value] = [r.u32()?, r.u32()?, r.u32()?, r.u32()?];
        let address = r.address()?;
        let tx = TxHeader {
            kind,
            flags,
            stream,
            sinfo_flags,
            key,
            ppid,
            context,
            association,
            pr_value,
            address,
        };
        Some(tx)
    }
}

/// Before each message, fragment or notification that the engine sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxHeader {
    /// See [`kind`].
    pub kind: u8,
    /// See [`flag`].
    pub flags: u8,
    /// Stream number.
    pub stream: u16,
    /// Stream sequence number.
    pub ssn: u16,
    /// `sinfo_flags`: unordered or not.
    pub sinfo_flags: u16,
    /// Payload protocol identifier, as in memory.
    pub ppid: u32,
    /// TSN of the first fragment.
    pub tsn: u32,
    /// The association's Cumulative TSN Ack Point when the message was handed over.
    pub cumulative_tsn: u32,
    /// Context set by SCTP_CONTEXT.
    pub context: u32,
    /// Association number.
    pub association: u32,
    /// Payload bytes of this frame.
    pub length: u32,
    /// The peer's address.
    pub address: Option<SocketAddr>,
}

impl RxHeader {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER] {
        let mut w = Writer::new(self.kind, self.flags);
        for n in [self.stream, self.ssn, self.sinfo_flags] {
            w.put(&n.to_le_bytes());
        }
        for n in
            [self.ppid, self.tsn, self.cumulative_tsn, self.context, self.association, self.length]
        {
            w.put(&n.to_le_bytes());
        }
        w.address(self.address);
        w.0
    }

    /// Reads the head of a frame.
    #[must_use]
    pub fn decode(frame: &[u8]) -> Option<RxHeader> {
        let mut r = Reader(frame.get(..HEADER)?);
        let [kind, flags] = r.u16()?.to_le_bytes();
        let [stream, ssn, sinfo_flags] = [r.u16()?, r.u16()?, r.u16()?];
        let [ppid, tsn, cumulative_tsn] = [r.u32()?, r.u32()?, r.u32()?];
        let [context, association, length] = [r.u32()?, r.u32()?, r.u32()?];
        let address = r.address()?;
        Some(RxHeader {
            kind,
            flags,
            stream,
            ssn,
            sinfo_flags,
            ppid,
            tsn,
            cumulative_tsn,
            context,
            association,
            length,
            address,
        })
    }
}

/// A list of addresses, for payloads.
#[must_use]
pub fn encode_addresses(list: &[SocketAddr]) -> Vec<u8> {
    let mut out = Vec::new();
    for address in list {
        let mut w = Writer::new(0, 0);
        w.address(Some(*address));
        out.extend_from_slice(&w.0[2..2 + ADDRESS]);
    }
    out
}

/// Reads a list of addresses.
#[must_use]
pub fn decode_addresses(payload: &[u8]) -> Option<Vec<SocketAddr>> {
    if !payload.len().is_multiple_of(ADDRESS) {
        return None;
    }
    payload.chunks(ADDRESS).map(|chunk| Reader(chunk).address()?).collect()
}

/// Bytes of an address: family, port, 16 of IP address, zone.
const ADDRESS: usize = 24;

struct Writer([u8; HEADER], usize);

impl Writer {
    fn new(kind: u8, flags: u8) -> Writer {
        let mut writer = Writer([0; HEADER], 0);
        writer.put(&[kind, flags]);
        writer
    }

    fn put(&mut self, bytes: &[u8]) {
        self.0[self.1..self.1 + bytes.len()].copy_from_slice(bytes);
        self.1 += bytes.len();
    }

    fn address(&mut self, address: Option<SocketAddr>) {
        let Some(address) = address else { return };
        let (family, ip, zone) = match address {
            SocketAddr::V4(v4) => (4u16, v4.ip().to_ipv6_mapped(), 0),
            SocketAddr::V6(v6) => (6, *v6.ip(), v6.scope_id()),
        };
        self.put(&family.to_le_bytes());
        self.put(&address.port().to_le_bytes());
        self.put(&ip.octets());
        self.put(&zone.to_le_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// `Some(None)` where no address is.
    fn address(&mut self) -> Option<Option<SocketAddr>> {
        let (family, port) = (self.u16()?, self.u16()?);
        let ip = Ipv6Addr::from(self.take::<16>()?);
        let zone = self.u32()?;
        match family {
            0 => Some(None),
            4 => Some(Some(SocketAddr::new(IpAddr::V4(ip.to_ipv4_mapped()?), port))),
            6 => Some(Some(SocketAddrV6::new(ip, port, 0, zone).into())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let address = Some("[fe80::1%3]:77".parse().unwrap());
        let tx = TxHeader {
            kind: 1,
            flags: 3,
            stream: 9,
            sinfo_flags: 0x201,
            key: 300,
            ppid: 7,
            context: 8,
            association: 5,
            pr_value: 6,
            address,
        };
        assert_eq!(TxHeader::decode(&tx.encode()), Some(tx));
        let rx = RxHeader {
            kind: 2,
            flags: 1,
            stream: 1,
            ssn: 2,
            sinfo_flags: 3,
            ppid: 4,
            tsn: 5,
            cumulative_tsn: 9,
            context: 6,
            association: 7,
            length: 8,
            address: Some("192.0.2.1:9".parse().unwrap()),
        };
        assert_eq!(RxHeader::decode(&rx.encode()), Some(rx));
        let request = Request { op: Op::Linger, socket: 3, a: -1, b: 2, payload: vec![1, 2] };
        assert_eq!(Request::decode(&request.encode()), Some(request));
        let list = ["192.0.2.1:9".parse().unwrap(), "[2001:db8::1]:9".parse().unwrap()];
        assert_eq!(decode_addresses(&encode_addresses(&list)).unwrap(), list);
        assert_eq!(read_reply(&reply(11, -5, b"x")), Some((11, -5, &b"x"[..])));
    }

    #[test]
    fn whatever_is_read_is_no_panic() {
        for len in 0..200 {
            for fill in [0, 1, 4, 255] {
                let frame = vec![fill; len];
                let _ = (TxHeader::decode(&frame), RxHeader::decode(&frame));
                let _ = (Request::decode(&frame), decode_addresses(&frame), read_reply(&frame));
            }
        }
    }
}
