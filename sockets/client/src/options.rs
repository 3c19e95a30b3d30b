//! `setsockopt` and `getsockopt`.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use tresse_socket_protocol::abi::{Fields, SCTP, Struct, read_packed};
use tresse_socket_protocol::options::{event, name};
use tresse_socket_protocol::protocol::{Op, flag};

use crate::Fallible;
use crate::memory::{read_memory, write_memory};
use crate::names::{connect, limit_unsent, take};
use crate::receive::start_over;
use crate::request::{Pending, call, take_error};
use crate::sock::{FLAGS_NOTED, Sock, lock};

/// The longest value of an option: a key of 65 535 bytes, and what stands behind it.
const MAX_VALUE: usize = 72 * 1024;

/// Remembers which information messages are to be handed over with: frames that are under way do
/// not know it yet.
fn note_flags(sock: &Sock, option: i32, value: &[u8]) {
    let f = Fields(value);
    let (bit, on) = match option {
        name::EVENTS => (flag::SNDRCVINFO, f.u8(0) != 0),
        // As in the kernel it is asked for a socket, not for an association.
        name::EVENT
            if f.u16(4) == event::DATA_IO_EVENT && (!sock.many || matches!(f.u32(0), 0 | 2)) =>
        {
            (flag::SNDRCVINFO, f.u8(6) != 0)
        }
        name::RECVRCVINFO => (flag::RCVINFO, f.u32(0) != 0),
        name::RECVNXTINFO => (flag::NXTINFO, f.u32(0) != 0),
        name::USE_EXT_RCVINFO => (flag::EXTRCVINFO, f.u32(0) != 0),
        _ => return,
    };
    let bit = u16::from(bit);
    let change = |flags: u16| Some(FLAGS_NOTED | if on { flags | bit } else { flags & !bit });
    let _ = sock.flags.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
}

/// `setsockopt`. Its value is 0, but for SCTP_SOCKOPT_CONNECTX that of an association.
///
/// # Errors
/// As `setsockopt`.
pub fn set_option(
    fd: i32,
    sock: &Sock,
    (level, option): (i32, i32),
    (value, len): (*const c_void, libc::socklen_t),
) -> Fallible<i32> {
    let len = len as usize;
    if i32::try_from(len).is_err() || len > MAX_VALUE {
        return Err(libc::EINVAL);
    }
    let bytes = read_memory(value, len)?;
    if level == SCTP && matches!(option, name::CONNECTX | name::CONNECTX_OLD) {
        let peers = read_packed(&bytes).ok_or(libc::EINVAL)?;
        let (number, done) = connect(fd, sock, &peers)?;
        if !done {
            return Err(libc::EINPROGRESS);
        }
        return Ok(if option == name::CONNECTX { number as i32 } else { 0 });
    }
    if level == SCTP {
        note_flags(sock, option, &bytes);
    }
    if level == libc::SOL_SOCKET && option == libc::SO_LINGER && len >= 8 {
        let f = Fields(&bytes);
        let seconds = if f.u32(0) != 0 { i32::try_from(f.u32(4)).unwrap_or(i32::MAX) } else { -1 };
        sock.linger.store(seconds, Ordering::Relaxed);
    }
    let number = bytes.first_chunk().map(|number| u32::from_ne_bytes(*number));
    call(Op::SetOption, sock.inode, (level.into(), option.into()), bytes)?;
    let is_size =
        level == libc::SOL_SOCKET && [name::SO_SNDBUF, name::SO_SNDBUFFORCE].contains(&option);
    if let Some(size) = number.filter(|_| is_size) {
        limit_unsent(fd, sock, size.max(1));
    }
    // What can be sent without asking may be something else now.
    sock.streams.store(0, Ordering::Relaxed);
    Ok(0)
}

