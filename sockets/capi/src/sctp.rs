//! The functions of RFC 6458 §9.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;
use std::sync::Arc;

use libc::{iovec, sa_family_t, size_t, sockaddr, socklen_t, ssize_t};
use tresse_client as client;
use tresse_client::{Fallible, Outgoing, Received, Sock, give, give_int};
use tresse_socket_protocol::abi::{Fields, SCTP, sinfo, sockaddr_len};
use tresse_socket_protocol::opening::Opening;
use tresse_socket_protocol::options::association_at;
use tresse_socket_protocol::protocol::{TxHeader, flag};

use crate::constants::*;
use crate::types::*;

/// The SCTP socket of a descriptor.
fn socket(fd: c_int) -> Fallible<Arc<Sock>> {
    if let Some(sock) = client::look_up_again(fd) {
        return Ok(sock);
    }
    // SAFETY: asks about the descriptor only.
    let open = unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
    Err(if open { libc::ENOTSOCK } else { libc::EBADF })
}

/// `sctp_bindx` (RFC 6458 §9.1): SCTP_BINDX_ADD_ADDR or SCTP_BINDX_REM_ADDR, also in associations where RFC 5061 was agreed on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_bindx(
    sd: c_int,
    addrs: *mut sockaddr,
    addrcnt: c_int,
    flags: c_int,
) -> c_int {
    let bind = || {
        let sock = socket(sd)?;
        if flags != SCTP_BINDX_ADD_ADDR && flags != SCTP_BINDX_REM_ADDR {
            return Err(libc::EINVAL);
        }
        client::bind(&sock, &client::read_list(addrs.cast(), addrcnt)?, flags.into())
    };
    give_int(bind().map(|()| 0))
}

//= RFC 6458 9.9-1
/// `sctp_connectx` (RFC 6458 §9.9): connects to a peer with several addresses. `id` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_connectx(
    sd: c_int,
    addrs: *mut sockaddr,
    addrcnt: c_int,
    id: *mut sctp_assoc_t,
) -> c_int {
    let connect = || {
        let sock = socket(sd)?;
        let peers = client::read_list(addrs.cast(), addrcnt)?;
        let (number, done) = client::connect(sd, &sock, &peers)?;
        if !id.is_null() {
            client::write_memory(id.cast(), &(number as sctp_assoc_t).to_ne_bytes())?;
        }
        if done { Ok(0) } else { Err(libc::EINPROGRESS) }
    };
    give_int(connect())
}

/// `sctp_peeloff` (RFC 6458 §9.2): a one-to-one socket for an association of a one-to-many socket.
#[unsafe(no_mangle)]
pub extern "C" fn tresse_peeloff(sd: c_int, assoc_id: sctp_assoc_t) -> c_int {
    tresse_peeloff_flags(sd, assoc_id, 0)
}

/// As `sctp_peeloff`, with SOCK_NONBLOCK and SOCK_CLOEXEC as flags for the new descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn tresse_peeloff_flags(sd: c_int, assoc_id: sctp_assoc_t, flags: c_uint) -> c_int {
    let peel = || client::peel_off(&*socket(sd)?, assoc_id as u32, flags as c_int);
    give_int(peel())
}

fn addresses(
    sd: c_int,
    peer: bool,
    id: sctp_assoc_t,
    addrs: *mut *mut sockaddr,
) -> Fallible<c_int> {
    let (count, packed) = client::addresses(&*socket(sd)?, peer, id as u32)?;
    if count == 0 {
        return Ok(0);
    }
    // SAFETY: new memory, with room for what is copied.
    let copy = unsafe {
        let copy = libc::malloc(packed.len());
        if copy.is_null() {
            return Err(libc::ENOMEM);
        }
        std::ptr::copy_nonoverlapping(packed.as_ptr(), copy.cast(), packed.len());
        copy
    };
    client::write_memory(addrs.cast(), &(copy as usize).to_ne_bytes()).inspect_err(|_| {
        // SAFETY: nobody got it.
        unsafe { libc::free(copy) };
    })?;
    Ok(count as c_int)
}

