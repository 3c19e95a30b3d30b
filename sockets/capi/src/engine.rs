//! The engine of the process.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::path::Path;
use std::process;
use std::sync::{Arc, Mutex, Once, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::geteuid;
use tokio::sync::oneshot;
use tresse_client as client;
use tresse_core::Profile;
use tresse_sockets::engine::{Folder, Server, Settings, Stop};

use crate::fork;

/// `carrier`: SCTP in UDP datagrams (RFC 6951).
pub const TRESSE_UDP: c_int = 0;
/// `carrier`: directly on IP, as protocol 132; needs the capability CAP_NET_RAW.
pub const TRESSE_IP: c_int = 1;

/// What `tresse_start` takes. Members that are 0 or NULL mean the default.
#[allow(non_camel_case_types, reason = "its name in C")]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tresse_config {
    /// `sizeof(struct tresse_config)`: a program goes on working when members are added.
    pub size: usize,
    /// How associations recover from loss: a profile, also with overlays
    /// ("rfc9260+early-retransmit-packets"). Default: "tresse".
    pub profile: *const c_char,
    /// Local addresses, separated by commas ("192.0.2.1,198.51.100.1"). Several make every
    /// association of a socket that is bound to none of them multihomed. Default: all
    /// addresses.
    pub local: *const c_char,
    /// TRESSE_UDP or TRESSE_IP.
    pub carrier: c_int,
    /// UDP port for SCTP packets; -1: a free one. Default: 9899, or a free one if that is in use.
    pub udp_port: c_int,
    /// UDP port of the peers to which associations are opened. Default: 9899.
    pub peer_udp_port: c_int,
    /// How long `exit` waits, in milliseconds, for associations to be shut down. Default: 5000.
    pub exit_ms: c_int,
}

/// What went wrong: `errno` and one line.
struct Failure(c_int, String);

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        let number = error.raw_os_error().unwrap_or(match error.kind() {
            ErrorKind::AddrInUse => libc::EADDRINUSE,
            ErrorKind::AddrNotAvailable => libc::EADDRNOTAVAIL,
            ErrorKind::PermissionDenied => libc::EPERM,
            ErrorKind::InvalidInput => libc::EINVAL,
            ErrorKind::Unsupported => libc::EAFNOSUPPORT,
            _ => libc::EIO,
        });
        Failure(number, error.to_string())
    }
}

fn invalid(text: String) -> Failure {
    Failure(libc::EINVAL, text)
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// The engine's thread.
struct Running {
    /// The process it is in; a child has this value, too, but not the thread.
    process: u32,
    stop: oneshot::Sender<Stop>,
    thread: JoinHandle<()>,
    exit: Duration,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);
/// The engine's place stays the same when it is stopped and started.
static FOLDER: Mutex<Option<(u32, Folder)>> = Mutex::new(None);

/// Starts the engine of this process, which has a thread of its own; `config` may be NULL. Returns
/// 0, or 1 if there is nothing to start: an engine is named by TRESSE_ENGINE in the environment, as
/// `tresse run` does, or the process that forked this one has one; sockets are that one's then.
///
/// Returns -1 on error, sets errno, and `tresse_error` says more: EINVAL for a member that is wrong,
/// EADDRINUSE and EADDRNOTAVAIL as `bind`, EPERM without the capability for TRESSE_IP, EALREADY if
/// it runs already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_start(config: *const tresse_config) -> c_int {
    match read_config(config).and_then(|(settings, exit)| start(settings, exit)) {
        Ok(started) => {
            // Root can become another user, and this library is not told when it does: it prepares for that at once.
            if geteuid().is_root() {
                client::keep_reaching();
            }
            c_int::from(!started)
        }
        Err(Failure(number, text)) => {
            let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
            ERROR.with(|error| *error.borrow_mut() = text);
            client::give_int(Err(number))
        }
    }
}

/// One line about the last failure of `tresse_start` in this thread; valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn tresse_error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
}

/// Stops the engine of this process. Sockets that are still open are closed as by `close`, and
/// their associations have `timeout_ms` to be shut down; what is left after that is lost. Then the
/// engine can be started again. Returns 0, also if none runs, or -1 and EINVAL for a negative time.
/// `exit` does this by itself.
#[unsafe(no_mangle)]
pub extern "C" fn tresse_stop(timeout_ms: c_int) -> c_int {
    let Ok(grace) = u64::try_from(timeout_ms) else {
        return client::give_int(Err(libc::EINVAL));
    };
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).take();
    end(running, Some(Duration::from_millis(grace)));
    0
}

fn end(running: Option<Running>, grace: Option<Duration>) {
    let Some(running) = running.filter(|running| running.process == process::id()) else { return };
    let grace = grace.unwrap_or(running.exit);
    let _ = running.stop.send(Stop { close: true, grace });
    let _ = running.thread.join();
}

extern "C" fn at_exit() {
    if let Ok(mut running) = RUNNING.try_lock() {
        end(running.take(), None);
    }
    if let Ok(mut folder) = FOLDER.try_lock()
        && folder.as_ref().is_some_and(|(process, _)| *process == process::id())
    {
        *folder = None;
    }
}

/// A text of the program.
fn text(at: *const c_char, what: &str) -> Result<Option<String>, Failure> {
    if at.is_null() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    loop {
        let next = at.cast::<c_void>().wrapping_byte_add(bytes.len());
        match client::read_memory(next, 1) {
            Ok(byte) if byte == [0] => break,
            Ok(byte) if bytes.len() < 4096 => bytes.extend(byte),
            Ok(_) => return Err(invalid(format!("{what}: longer than 4096 bytes"))),
            Err(error) => return Err(Failure(error, format!("{what}: a bad pointer"))),
        }
    }
    String::from_utf8(bytes).map(Some).map_err(|_| invalid(format!("{what}: not UTF-8")))
}

