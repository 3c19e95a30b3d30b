//! `tresse run`: hosts an engine, and runs a program whose SCTP sockets go to it.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tresse::DEFAULT_UDP_PORT;
use tresse_sockets::engine::{Folder, Server, Settings, Stop};

use tresse_console::observe::ObserveArgs;
use tresse_console::profile::profile;
use tresse_console::say::complain;

mod loader;
mod local;

/// File name of the library that is preloaded.
const LIBRARY: &str = "libtresse_preload.so";

/// How long associations that the program left behind may take to shut down, unless a signal comes.
const GRACE: Duration = Duration::from_secs(30);

/// The same if a signal has ended the program: the sender of the signal waits.
const SHORT_GRACE: Duration = Duration::from_secs(3);

/// A program that handles a signal ends because of it if it does so within this time.
const RECENT: Duration = Duration::from_secs(5);

/// Run a program whose SCTP sockets are Tresse's.
///
/// Every socket that the program, or a child of it, opens for SCTP is served by this process; all
/// other sockets stay as they are. Programs that are linked statically, gain privileges (set-user-ID)
/// or make system calls by themselves (Go) cannot be served; the former two are not started. The exit
/// status is that of the program, or 2.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How associations recover from loss, as in `tresse perf`
    #[arg(long, default_value = "tresse")]
    profile: String,
    /// Change a parameter of the profile, such as rto.min_ms=100 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    parameters: Vec<String>,
    /// How SCTP packets travel: in UDP datagrams, or directly on IP, which needs CAP_NET_RAW
    #[arg(long, value_enum, default_value_t = CarrierKind::Udp)]
    carrier: CarrierKind,
    /// UDP port for SCTP packets (RFC 6951); 0 takes a free one. Default: 9899, or a free one if
    /// that is in use
    #[arg(long)]
    udp_port: Option<u16>,
    /// Local address to send from and to receive on; several make every association of a socket
    /// that is bound to none of them multihomed. A link-local one needs its interface: fe80::1%eth0.
    /// Default: all addresses
    #[arg(long, value_name = "ADDR")]
    local: Vec<String>,
    /// UDP port of the peers that the program opens associations to
    #[arg(long, default_value_t = DEFAULT_UDP_PORT)]
    encap_port: u16,
    /// The library to preload. Default: libtresse_preload.so beside this program, in ../lib/tresse or
    /// in ../lib
    #[arg(long, env = "TRESSE_PRELOAD")]
    preload: Option<PathBuf>,
    #[command(flatten)]
    observe: ObserveArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// How SCTP packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CarrierKind {
    /// In UDP datagrams (RFC 6951).
    Udp,
    /// Directly on IP, as protocol 132.
    Raw,
}

/// Runs the program and gives its exit status.
pub(crate) fn run(args: &Args) -> ExitCode {
    match prepare(args).and_then(|(settings, library)| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(host(args, settings, &library))
    }) {
        Ok(status) => ExitCode::from(exit_code(status)),
        Err(error) => {
            complain(error);
            ExitCode::from(2)
        }
    }
}

/// As shells have it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn prepare(args: &Args) -> Result<(Settings, PathBuf), String> {
    if args.program[0].as_encoded_bytes().starts_with(b"-") {
        let word = args.program[0].display();
        return Err(format!(
            "{word} is no option of `tresse run`; a program of that name is ./{word}"
        ));
    }
    loader::check(&args.program[0])?;
    let profile = profile(&args.profile, &args.parameters)?;
    if args.encap_port == 0 {
        return Err("--encap-port 0: peers cannot be reached at UDP port 0".into());
    }
    if args.carrier == CarrierKind::Raw && args.udp_port.is_some() {
        return Err("--udp-port: there are no UDP ports with --carrier raw".into());
    }
    let addresses = local::addresses(&args.local, args.carrier == CarrierKind::Udp)?;
    let carrier = match args.carrier {
        CarrierKind::Udp => Settings::over_udp_at(&addresses, args.udp_port),
        CarrierKind::Raw => Settings::over_ip(addresses.iter().map(SocketAddr::ip).collect()),
    };
    let settings = Settings { peer_udp_port: args.encap_port, profile, ..carrier };
    Ok((settings, find_library(args.preload.as_deref())?))
}

