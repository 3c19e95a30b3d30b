//! Tests: whatever comes instead of frames of the engine is an error, never more than there is room for.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind,
    listen, recv, send, socket, socketpair,
};
use tresse_socket_protocol::protocol::{
    HEADER, MAX_CONTROL, MAX_RX_PAYLOAD, RxHeader, kind, reply,
};

use crate::engine::set_engine;
use crate::receive::{readable_bytes, receive};
use crate::request::call;
use crate::sock::{Sock, Stage};
use crate::transfer::one;
use crate::{addresses, get_option};

fn pair() -> (OwnedFd, OwnedFd) {
    let flags = SocketFlags::CLOEXEC;
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
}

/// What `recv(fd, .., 10)` gives for a frame.
fn received(frame: &[u8]) -> Result<usize, i32> {
    let (here, there) = pair();
    send(&there, frame, SendFlags::empty()).unwrap();
    let sock = Sock::new(1, false, true, Stage::Busy);
    let mut buffer = [0_u8; 10];
    let iov = one(buffer.as_mut_ptr().cast(), buffer.len());
    let waiting = readable_bytes(here.as_raw_fd(), &sock);
    let result = receive(here.as_raw_fd(), &sock, &iov, libc::MSG_DONTWAIT);
    assert!(waiting.is_ok_and(|bytes| bytes <= MAX_RX_PAYLOAD) || result.is_err(), "{waiting:?}");
    result.map(|received| received.map_or(0, |received| received.len))
}

#[test]
fn a_frame_has_the_length_that_it_says() {
    let frame = |length: u32, payload: usize| {
        let header = RxHeader { kind: kind::DATA, length, ..RxHeader::default() };
        [&header.encode()[..], &vec![7; payload]].concat()
    };
    assert_eq!(received(&frame(4, 4)), Ok(4));
    assert_eq!(received(&frame(100, 100)), Ok(10));
    for len in 1..HEADER {
        assert_eq!(received(&frame(0, 0)[..len]), Err(libc::EPROTO), "{len}");
        assert_eq!(received(&vec![0xff; len]), Err(libc::EPROTO), "{len}");
    }
    // More than it says, or more than any frame has.
    assert_eq!(received(&frame(4, 5)), Err(libc::EPROTO));
    assert_eq!(received(&frame(u32::MAX, 4)), Err(libc::EPROTO));
    assert_eq!(received(&frame(MAX_RX_PAYLOAD as u32 + 1, 4)), Err(libc::EPROTO));
}

#[test]
fn whatever_is_answered_is_an_answer_or_an_error() {
    let place = std::env::temp_dir().join(format!("tresse-client-test-{}", std::process::id()));
    let listener = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&place).unwrap()).unwrap();
    listen(&listener, 16).unwrap();
    assert_eq!(set_engine(place.clone()), place);
    let answers: Vec<Vec<u8>> = (0..64)
        .flat_map(|len| [0, 1, 0x7f, 0xff].map(|fill| vec![fill; len]))
        .chain((0..64).map(|len| reply(0, -1, &vec![0xff; len])))
        .chain([reply(0, i64::MAX, &vec![2; MAX_CONTROL - 12])])
        .collect();
    let count = answers.len();
    let engine = std::thread::spawn(move || {
        for answer in answers {
            for _ in 0..3 {
                let conn = accept(&listener).unwrap();
                recv(&conn, &mut [0; MAX_CONTROL][..], RecvFlags::empty()).unwrap();
                if !answer.is_empty() {
                    send(&conn, &answer, SendFlags::NOSIGNAL).unwrap();
                }
            }
        }
    });
    let sock = Sock::new(1, false, false, Stage::Busy);
    for _ in 0..count {
        let mut value = [0_u8; 16];
        let mut len: libc::socklen_t = 8;
        let at = (value.as_mut_ptr().cast(), &raw mut len);
        if get_option(-1, &sock, (libc::SOL_SOCKET, libc::SO_LINGER), at).is_ok() {
            assert!(len <= 8);
        }
        assert_eq!(value[8..], [0; 8]);
        if let Ok((number, list)) = addresses(&sock, true, 0) {
            // 16 bytes are the least that an address takes.
            assert!(number as usize * 16 <= list.len());
        }
        let _ = call(tresse_socket_protocol::protocol::Op::TakeError, 1, (0, 0), Vec::new());
    }
    engine.join().unwrap();
    std::fs::remove_file(place).unwrap();
}
