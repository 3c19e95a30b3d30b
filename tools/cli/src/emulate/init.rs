//! The first process in the process namespace of a command: when it ends, the system ends all others
//! there, and it ends when `tresse emulate` does.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use rustix::process::{Pid, WaitOptions, WaitStatus, kill_process, wait};
use tokio::sync::oneshot;

use crate::run::Signals;
use tresse_console::say::complain;

/// Name of the subcommand, which is internal.
pub(super) const NAME: &str = "emulate-init";

/// Internal: runs one command of `tresse emulate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Process ID of `tresse emulate`
    parent: u32,
    /// The command and its arguments
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

/// Runs the command and gives its exit status, as shells have it.
pub(crate) fn run(args: &Args) -> ExitCode {
    let fault = |error: io::Error| {
        complain(format_args!("{}: {error}", args.command[0].display()));
        // As shells have it.
        ExitCode::from(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
    };
    if let Err(error) = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL) {
        return fault(error.into());
    }
    // It may have gone before it could be bound to.
    if fs::metadata(format!("/proc/{}", args.parent)).is_err() {
        return ExitCode::FAILURE;
    }
    own_view();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fault(error),
    };
    runtime.block_on(serve(args)).map_or_else(fault, ExitCode::from)
}

/// Has `/proc` and `/sys` show what is in the namespaces. Commands run without it, too.
fn own_view() {
    let none = None::<&Path>;
    let all = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() && mount(none, "/", none, all, none).is_ok() {
        let _ = mount(Some("proc"), "/proc", Some("proc"), flags, none);
        let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), flags, none);
    }
}

async fn serve(args: &Args) -> io::Result<u8> {
    let mut signals = Signals::new()?;
    let child = Command::new(&args.command[0]).args(&args.command[1..]).spawn()?;
    let pid = Pid::from_child(&child);
    let (ended, mut end) = oneshot::channel();
    std::thread::spawn(move || ended.send(reap(pid)));
    loop {
        tokio::select! {
            code = &mut end => return code.map_err(io::Error::other),
            (signal, passed_on) = signals.next() => {
                if passed_on {
                    // It may have ended a moment ago.
                    let _ = kill_process(pid, signal);
                }
            }
        }
    }
}

/// Waits for the child, and for whatever else has lost its parent; its exit status.
fn reap(child: Pid) -> u8 {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return code(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return 1,
        }
    }
}

fn code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|n| 128 + n));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