/// `sctp_getpaddrs` (RFC 6458 §9.3): the addresses of the peer, packed one behind the other; free
/// them with `sctp_freepaddrs`. Returns how many, 0 without an association.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_getpaddrs(
    sd: c_int,
    id: sctp_assoc_t,
    addrs: *mut *mut sockaddr,
) -> c_int {
    give_int(addresses(sd, true, id, addrs))
}

/// `sctp_getladdrs` (RFC 6458 §9.5): the addresses that the socket is bound to; free them with
/// `sctp_freeladdrs`. Returns how many, 0 if it is not bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_getladdrs(
    sd: c_int,
    id: sctp_assoc_t,
    addrs: *mut *mut sockaddr,
) -> c_int {
    give_int(addresses(sd, false, id, addrs))
}

//= RFC 6458 9.3-1
/// `sctp_freepaddrs` (RFC 6458 §9.4). Returns 0, as that of Linux does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_freepaddrs(addrs: *mut sockaddr) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { libc::free(addrs.cast()) };
    0
}

//= RFC 6458 9.5-1
/// `sctp_freeladdrs` (RFC 6458 §9.6). Returns 0, as that of Linux does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_freeladdrs(addrs: *mut sockaddr) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { libc::free(addrs.cast()) };
    0
}

/// `sctp_getaddrlen`: bytes of an address of that family, or -1 and EINVAL.
#[unsafe(no_mangle)]
pub extern "C" fn tresse_getaddrlen(family: sa_family_t) -> c_int {
    let len = sockaddr_len(i32::from(family)).ok_or(libc::EINVAL);
    give_int(len.map(|len| len as c_int))
}

//= RFC 6458 8-4
/// `sctp_opt_info` (RFC 6458 §9.14): `getsockopt` for an association of a one-to-many socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_opt_info(
    sd: c_int,
    id: sctp_assoc_t,
    opt: c_int,
    arg: *mut c_void,
    size: *mut socklen_t,
) -> c_int {
    let get = || {
        let sock = socket(sd)?;
        let room = Fields(&client::read_memory(size.cast(), 4)?).u32(0) as usize;
        if let Some(place) = association_at(opt, room) {
            client::write_memory(arg.wrapping_byte_add(place), &id.to_ne_bytes())?;
        }
        client::get_option(sd, &sock, (SCTP, opt), (arg, size))
    };
    give_int(get())
}

/// The header of a message about which something is said.
fn said() -> TxHeader {
    let plain = Outgoing::plain();
    TxHeader { flags: plain.flags & !(flag::DEFAULTS | flag::DEFAULT_RELIABILITY), ..plain }
}

/// What `struct sctp_sndrcvinfo` says.
fn from_sndrcvinfo(at: *const sctp_sndrcvinfo) -> Fallible<TxHeader> {
    if at.is_null() {
        return Ok(Outgoing::plain());
    }
    let bytes = client::read_memory(at.cast(), size_of::<sctp_sndrcvinfo>())?;
    let f = Fields(&bytes);
    Ok(TxHeader {
        stream: f.u16(offset_of!(sctp_sndrcvinfo, sinfo_stream)),
        sinfo_flags: f.u16(offset_of!(sctp_sndrcvinfo, sinfo_flags)),
        ppid: f.u32(offset_of!(sctp_sndrcvinfo, sinfo_ppid)),
        context: f.u32(offset_of!(sctp_sndrcvinfo, sinfo_context)),
        pr_value: f.u32(offset_of!(sctp_sndrcvinfo, sinfo_timetolive)),
        association: f.u32(offset_of!(sctp_sndrcvinfo, sinfo_assoc_id)),
        ..said()
    })
}

