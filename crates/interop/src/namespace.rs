//! Network namespaces of Linux: networks of a test's own.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;

use nix::sched::{CloneFlags, setns, unshare};

use crate::Unavailable;

/// A network namespace with its loopback interface up. It goes when nothing uses it any more.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// Makes one and moves the calling thread into it; no other thread of the process is affected.
    ///
    /// # Errors
    /// [`Unavailable`] without the permission, or without the command `ip`.
    ///
    /// # Panics
    /// When there is no `/proc`.
    pub fn new() -> Result<Namespace, Unavailable> {
        let missing = |_| Unavailable::new("the command ip", "apt-get install iproute2");
        Command::new("ip").arg("-V").output().map_err(missing)?;
        let how = "run as root, or with CAP_SYS_ADMIN";
        unshare(CloneFlags::CLONE_NEWNET)
            .map_err(|_| Unavailable::new("permission for network namespaces", how))?;
        let file = File::open("/proc/thread-self/ns/net").expect("/proc is mounted");
        command("ip link set lo up");
        Ok(Namespace { file })
    }

    /// How the command `ip` calls it, while this value lives.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
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
        setns(&self.file, CloneFlags::CLONE_NEWNET).expect("the namespace was made here");
    }
}

/// Drops IPv4 packets that come in (`hook` is `input`) or go out (`output`) in the namespace of the
/// calling thread and fit `rule`, in the words of `nft`.
///
/// # Panics
/// When `nft` refuses.
pub fn drop_packets(hook: &str, rule: &str) {
    command("nft add table ip loss");
    command(&format!("nft add chain ip loss {hook} {{ type filter hook {hook} priority 0 ; }}"));
    command(&format!("nft add rule ip loss {hook} {rule} drop"));
}

/// Runs a command in the namespace of the calling thread; its words are separated by spaces.
///
/// # Panics
/// When it fails.
pub fn command(line: &str) {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a command");
    let output = Command::new(program).args(words).output();
    let output = output.unwrap_or_else(|e| panic!("{line}: {e}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {}", text.trim());
}
