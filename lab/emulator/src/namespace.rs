//! Network namespaces that have no name.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};

use crate::Error;

/// A network namespace. It goes when nothing uses it any more: this value, a process, an interface.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

/// What it took to be permitted to make network namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The process had it already.
    Own,
    /// It is in a user namespace of its own now, as root of that.
    UserNamespace,
}

impl Privilege {
    /// Makes sure that the process may make network namespaces, by moving it into a user namespace if
    /// it may not. Call it before there is a second thread: the system refuses later.
    ///
    /// # Errors
    /// [`Error::Permission`].
    pub fn acquire() -> Result<Privilege, Error> {
        if has_capabilities() {
            return Ok(Privilege::Own);
        }
        let (user, group) = (geteuid(), getegid());
        unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| Error::Permission(error.into()))?;
        // user_namespaces(7): groups can be mapped only once setgroups is denied.
        fs::write("/proc/self/setgroups", "deny")
            .and_then(|()| fs::write("/proc/self/uid_map", format!("0 {user} 1")))
            .and_then(|()| fs::write("/proc/self/gid_map", format!("0 {group} 1")))
            .map_err(Error::Permission)?;
        Ok(Privilege::UserNamespace)
    }
}

/// Whether CAP_NET_ADMIN and CAP_SYS_ADMIN are effective (capabilities(7)).
fn has_capabilities() -> bool {
    const WANTED: u64 = 1 << 12 | 1 << 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    effective.is_some_and(|bits| bits & WANTED == WANTED)
}

impl Namespace {
    /// Makes one, with its loopback interface up. The calling thread stays where it is.
    ///
    /// # Errors
    /// [`Error::Permission`], or [`Error::Missing`] without the command `ip`.
    pub fn new() -> Result<Namespace, Error> {
        let made = on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        });
        let namespace = Namespace { file: made.map_err(Error::Permission)? };
        namespace.ip(&["link set lo up".into()])?;
        Ok(namespace)
    }

    /// Another hold on the same namespace.
    ///
    /// # Errors
    /// Those of the system.
    pub fn try_clone(&self) -> io::Result<Namespace> {
        Ok(Namespace { file: self.file.try_clone()? })
    }

    /// What the commands `ip` and `nsenter` call it, as long as this value lives.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Moves the calling thread into it; children that it starts are there as well.
    ///
    /// # Errors
    /// Those of the system.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.file, CloneFlags::CLONE_NEWNET)?)
    }

    /// Runs `work` on a thread of its own in the namespace, and waits for it.
    ///
    /// # Errors
    /// Those of entering, and those of `work`.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_a_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Has the command `ip` carry out `lines`, each as it would be given to it in a shell.
    ///
    /// # Errors
    /// [`Error::Tool`], with what `ip` said; [`Error::Missing`] without it.
    pub fn ip(&self, lines: &[String]) -> Result<(), Error> {
        let mut ip = Command::new("ip");
        ip.args(["-batch", "-"]);
        ip.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let run = || {
            let mut child = ip.spawn()?;
            let mut input = child.stdin.take().expect("it is a pipe");
            let written = input.write_all((lines.join("\n") + "\n").as_bytes());
            drop(input);
            let output = child.wait_with_output()?;
            written.map(|()| output)
        };
        let output = self.inside(run).map_err(|source| Error::Missing {
            program: "ip",
            package: "iproute2",
            source,
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        Err(Error::Tool(format!("ip, of {lines:?}: {said}")))
    }

    /// Writes settings below `/proc/sys/net/`.
    ///
    /// # Errors
    /// [`Error::System`] for the first that is refused.
    pub fn sysctl(&self, settings: &[(&str, &str)]) -> Result<(), Error> {
        for (key, value) in settings {
            self.inside(|| fs::write(format!("/proc/sys/net/{key}"), value))
                .map_err(Error::system(format!("/proc/sys/net/{key}")))?;
        }
        Ok(())
    }

    /// A command that will run in the namespace, and is killed when the thread that starts it ends.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "nsenter"]);
        command.arg(format!("--net={}", self.path())).arg("--").arg(program);
        command
    }
}

/// Runs `work` on a thread of its own, so that the caller's namespaces stay as they are.
fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
    })
}