fn find_library(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = given {
        return path
            .canonicalize()
            .map_err(|error| format!("--preload {}: {error}", path.display()));
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let folder =
        program.ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
    let places = [
        folder.join(LIBRARY),
        folder.join("deps").join(LIBRARY),
        folder.join("../lib/tresse").join(LIBRARY),
        folder.join("../lib").join(LIBRARY),
    ];
    places.iter().find_map(|path| path.canonicalize().ok()).ok_or_else(|| {
        format!(
            "{LIBRARY} is not in {}: build it with `cargo build -p tresse-preload`, or name it with --preload",
            folder.display()
        )
    })
}

async fn host(args: &Args, mut settings: Settings, library: &Path) -> Result<ExitStatus, String> {
    let mut observing = args.observe.start().await?;
    settings.trace = observing.trace;
    let folder = Folder::new().map_err(|error| error.to_string())?;
    let path = folder.engine();
    let mut server = Server::bind(&path, &settings).map_err(|error| match error.kind() {
        io::ErrorKind::AddrNotAvailable => format!("{error}: this host has no such address"),
        _ => error.to_string(),
    })?;
    if let Some(observer) = observing.observer() {
        server.observe(observer);
    }
    if let Some(address) = observing.metrics_addr() {
        // For `tresse top`.
        folder.note_metrics(address).map_err(|error| error.to_string())?;
        observing.serve(server.monitor());
    }
    let mut signals = Signals::new().map_err(|error| error.to_string())?;
    let child = start(args, library, &path)?;
    let pid = Pid::from_child(&child);
    let (ended, mut end) = oneshot::channel();
    std::thread::spawn(move || {
        let mut child = child;
        let _ = ended.send(child.wait());
    });
    let mut status = None;
    let (mut displaced, port) = (server.is_displaced(), server.udp_addr().port());
    let mut listener = std::pin::pin!(server.first_listener());
    let stop = async {
        let mut last_signal = None;
        loop {
            tokio::select! {
                biased;
                () = &mut listener, if displaced => {
                    displaced = false;
                    complain(format_args!(
                        "UDP port {DEFAULT_UDP_PORT} is taken, this program listens behind {port}: \
                         peers must use --encap-port {port}"
                    ));
                }
                (signal, passed_on) = signals.next() => {
                    if passed_on {
                        let _ = kill_process(pid, signal);
                    }
                    if !matches!(signal, Signal::USR1 | Signal::USR2 | Signal::HUP) {
                        last_signal = Some((signal, Instant::now()));
                    }
                }
                result = &mut end => {
                    let grace = match (&result, last_signal) {
                        (Ok(Ok(status)), Some((signal, at))) => {
                            grace(*status, signal, at.elapsed())
                        }
                        _ => GRACE,
                    };
                    status = Some(result);
                    return Stop { close: false, grace };
                }
            }
        }
    };
    // Once the program has ended, a signal means this process.
    let hurry = async {
        match Signals::new() {
            Ok(mut signals) => drop(signals.next().await),
            Err(_) => std::future::pending().await,
        }
    };
    let ended = server.run(stop, hurry).await;
    ended.map_err(|error| format!("the engine failed: {error}"))?;
    observing.finish();
    match status {
        Some(Ok(Ok(status))) => Ok(status),
        Some(Ok(Err(error))) => Err(error.to_string()),
        _ => Err("the program was lost".into()),
    }
}

/// How long associations may take to shut down of a program that got a signal `since` that time.
fn grace(status: ExitStatus, signal: Signal, since: Duration) -> Duration {
    let by_signal = i32::from(exit_code(status)) == 128 + signal.as_raw();
    if by_signal || since < RECENT { SHORT_GRACE } else { GRACE }
}

fn start(args: &Args, library: &Path, engine: &Path) -> Result<Child, String> {
    let program = &args.program[0];
    let mut preload = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    Command::new(program)
        .args(&args.program[1..])
        .env("LD_PRELOAD", preload)
        .env("TRESSE_ENGINE", engine)
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))
}

/// The signals that are passed on.
pub(crate) struct Signals {
    list: Vec<(tokio::signal::unix::Signal, Signal, bool)>,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Signals> {
        // What a terminal sends reaches the program by itself.
        let terminal = io::stdin().is_terminal();
        let mut list = Vec::new();
        for (kind, number, from_terminal) in [
            (SignalKind::hangup(), Signal::HUP, false),
            (SignalKind::interrupt(), Signal::INT, true),
            (SignalKind::quit(), Signal::QUIT, true),
            (SignalKind::terminate(), Signal::TERM, false),
            (SignalKind::user_defined1(), Signal::USR1, false),
            (SignalKind::user_defined2(), Signal::USR2, false),
        ] {
            list.push((signal(kind)?, number, !(terminal && from_terminal)));
        }
        Ok(Signals { list })
    }

    /// The next one, and whether it is to be passed on.
    pub(crate) async fn next(&mut self) -> (Signal, bool) {
        std::future::poll_fn(|cx| {
            for (stream, number, passed_on) in &mut self.list {
                if let std::task::Poll::Ready(Some(())) = stream.poll_recv(cx) {
                    return std::task::Poll::Ready((*number, *passed_on));
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that lives on after a signal does not end because of it.
    #[test]
    fn only_a_signal_that_ends_the_program_hurries() {
        let hour = Duration::from_secs(3600);
        let (exited, killed) = (|code: i32| ExitStatus::from_raw(code << 8), ExitStatus::from_raw);
        assert_eq!(grace(exited(0), Signal::INT, hour), GRACE);
        assert_eq!(grace(exited(1), Signal::INT, hour), GRACE);
        assert_eq!(grace(exited(0), Signal::TERM, Duration::from_secs(1)), SHORT_GRACE);
        assert_eq!(grace(exited(130), Signal::INT, hour), SHORT_GRACE);
        assert_eq!(grace(killed(15), Signal::TERM, hour), SHORT_GRACE);
        assert_eq!(grace(killed(11), Signal::INT, hour), GRACE);
    }
}
