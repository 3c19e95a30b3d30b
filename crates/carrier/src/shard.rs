//! Several sockets on one address, and which of them a packet goes to.

use std::io;

use socket2::Socket;

/// One of several carriers that share their local addresses, each driven on its own, so that several
/// processors can work at once.
///
/// On Linux the kernel gives a UDP packet to carrier number (verification tag modulo `count`); an
/// endpoint that chooses its tags accordingly finds its packets on the right carrier. INITs, which
/// have the tag 0, go by their initiate tag. On raw IP everything goes to number 0. Other systems give
/// packets to any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, below `count`. They must be bound in the order of their numbers.
    pub index: u16,
    /// How many there are, at least 1.
    pub count: u16,
}

impl Shard {
    /// Before the socket is bound: several may have the address.
    pub(crate) fn share(self, socket: &Socket) -> io::Result<()> {
        if self.count < 2 {
            return Ok(());
        }
        #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
        return socket.set_reuse_port(true);
        #[cfg(not(all(unix, not(any(target_os = "solaris", target_os = "illumos")))))]
        {
            let _ = socket;
            let why = "on this system sockets cannot share an address: use one shard";
            Err(io::Error::new(io::ErrorKind::Unsupported, why))
        }
    }

    /// After a UDP socket was bound: packets find theirs by the tag.
    pub(crate) fn steer_udp(self, socket: &Socket) -> io::Result<()> {
        if self.count < 2 || self.index > 0 {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        linux::steer_by_tag(socket, self.count)?;
        let _ = socket;
        Ok(())
    }

    /// A raw socket sees every packet, so all but the first one are made blind.
    #[cfg(target_os = "linux")]
    pub(crate) fn steer_raw(self, socket: &Socket) -> io::Result<()> {
        if self.index == 0 { Ok(()) } else { linux::see_nothing(socket) }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use nix::libc;
    use nix::sys::socket::{setsockopt, sockopt};
    use socket2::{SockFilter, Socket};

    /// Where the verification tag stands in an SCTP packet (RFC 9260 §3.1).
    const TAG: u32 = 4;

    /// Where the initiate tag stands if the packet is an INIT (RFC 9260 §3.3.2).
    const INITIATE_TAG: u32 = 16;

    /// The number of the socket is the tag modulo `count`. What is too short for a tag, and what comes
    /// before all sockets are bound, the kernel gives to any of them.
    pub(super) fn steer_by_tag(socket: &Socket, count: u16) -> io::Result<()> {
        let step = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        let unless_zero_skip_one = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        // The program sees the packet from the end of the UDP header on.
        let mut program = [
            step(load, TAG),
            libc::sock_filter { jf: 1, ..step(unless_zero_skip_one, 0) },
            step(load, INITIATE_TAG),
            step(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, u32::from(count)),
            step(libc::BPF_RET | libc::BPF_A, 0),
        ];
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        Ok(setsockopt(socket, sockopt::AttachReusePortCbpf, &program)?)
    }

    /// No packet passes.
    pub(super) fn see_nothing(socket: &Socket) -> io::Result<()> {
        socket.attach_filter(&[SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, 0)])
    }
}
