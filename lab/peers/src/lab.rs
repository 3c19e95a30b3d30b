//! The peers, ready to run.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use crate::guest::{ETHERNET, WIDE};
use crate::{Guest, PeerProgram, Stack, Unavailable};

/// The interfaces of the guest: two for paths, and one for large packets, through which commands come as well.
const GUEST_MTUS: [u16; 3] = [ETHERNET, ETHERNET, WIDE];

/// What can be had of a peer.
type Had<T> = Result<T, Unavailable>;

/// Everything that cells need and that is made once.
#[derive(Debug)]
pub struct Lab {
    guest: Option<Had<Mutex<Guest>>>,
    programs: Vec<(Stack, Had<PeerProgram>)>,
    /// The next SCTP port of a server in the guest: its kernel keeps that of an association which a
    /// failed cell left behind.
    next_port: AtomicU16,
}

impl Lab {
    /// Builds and boots what `stacks` need, into `folder`; the guest stays for `lifetime` at most.
    ///
    /// # Panics
    /// When a peer does not compile or the guest does not come up.
    #[must_use]
    pub fn new(stacks: &[Stack], folder: &Path, lifetime: Duration) -> Lab {
        let mut lab = Lab { guest: None, programs: Vec::new(), next_port: AtomicU16::new(6_001) };
        let mut crates = None;
        for &stack in stacks {
            let program = match stack {
                Stack::Linux => {
                    // Whoever boots it is in its network afterwards, where the others must not be: one that
                    // is root sees packets of the kernel's associations there.
                    let guest = std::thread::scope(|scope| {
                        let boot = scope.spawn(|| Guest::boot_with(folder, &GUEST_MTUS, lifetime));
                        boot.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                    });
                    lab.guest = Some(guest.map(Mutex::new));
                    continue;
                }
                Stack::Usrsctp => PeerProgram::usrsctp(folder),
                Stack::Pion => PeerProgram::pion(folder),
                Stack::Dcsctp | Stack::SctpProto => {
                    let both = crates.get_or_insert_with(PeerProgram::crates).clone();
                    both.map(
                        |[dcsctp, sctp_proto]| {
                            if stack == Stack::Dcsctp { dcsctp } else { sctp_proto }
                        },
                    )
                }
            };
            lab.programs.push((stack, program));
        }
        lab
    }

    /// The guest, for one cell at a time.
    ///
    /// # Errors
    /// [`Unavailable`] if it cannot be had, or was not asked for.
    pub fn guest(&self) -> Had<&Mutex<Guest>> {
        match &self.guest {
            Some(guest) => guest.as_ref().map_err(Unavailable::clone),
            None => Err(Unavailable::new("the guest", "it was not asked for")),
        }
    }

    /// The program of a stack that runs on this host.
    ///
    /// # Errors
    /// [`Unavailable`] if it is not installed, or was not asked for.
    pub fn program(&self, stack: Stack) -> Had<&PeerProgram> {
        let found = self.programs.iter().find(|(known, _)| *known == stack);
        match found {
            Some((_, program)) => program.as_ref().map_err(Unavailable::clone),
            None => Err(Unavailable::new(stack.name(), "it was not asked for")),
        }
    }

    /// An SCTP port of a server in the guest that no cell has had.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.next_port.fetch_add(1, Ordering::Relaxed)
    }

    /// Which version of a stack is tested against, if that can be told.
    #[must_use]
    pub fn version(&self, stack: Stack) -> Option<String> {
        let locked = |file: &str, name: &str| {
            let text = std::fs::read_to_string(crate::peer::conformance(file)).ok()?;
            let mut words =
                text.split_whitespace().skip_while(|word| word.trim_matches('"') != name);
            words
                .find(|word| word.contains('.') && word.contains(|c: char| c.is_ascii_digit()))
                .map(|word| word.trim_matches(['"', 'v']).to_owned())
        };
        match stack {
            Stack::Linux => {
                let guest = self.guest().ok()?;
                let ask = || {
                    let guest = guest.lock().ok()?;
                    guest.enter();
                    guest.run("uname -r").into_iter().next()
                };
                std::thread::scope(|scope| scope.spawn(ask).join().ok()?)
            }
            Stack::Usrsctp => {
                let mut command = std::process::Command::new("pkg-config");
                let said = command.args(["--modversion", "usrsctp"]).output().ok()?;
                let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
                (!text.is_empty()).then_some(text)
            }
            Stack::Pion => locked("interop/pion/go.mod", "github.com/pion/sctp"),
            Stack::Dcsctp => locked("interop/peers-rust/Cargo.lock", "dcsctp"),
            Stack::SctpProto => locked("interop/peers-rust/Cargo.lock", "sctp-proto"),
        }
    }
}