//= RFC 6458 9.12-1
/// What `struct sctp_sndinfo` says.
fn from_sndinfo(f: Fields<'_>) -> TxHeader {
    TxHeader {
        stream: f.u16(offset_of!(sctp_sndinfo, snd_sid)),
        sinfo_flags: f.u16(offset_of!(sctp_sndinfo, snd_flags)),
        ppid: f.u32(offset_of!(sctp_sndinfo, snd_ppid)),
        context: f.u32(offset_of!(sctp_sndinfo, snd_context)),
        association: f.u32(offset_of!(sctp_sndinfo, snd_assoc_id)),
        flags: Outgoing::plain().flags & !flag::DEFAULTS,
        ..Outgoing::plain()
    }
}

/// What `struct sctp_prinfo` says.
fn add_prinfo(header: &mut TxHeader, f: Fields<'_>) -> Fallible<()> {
    let policy = f.u16(offset_of!(sctp_prinfo, pr_policy));
    client::set_policy(header, policy, f.u32(offset_of!(sctp_prinfo, pr_value)))
}

/// A header, and where the program has an identifier that is to be filled in.
type Info = (TxHeader, Option<*mut c_void>);

/// What `info` of `sctp_sendv` says.
fn from_info(info: *mut c_void, len: socklen_t, kind: c_uint) -> Fallible<Info> {
    let read = |needed: usize| {
        if (len as usize) < needed { Err(libc::EINVAL) } else { client::read_memory(info, needed) }
    };
    let id = offset_of!(sctp_sndinfo, snd_assoc_id);
    match kind {
        //= RFC 6458 9.12-3
        SCTP_SENDV_NOINFO if len == 0 && info.is_null() => Ok((Outgoing::plain(), None)),
        SCTP_SENDV_SNDINFO => {
            let header = from_sndinfo(Fields(&read(size_of::<sctp_sndinfo>())?));
            Ok((header, Some(info.wrapping_byte_add(id))))
        }
        SCTP_SENDV_PRINFO => {
            let mut header = Outgoing::plain();
            add_prinfo(&mut header, Fields(&read(size_of::<sctp_prinfo>())?))?;
            Ok((header, None))
        }
        SCTP_SENDV_AUTHINFO => {
            let mut header = Outgoing::plain();
            client::set_key(&mut header, Fields(&read(size_of::<sctp_authinfo>())?).u16(0));
            Ok((header, None))
        }
        SCTP_SENDV_SPA => {
            let bytes = read(size_of::<sctp_sendv_spa>())?;
            let valid = Fields(&bytes).u32(0);
            let at = offset_of!(sctp_sendv_spa, sendv_sndinfo);
            let named = valid & SCTP_SEND_SNDINFO_VALID != 0;
            let mut header =
                if named { from_sndinfo(Fields(&bytes[at..])) } else { Outgoing::plain() };
            if valid & SCTP_SEND_PRINFO_VALID != 0 {
                let pr = offset_of!(sctp_sendv_spa, sendv_prinfo);
                add_prinfo(&mut header, Fields(&bytes[pr..]))?;
            }
            if valid & SCTP_SEND_AUTHINFO_VALID != 0 {
                let auth = offset_of!(sctp_sendv_spa, sendv_authinfo);
                client::set_key(&mut header, Fields(&bytes[auth..]).u16(0));
            }
            Ok((header, named.then(|| info.wrapping_byte_add(at + id))))
        }
        _ => Err(libc::EINVAL),
    }
}

/// A list of addresses of the program; none if it is empty.
struct Peers(*const sockaddr, c_int);

/// Sends a message, to an association that is set up if need be.
fn send(
    sd: c_int,
    peers: &Peers,
    (mut header, id): Info,
    iov: &[iovec],
    flags: c_int,
) -> Fallible<usize> {
    let sock = socket(sd)?;
    // With an identifier, the addresses are those of paths.
    let over = header.sinfo_flags & sinfo::ADDR_OVER != 0;
    if !peers.0.is_null() && peers.1 != 0 && (header.association == 0 || over) {
        let list = client::read_list(peers.0.cast(), peers.1)?;
        //= RFC 6458 9.12-2
        if header.association == 0 {
            // RFC 6458 §9.12: "This function will behave like calling sctp_connectx(), first using the
            // list of addresses and then calling sendmsg() with the given message and attributes".
            header.association = client::associate(&sock, &header, &list)?;
            if let Some(place) = id {
                client::write_memory(place, &header.association.to_ne_bytes())?;
            }
        }
        header.address = list.first().copied().filter(|_| over);
    }
    let opening = &Opening::default();
    client::send(sd, &sock, &Outgoing { header, iov, flags, opening })
}

