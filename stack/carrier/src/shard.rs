//! Several sockets on one address, and which of them a packet goes to.

use std::io;

use socket2::Socket;

/// One of several carriers that share their local addresses, each driven on its own, so that several
/// processors can work at once.
///
/// On Linux the kernel gives a UDP packet to the carrier that [`key`](Self::key) and the verification tag
/// say; an endpoint that chooses its tags accordingly finds its packets on the right carrier. INITs, which
/// have the tag 0, go to any of them, so that no sender can choose. On raw IP everything goes to number 0.
/// Other systems give packets to any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, below `count`. They must be bound in the order of their numbers.
    pub index: u16,
    /// How many there are, at least 1.
    pub count: u16,
    /// The numbers (x, m) of the rule. In 32 bits, beginning with `a = tag ^ x`, twice: `a = a * m`,
    /// `a = a ^ (a >> 16)`. The carrier is `a` modulo `count`. For all carriers the same, and a secret.
    pub key: [u32; 2],
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
        linux::steer_by_tag(socket, self)?;
        let _ = socket;
        Ok(())
    }

    /// A raw socket sees every packet, so all but the first one are made blind.
    #[cfg(target_os = "linux")]
    pub(crate) fn steer_raw(self, socket: &Socket) -> io::Result<()> {
        if self.index == 0 { Ok(()) } else { see_nothing(socket) }
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::see_nothing;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use nix::libc;
    use nix::sys::socket::{setsockopt, sockopt};
    use socket2::{SockFilter, Socket};

    use super::Shard;

    /// Where the verification tag stands in an SCTP packet (RFC 9260 §3.1).
    const TAG: u32 = 4;

    /// What a filter loads as a random number.
    const RANDOM: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM) as u32;

    /// The number of the socket follows from the tag, see [`Shard`]. What is too short for a tag, and what
    /// comes before all sockets are bound, the kernel gives to any of them.
    pub(super) fn steer_by_tag(socket: &Socket, shard: Shard) -> io::Result<()> {
        let step = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        let unless_zero_skip_one = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let [x, m] = shard.key;
        let multiply = step(libc::BPF_ALU | libc::BPF_MUL | libc::BPF_K, m);
        let copy = step(libc::BPF_MISC | libc::BPF_TAX, 0);
        let shift = step(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 16);
        let mix = step(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0);
        // The program sees the packet from the end of the UDP header on.
        let mut program = [
            step(load, TAG),
            libc::sock_filter { jf: 1, ..step(unless_zero_skip_one, 0) },
            step(load, RANDOM),
            step(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_K, x),
            multiply,
            copy,
            shift,
            mix,
            multiply,
            copy,
            shift,
            mix,
            step(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, u32::from(shard.count)),
            step(libc::BPF_RET | libc::BPF_A, 0),
        ];
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        Ok(setsockopt(socket, sockopt::AttachReusePortCbpf, &program)?)
    }

    /// No packet passes.
    pub(crate) fn see_nothing(socket: &Socket) -> io::Result<()> {
        socket.attach_filter(&[SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, 0)])
    }
}
