//! Network namespaces of Linux: networks of a test's own.

use std::process::Command;

use tresse_emulator as emulator;

use crate::Unavailable;

/// A network namespace with its loopback interface up. It goes when nothing uses it any more.
#[derive(Debug)]
pub struct Namespace(emulator::Namespace);

impl Namespace {
    /// Makes one and moves the calling thread into it; no other thread of the process is affected.
    ///
    /// # Errors
    /// [`Unavailable`] without the permission, or without the command `ip`.
    pub fn new() -> Result<Namespace, Unavailable> {
        let namespace = Namespace(emulator::Namespace::new()?);
        namespace.enter();
        Ok(namespace)
    }

    /// A side of an emulation; the calling thread stays where it is.
    ///
    /// # Panics
    /// When no file can be opened.
    #[must_use]
    pub fn of(emulation: &emulator::Emulation, side: emulator::Side) -> Namespace {
        Namespace(emulation.namespace(side).try_clone().expect("a file can be opened"))
    }

    /// How the command `ip` calls it, while this value lives.
    #[must_use]
    pub fn path(&self) -> String {
        self.0.path()
    }

    /// Joins it with `other` by network `net`, an interface called `to` and its number on either side:
    /// here is 10.NET.0.1, there 10.NET.0.2. The calling thread is `there` afterwards.
    ///
    /// # Panics
    /// When there is such a network already.
    pub fn join(&self, other: &Namespace, net: u8) {
        self.enter();
        let there = other.path();
        command(&format!("ip link add to{net} type veth peer name to{net} netns {there}"));
        for (host, last) in [(self, 1), (other, 2)] {
            host.enter();
            command(&format!("ip addr add 10.{net}.0.{last}/24 dev to{net}"));
            command(&format!("ip link set to{net} up"));
        }
    }

    /// Moves the calling thread into it.
    ///
    /// # Panics
    /// When the system refuses; it permitted to make the namespace.
    pub fn enter(&self) {
        self.0.enter().expect("the namespace was made here");
    }
}

impl From<emulator::Error> for Unavailable {
    fn from(error: emulator::Error) -> Unavailable {
        match error {
            emulator::Error::Permission(_) => {
                let how = "run as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN";
                Unavailable::new("permission for network namespaces", how)
            }
            emulator::Error::Tap(error) => {
                let how = "as root; a container needs --device /dev/net/tun";
                Unavailable::new(&format!("/dev/net/tun ({error})"), how)
            }
            emulator::Error::Missing { program, package, .. } => {
                Unavailable::new(program, &format!("apt-get install {package}"))
            }
            other => Unavailable::new(&other.to_string(), "read docs/emulate.md"),
        }
    }
}

/// Drops packets that come in (`hook` is `input`) or go out (`output`) in the namespace of the
/// calling thread and fit `rule`, in the words of `nft`.
///
/// # Panics
/// When `nft` refuses.
pub fn drop_packets(hook: &str, rule: &str) {
    command("nft add table inet loss");
    command(&format!("nft add chain inet loss {hook} {{ type filter hook {hook} priority 0 ; }}"));
    command(&format!("nft add rule inet loss {hook} {rule} drop"));
}

/// Runs a command in the namespace of the calling thread; its words are separated by spaces.
///
/// # Panics
/// When it fails.
pub fn command(line: &str) {
    attempt(line).unwrap_or_else(|why| panic!("{why}"));
}

/// The same: what it says, or why it failed.
pub(crate) fn attempt(line: &str) -> Result<String, String> {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a command");
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|e| format!("{line}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{line}: {}", text(&output.stderr)))
    }
}