/// `sctp_sendv` (RFC 6458 §9.12): sends a message with what `info`, of the type `infotype`, says.
/// With addresses that no association has yet, one is set up.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "as RFC 6458 has it")]
pub unsafe extern "C" fn tresse_sendv(
    sd: c_int,
    iov: *const iovec,
    iovcnt: c_int,
    addrs: *mut sockaddr,
    addrcnt: c_int,
    info: *mut c_void,
    infolen: socklen_t,
    infotype: c_uint,
    flags: c_int,
) -> ssize_t {
    let run = || {
        let count = usize::try_from(iovcnt).map_err(|_| libc::EINVAL)?;
        let said = from_info(info, infolen, infotype)?;
        send(sd, &Peers(addrs, addrcnt), said, &client::buffers(iov, count)?, flags)
    };
    give(run())
}

/// `sctp_send` (RFC 6458 §9.10, deprecated): sends a message as `sinfo` says, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_sctp_send(
    sd: c_int,
    msg: *const c_void,
    len: size_t,
    sinfo: *const sctp_sndrcvinfo,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the caller promises.
    unsafe { tresse_sendx(sd, msg, len, std::ptr::null_mut(), 0, sinfo.cast_mut(), flags) }
}

/// `sctp_sendx` (RFC 6458 §9.11, deprecated): as `sctp_send`; with addresses that no association has
/// yet, one is set up, and `sinfo_assoc_id` tells which.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_sendx(
    sd: c_int,
    msg: *const c_void,
    len: size_t,
    addrs: *mut sockaddr,
    addrcnt: c_int,
    sinfo: *mut sctp_sndrcvinfo,
    flags: c_int,
) -> ssize_t {
    let said = from_sndrcvinfo(sinfo);
    let id = offset_of!(sctp_sndrcvinfo, sinfo_assoc_id);
    let id = (!sinfo.is_null()).then(|| sinfo.cast::<c_void>().wrapping_byte_add(id));
    give(said.and_then(|header| {
        send(sd, &Peers(addrs, addrcnt), (header, id), &client::one(msg, len), flags)
    }))
}

/// `sctp_sendmsg` (RFC 6458 §9.7, deprecated).
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "as RFC 6458 has it")]
pub unsafe extern "C" fn tresse_sctp_sendmsg(
    sd: c_int,
    msg: *const c_void,
    len: size_t,
    to: *const sockaddr,
    tolen: socklen_t,
    ppid: u32,
    flags: u32,
    stream_no: u16,
    timetolive: u32,
    context: u32,
) -> ssize_t {
    let run = || {
        let sock = socket(sd)?;
        let named = !to.is_null() && tolen > 0;
        let address = if named { Some(client::read_name(to.cast(), tolen)?) } else { None };
        let header = TxHeader {
            stream: stream_no,
            sinfo_flags: flags as u16,
            ppid,
            context,
            pr_value: timetolive,
            address,
            ..said()
        };
        let (iov, opening) = (&client::one(msg, len), &Opening::default());
        client::send(sd, &sock, &Outgoing { header, iov, flags: 0, opening })
    };
    give(run())
}

/// Where a received message's sender goes.
type Name = (*mut sockaddr, *mut socklen_t);