/// `getsockopt`.
///
/// # Errors
/// As `getsockopt`.
pub fn get_option(
    fd: i32,
    sock: &Sock,
    (level, option): (i32, i32),
    (value, len): (*mut c_void, *mut libc::socklen_t),
) -> Fallible<i32> {
    let given = Fields(&read_memory(len.cast(), 4)?).u32(0);
    let room = i32::try_from(given).map_err(|_| libc::EINVAL)? as usize;
    if level == SCTP {
        match option {
            name::PEELOFF | name::PEELOFF_FLAGS => return peel_off_at(sock, option, (value, room)),
            name::CONNECTX3 => return connectx(fd, sock, (value, room)),
            _ => {}
        }
    }
    let bytes = if level == SCTP { read_memory(value, room.min(256))? } else { Vec::new() };
    let answer = if (level, option) == (libc::SOL_SOCKET, libc::SO_ERROR) {
        let Pending { error, attempt, .. } = take_error(sock.inode);
        if attempt {
            start_over(fd, sock);
        }
        error.to_ne_bytes().to_vec()
    } else {
        call(Op::GetOption, sock.inode, (level.into(), option.into()), bytes)?.1
    };
    let n = answer.len().min(room);
    //= RFC 6458 8.2.6-2
    if level == SCTP && n < answer.len() {
        match option {
            name::GET_PEER_ADDRS | name::GET_LOCAL_ADDRS => return Err(libc::ENOMEM),
            // Its length grows from one version of the system to the next.
            name::EVENTS => {}
            _ => return Err(libc::EINVAL),
        }
    }
    write_memory(value, &answer[..n])?;
    write_memory(len.cast(), &(n as u32).to_ne_bytes())?;
    Ok(0)
}

/// `sctp_peeloff` as libsctp calls it: a number, and room for a descriptor.
fn peel_off_at(sock: &Sock, option: i32, (value, room): (*mut c_void, usize)) -> Fallible<i32> {
    let needed = if option == name::PEELOFF { 8 } else { 12 };
    if room < needed {
        return Err(libc::EINVAL);
    }
    let f = read_memory(value, needed)?;
    let fd = peel_off(sock, Fields(&f).u32(0), Fields(&f).u32(8) as i32)?;
    write_memory(value.wrapping_byte_add(4), &fd.to_ne_bytes())?;
    Ok(fd)
}

/// `sctp_peeloff_flags`: the new descriptor.
///
/// # Errors
/// As `sctp_peeloff`.
pub fn peel_off(sock: &Sock, number: u32, flags: i32) -> Fallible<i32> {
    call(Op::PeelOff, sock.inode, (i64::from(number), 0), Vec::new())?;
    *lock(&sock.approved) = None;
    take(sock, i64::from(number), flags).map(|(fd, _)| fd)
}

/// `sctp_getpaddrs` (`peer`) and `sctp_getladdrs`: how many, and packed one behind the other.
///
/// # Errors
/// `EINVAL` if a one-to-many socket has no association of that number.
pub fn addresses(sock: &Sock, peer: bool, number: u32) -> Fallible<(u32, Vec<u8>)> {
    let option = if peer { name::GET_PEER_ADDRS } else { name::GET_LOCAL_ADDRS };
    let given = number.to_ne_bytes().to_vec();
    match call(Op::GetOption, sock.inode, (SCTP.into(), option.into()), given) {
        Ok((_, answer)) => {
            let list = answer.get(8..).unwrap_or(&[]);
            let there = read_packed(list).map_or(0, |list| list.len() as u32);
            // Whoever walks through them trusts the number.
            if Fields(&answer).u32(4) > there {
                Err(libc::EPROTO)
            } else {
                Ok((there, list.to_vec()))
            }
        }
        // RFC 6458 §9.3: "If there is no association on this socket, sctp_getpaddrs() returns 0".
        Err(libc::EINVAL | libc::ENOTCONN) if !sock.many => Ok((0, Vec::new())),
        Err(error) => Err(error),
    }
}

/// `sctp_connectx` as libsctp calls it: `struct sctp_getaddrs_old`, in which the number of
/// addresses is their length in bytes.
fn connectx(fd: i32, sock: &Sock, (value, room): (*mut c_void, usize)) -> Fallible<i32> {
    let needed = 8 + size_of::<usize>();
    if room < needed {
        return Err(libc::EINVAL);
    }
    let given = read_memory(value, needed)?;
    let mut pointer = [0; size_of::<usize>()];
    pointer.copy_from_slice(&given[8..]);
    let list = usize::from_ne_bytes(pointer) as *const c_void;
    let len = Fields(&given).u32(4) as usize;
    if len > MAX_VALUE {
        return Err(libc::EINVAL);
    }
    let peers = read_packed(&read_memory(list, len)?).ok_or(libc::EINVAL)?;
    let (number, done) = connect(fd, sock, &peers)?;
    write_memory(value, &Struct::default().u32(number as u32).0)?;
    if done { Ok(0) } else { Err(libc::EINPROGRESS) }
}
