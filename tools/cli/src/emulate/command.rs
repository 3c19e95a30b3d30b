//! One command on its side: a process tree that goes when this process does.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::mpsc::UnboundedSender;
use tresse_emulator::{Emulation, Namespace, Side};

use super::init;
use crate::run::exit_code;

/// A command that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) side: Side,
    pub(super) words: Vec<OsString>,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        write!(f, "{}: `{}`", self.side.name(), words.join(" "))
    }
}

/// A command has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// That of [`Running::id`].
    pub(super) id: u32,
    /// Its exit status as shells have it: 128 and the number of the signal that ended it.
    pub(super) code: u8,
}

impl Ended {
    /// For the user.
    pub(super) fn how(self) -> String {
        let signal = self.code.checked_sub(128).and_then(|n| Signal::try_from(i32::from(n)).ok());
        match signal {
            Some(signal) => format!("was ended by {}", signal.as_str()),
            None => format!("ended with status {}", self.code),
        }
    }
}

/// A command that runs.
#[derive(Debug)]
pub(super) struct Running {
    task: Task,
    /// Its init, to which signals go.
    init: u32,
}

impl Running {
    /// Starts it in a process namespace of its own; its end goes to `ends`.
    pub(super) fn start(
        emulation: &Emulation,
        task: Task,
        ends: UnboundedSender<Ended>,
    ) -> Result<Running, String> {
        let fault = |error: io::Error| format!("{task}: {error}");
        let namespace = emulation.namespace(task.side).try_clone().map_err(fault)?;
        let (started, starting) = mpsc::channel();
        let words = task.words.clone();
        let read = task.side == Side::Left;
        // The system kills a child when the thread that started it ends: this one waits for it.
        let wait = move || {
            let mut child = match spawn(&namespace, &words, read) {
                Ok(child) => child,
                Err(error) => return drop(started.send(Err(error))),
            };
            let id = child.id();
            let _ = started.send(Ok(id));
            let code = child.wait().map_or(1, exit_code);
            // A receiver that has gone does not need it.
            let _ = ends.send(Ended { id, code });
        };
        std::thread::Builder::new().spawn(wait).map_err(fault)?;
        let started = starting.recv().unwrap_or_else(|_| Err(io::Error::other("no answer")));
        let init = started.map_err(fault)?;
        Ok(Running { task, init })
    }

    pub(super) const fn task(&self) -> &Task {
        &self.task
    }

    /// Tells it apart from others.
    pub(super) const fn id(&self) -> u32 {
        self.init
    }

    /// Sends it a signal; SIGKILL ends all its children as well.
    pub(super) fn tell(&self, signal: Signal) {
        if let Ok(pid) = i32::try_from(self.init) {
            // It may have ended a moment ago.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

/// Starts a command, as a child of an init of its own, in the namespace.
fn spawn(namespace: &Namespace, words: &[OsString], read: bool) -> io::Result<Child> {
    namespace.enter()?;
    unshare(CloneFlags::CLONE_NEWPID)?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(init::NAME).arg(std::process::id().to_string()).arg("--").args(words);
    if !read {
        command.stdin(Stdio::null());
    }
    command.spawn()
}