/// Receives a message and stores what is asked for with any of them.
fn receive(
    sd: c_int,
    iov: &[iovec],
    (from, from_len): Name,
    flags: *mut c_int,
) -> Fallible<Option<Received>> {
    let sock = socket(sd)?;
    // An in-and-out argument, which callers of old leave out.
    let given =
        if flags.is_null() { 0 } else { Fields(&client::read_memory(flags.cast(), 4)?).u32(0) };
    let received = client::receive(sd, &sock, iov, given as c_int)?;
    //= RFC 6458 9.8-3 9.13-1
    if !flags.is_null() {
        let told = received.as_ref().map_or(0, Received::message_flags);
        client::write_memory(flags.cast(), &told.to_ne_bytes())?;
    }
    if let Some(received) = &received
        && let Some(name) = received.header.address.filter(|_| !from.is_null())
    {
        client::write_name(name, from.cast(), from_len)?;
    }
    Ok(received)
}

/// `sctp_recvv` (RFC 6458 §9.13): receives a message, and what SCTP_RECVRCVINFO and
/// SCTP_RECVNXTINFO ask for.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "as RFC 6458 has it")]
pub unsafe extern "C" fn tresse_recvv(
    sd: c_int,
    iov: *const iovec,
    iovlen: c_int,
    from: *mut sockaddr,
    fromlen: *mut socklen_t,
    info: *mut c_void,
    infolen: *mut socklen_t,
    infotype: *mut c_uint,
    flags: *mut c_int,
) -> ssize_t {
    let run = || {
        let count = usize::try_from(iovlen).map_err(|_| libc::EINVAL)?;
        let room = match infolen.is_null() || info.is_null() {
            true => 0,
            false => Fields(&client::read_memory(infolen.cast(), 4)?).u32(0) as usize,
        };
        let received = receive(sd, &client::buffers(iov, count)?, (from, fromlen), flags)?;
        let (kind, bytes) = received.as_ref().map_or((SCTP_RECVV_NOINFO, Vec::new()), infos);
        let (kind, bytes) =
            if bytes.len() > room { (SCTP_RECVV_NOINFO, Vec::new()) } else { (kind, bytes) };
        client::write_memory(info, &bytes)?;
        if !infolen.is_null() {
            client::write_memory(infolen.cast(), &(bytes.len() as socklen_t).to_ne_bytes())?;
        }
        if !infotype.is_null() {
            client::write_memory(infotype.cast(), &kind.to_ne_bytes())?;
        }
        Ok(received.map_or(0, |received| received.len))
    };
    give(run())
}

/// What `sctp_recvv` tells of a message.
fn infos(received: &Received) -> (c_uint, Vec<u8>) {
    let rcv = (received.flags & flag::RCVINFO != 0).then(|| client::rcvinfo(received));
    let nxt = received.next.as_ref().filter(|_| received.flags & flag::NXTINFO != 0);
    match (rcv, nxt.map(client::nxtinfo)) {
        (Some(rcv), Some(nxt)) => (SCTP_RECVV_RN, [rcv, nxt].concat()),
        (Some(rcv), None) => (SCTP_RECVV_RCVINFO, rcv),
        (None, Some(nxt)) => (SCTP_RECVV_NXTINFO, nxt),
        (None, None) => (SCTP_RECVV_NOINFO, Vec::new()),
    }
}

/// `sctp_recvmsg` (RFC 6458 §9.8, deprecated). `sinfo` is filled in if SCTP_EVENTS asked for
/// `sctp_data_io_event`, and with SCTP_USE_EXT_RCVINFO as `struct sctp_extrcvinfo`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_sctp_recvmsg(
    sd: c_int,
    msg: *mut c_void,
    len: size_t,
    from: *mut sockaddr,
    fromlen: *mut socklen_t,
    sinfo: *mut sctp_sndrcvinfo,
    msg_flags: *mut c_int,
) -> ssize_t {
    let run = || {
        let received = receive(sd, &client::one(msg, len), (from, fromlen), msg_flags)?;
        let Some(received) = received else { return Ok(0) };
        //= RFC 6458 9.8-2
        if !sinfo.is_null() && received.flags & flag::SNDRCVINFO != 0 {
            client::write_memory(sinfo.cast(), &client::sender_info(&received).1)?;
        }
        Ok(received.len)
    };
    give(run())
}