/// The structure as far as the program has it.
fn read_struct(at: *const tresse_config) -> Result<tresse_config, Failure> {
    // SAFETY: null pointers and zeros.
    let mut config: tresse_config = unsafe { MaybeUninit::zeroed().assume_init() };
    if at.is_null() {
        return Ok(config);
    }
    let read = |len| client::read_memory(at.cast(), len).map_err(|e| Failure(e, "config".into()));
    let mut size = [0; size_of::<usize>()];
    size.copy_from_slice(&read(size_of::<usize>())?);
    let size = usize::from_ne_bytes(size);
    if size < size_of::<usize>() || size > size_of::<tresse_config>() {
        return Err(invalid(format!("size: {size}, not sizeof(struct tresse_config)")));
    }
    let bytes = read(size)?;
    // SAFETY: no more than the structure has, of which all bytes are valid.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut config).cast(), size) };
    Ok(config)
}

fn read_config(at: *const tresse_config) -> Result<(Settings, Duration), Failure> {
    let config = read_struct(at)?;
    let port = |n: c_int, what: &str| {
        u16::try_from(n).map_err(|_| invalid(format!("{what}: {n} is no UDP port")))
    };
    let list = text(config.local, "local")?.unwrap_or_default();
    let parse = |item: &str| {
        let item = item.trim();
        item.parse().map_err(|_| invalid(format!("local: `{item}` is no IP address")))
    };
    let local: Vec<IpAddr> =
        list.split(',').filter(|item| !item.is_empty()).map(parse).collect::<Result<_, _>>()?;
    let mut settings = match (config.carrier, config.udp_port) {
        (TRESSE_UDP, -1) => Settings::over_udp(&local, Some(0)),
        (TRESSE_UDP, 0) => Settings::over_udp(&local, None),
        (TRESSE_UDP, n) => Settings::over_udp(&local, Some(port(n, "udp_port")?)),
        (TRESSE_IP, 0) => Settings::over_ip(local),
        (TRESSE_IP, _) => return Err(invalid("udp_port: there is none with TRESSE_IP".into())),
        (n, _) => return Err(invalid(format!("carrier: {n} is neither TRESSE_UDP nor TRESSE_IP"))),
    };
    if config.peer_udp_port != 0 {
        settings.peer_udp_port = port(config.peer_udp_port, "peer_udp_port")?;
    }
    if let Some(name) = text(config.profile, "profile")? {
        let profile = Profile::named(&name).map_err(|error| invalid(error.to_string()))?;
        settings.profile = Arc::new(profile);
    }
    let exit = u64::try_from(config.exit_ms)
        .map_err(|_| invalid(format!("exit_ms: {}", config.exit_ms)))?;
    Ok((settings, Duration::from_millis(if exit == 0 { 5000 } else { exit })))
}

/// `false` if there is another engine to use.
fn start(settings: Settings, exit: Duration) -> Result<bool, Failure> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    match &*running {
        Some(running) if running.process != process::id() => return Ok(false),
        Some(running) if !running.thread.is_finished() => {
            return Err(Failure(libc::EALREADY, "the engine runs already".into()));
        }
        _ => {}
    }
    let path = {
        let mut folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        if client::engine_path().is_none() {
            *folder = Some((process::id(), Folder::new()?));
        }
        match &*folder {
            Some((_, folder)) if client::set_engine(folder.engine()) == folder.engine() => {
                folder.engine()
            }
            // That of the environment: processes that have it, too, may share sockets.
            _ => {
                client::share();
                return Ok(false);
            }
        }
    };
    static AT_EXIT: Once = Once::new();
    // SAFETY: a function that needs nothing.
    AT_EXIT.call_once(|| _ = unsafe { libc::atexit(at_exit) });
    let (stop, stopped) = oneshot::channel();
    let (told, started) = mpsc::channel();
    let thread = without_signals(|| {
        thread::Builder::new()
            .name("tresse".into())
            .spawn(move || serve(&path, &settings, stopped, &told))
    })?;
    match started.recv() {
        Ok(Ok(())) => {
            *running = Some(Running { process: process::id(), stop, thread, exit });
            Ok(true)
        }
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Failure(libc::EIO, "the engine's thread has ended".into())),
    }
}

/// Calls `spawn` while signals are blocked, which the new thread takes over: signals are for the
/// program's own threads.
fn without_signals<T>(spawn: impl FnOnce() -> T) -> T {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: the sets are filled in before they are used.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = spawn();
    // SAFETY: it was filled in above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    result
}

/// The engine's thread.
fn serve(
    path: &Path,
    settings: &Settings,
    stopped: oneshot::Receiver<Stop>,
    told: &mpsc::Sender<io::Result<()>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(told.send(Err(error))),
    };
    runtime.block_on(async {
        let before = fork::files();
        match Server::bind(path, settings) {
            Ok(server) => {
                fork::begin(&server.local_addrs(), &before);
                let _ = told.send(Ok(()));
                let at_once = Stop { close: true, grace: Duration::ZERO };
                // If the carrier fails, its sockets tell.
                let stop = async { stopped.await.unwrap_or(at_once) };
                let _ = server.run(stop, std::future::pending()).await;
            }
            Err(error) => drop(told.send(Err(error))),
        }
    });
}
