//! The tasks around the engine: connections in, events of the stack.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::sockopt::{set_socket_send_buffer_size, socket_peercred};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tresse::{Carrier, Config, Events, Monitor, Observer, RawEndpoint};

use super::Engine;
use super::calls::Answer;
use super::door::serve_door;
use super::idle::watch_idle;
use super::long::serve_long;
use super::room::serve_waiting;
use super::settings::Settings;
use super::shared::{Shared, answer, first_frame};
use super::socket::{Conn, watch};
use tresse_socket_protocol::abi::errno;
use tresse_socket_protocol::protocol::{Op, SOCKET_BUFFER};

/// How an engine ends.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Whether the sockets that programs still have are closed, after what they wrote was taken.
    /// Otherwise the engine goes on until no program has a socket any more.
    pub close: bool,
    /// How long associations may then take to shut down.
    pub grace: Duration,
}

/// An engine that is ready to serve.
pub struct Server {
    pub(super) engine: Rc<RefCell<Engine>>,
    listener: AsyncFd<OwnedFd>,
    /// Whose it was in the beginning; the process may give up privileges.
    owner: rustix::process::Uid,
    events: Events,
    driver: tresse::Driver,
    path: PathBuf,
    udp: SocketAddr,
    displaced: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("path", &self.path).field("udp", &self.udp).finish()
    }
}

impl Server {
    /// Binds the carrier, and listens for clients at `path`, which must not exist. Everything that
    /// can reach the path and runs as the same user can use the engine.
    ///
    /// # Errors
    /// Those of the system; they name the address or the path.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time.
    pub fn bind(path: &Path, settings: &Settings) -> io::Result<Server> {
        let open = |carrier: Carrier| {
            let mut config = Config { carrier, ..Config::default() };
            config.sctp.local_port = 0;
            RawEndpoint::open(config)
        };
        let mut displaced = false;
        let (raw, events, driver) = match (open(settings.carrier.clone()), &settings.carrier) {
            (Err(error), Carrier::Udp { local })
                if settings.any_port && error.kind() == io::ErrorKind::AddrInUse =>
            {
                let mut free = local.clone();
                free.iter_mut().for_each(|address| address.set_port(0));
                displaced = true;
                open(Carrier::Udp { local: free })?
            }
            (result, _) => result?,
        };
        let named = |e: Errno| {
            let e = io::Error::from(e);
            io::Error::new(e.kind(), format!("{}: {e}", path.display()))
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        bind(&listener, &SocketAddrUnix::new(path).map_err(named)?).map_err(named)?;
        listen(&listener, 4096).map_err(named)?;
        let udp = raw.local_addr();
        let engine = Engine::new(raw, settings);
        Ok(Server {
            engine: Rc::new(RefCell::new(engine)),
            listener: watch(listener)?,
            owner: rustix::process::geteuid(),
            events,
            driver,
            path: path.to_owned(),
            udp,
            displaced,
        })
    }

    /// The wanted UDP port was in use, and [`udp_addr`](Self::udp_addr) has a free one: peers find its
    /// listeners only if they are told.
    #[must_use]
    pub fn is_displaced(&self) -> bool {
        self.displaced
    }

    /// Waits until a program listens for the first time.
    pub fn first_listener(&self) -> impl Future<Output = ()> + use<> {
        let listens = Rc::clone(&self.engine.borrow().listens);
        async move { listens.notified().await }
    }

    /// The address and UDP port of the carrier.
    #[must_use]
    pub fn udp_addr(&self) -> SocketAddr {
        self.udp
    }

    /// Has `observer` watch all packets and associations.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.driver.observe(observer);
    }

    /// The local addresses of the carrier's sockets.
    #[must_use]
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.engine.borrow().raw.local_addrs().to_vec()
    }

    /// A view of the figures of all associations.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        self.engine.borrow().raw.monitor()
    }

    /// Serves until `stop` is ready, and ends as it says; that time is over at once when `hurry` is ready.
    /// What has not ended by then is aborted.
    ///
    /// # Errors
    /// When the carrier or the listening socket has failed.
    pub async fn run(
        self,
        stop: impl Future<Output = Stop>,
        hurry: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let Server { engine, listener, owner, mut events, driver, path, .. } = self;
        let local = LocalSet::new();
        let result = local
            .run_until(async {
                let driver = spawn_local(driver);
                let for_events = Rc::clone(&engine);
                spawn_local(async move {
                    while let Some((id, event)) = events.recv().await {
                        for_events.borrow_mut().on_event(id, event);
                    }
                });
                spawn_local(watch_idle(Rc::clone(&engine)));
                let until_stop = async { drain(&engine, stop.await, hurry).await };
                tokio::select! {
                    () = until_stop => Ok(()),
                    result = accept_all(&engine, &listener, &owner) => result,
                    result = driver => {
                        result.map_err(io::Error::other).and_then(|result| result)
                    }
                }
            })
            .await;
        let _ = std::fs::remove_file(path);
        result
    }
}

/// Waits until no program has a socket, and then, for a while, until the associations have ended.
async fn drain(engine: &Shared, stop: Stop, hurry: impl Future<Output = ()>) {
    let served = async {
        let deadline = Instant::now() + stop.grace;
        while !engine.borrow().sockets.is_empty() {
            if stop.close {
                engine.borrow_mut().close_all(Instant::now() >= deadline);
            }
            sleep(Duration::from_millis(10)).await;
        }
        let deadline = if stop.close { deadline } else { Instant::now() + stop.grace };
        let _ = timeout_at(deadline, all_ended(engine)).await;
    };
    tokio::select! {
        () = served => {}
        () = hurry => engine.borrow_mut().close_all(true),
    }
    // Peers may be told that nobody is here any more.
    engine.borrow_mut().abort_all();
    // The last packets leave with the driver's next turn.
    sleep(Duration::from_millis(1)).await;
}

/// Waits until every association has ended.
async fn all_ended(engine: &Shared) {
    let ended = Rc::clone(&engine.borrow().ended);
    loop {
        let mut notified = std::pin::pin!(ended.notified());
        notified.as_mut().enable();
        if engine.borrow().associations.values().all(|association| association.ended) {
            return;
        }
        notified.await;
    }
}

async fn accept_all(
    engine: &Shared,
    listener: &AsyncFd<OwnedFd>,
    owner: &rustix::process::Uid,
) -> io::Result<()> {
    // Given up when there are no descriptors any more, so that requests are still answered: a
    // program that has the engine in its own process waits for the answer, and closes none.
    let another = || fcntl_dupfd_cloexec(listener, 0).ok();
    let mut spare = another();
    loop {
        let mut guard = listener.readable().await?;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        match accept_with(guard.get_inner(), flags) {
            Ok(fd) => {
                spare = spare.or_else(another);
                let last = spare.is_none();
                // The path is private; who entered its folder earlier may be another user now.
                let mine = [*owner, rustix::process::geteuid()];
                if socket_peercred(&fd).is_ok_and(|peer| mine.contains(&peer.uid)) {
                    let serving = serve_connection(Rc::clone(engine), fd, last);
                    if last {
                        serving.await;
                    } else {
                        spawn_local(serving);
                    }
                }
                spare = spare.or_else(another);
            }
            Err(Errno::AGAIN) => guard.clear_ready(),
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(Errno::MFILE | Errno::NFILE) if spare.is_some() => spare = None,
            // Descriptors or memory are used up: others must close some first.
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                drop(guard);
                sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Serves a connection to its end; `last` if it has the last descriptor, which it cannot keep.
pub(super) async fn serve_connection(engine: Shared, fd: OwnedFd, last: bool) {
    let _ = set_socket_send_buffer_size(&fd, SOCKET_BUFFER);
    let Ok(conn) = Conn::new(fd) else { return };
    let conn = Rc::new(conn);
    let first = timeout(Duration::from_secs(10), first_frame(&conn)).await;
    let Ok(Some(request)) = first else { return };
    let reply_with = |result: Answer| answer(&conn, result);
    match request.op {
        Op::Socket | Op::Accept if last => {
            reply_with(Err(errno::EMFILE));
        }
        Op::Socket | Op::Accept => {
            if engine.borrow().sockets.contains_key(&request.socket) {
                reply_with(Err(errno::EINVAL));
                return;
            }
            let result = engine.borrow_mut().open(&request, Rc::clone(&conn));
            let opened = result.is_ok();
            reply_with(result);
            if opened {
                // What has arrived already comes after the answer.
                engine.borrow_mut().writable(request.socket);
                serve_socket(&engine, request.socket, &conn).await;
            }
        }
        // They may last, and others could not even close what they have.
        Op::Long | Op::Connect if last && (request.op == Op::Long || request.a != 0) => {
            reply_with(Err(errno::ENOBUFS));
        }
        Op::Connect if request.a != 0 => {
            let begun = engine.borrow_mut().connect_and_tell(&request);
            let (number, outcome) = match begun {
                Ok(begun) => begun,
                Err(error) => {
                    reply_with(Err(error));
                    return;
                }
            };
            let outcome = tokio::select! {
                outcome = outcome => outcome,
                // Whoever waited has given up, and sees what becomes of it on the socket.
                _ = first_frame(&conn) => return,
            };
            // Without one the program has closed the socket meanwhile.
            let error = outcome.unwrap_or(errno::ECONNABORTED);
            let result = if error == 0 { Ok((i64::from(number), Vec::new())) } else { Err(error) };
            if !reply_with(result) && error != 0 {
                engine.borrow_mut().fail(request.socket, error);
            }
        }
        Op::Door => {
            // That one lasts, too.
            let refused = last.then_some(errno::EMFILE);
            reply_with(refused.map_or(Ok((0, Vec::new())), Err));
            if !last {
                serve_door(&conn, |fd| Box::pin(serve_connection(Rc::clone(&engine), fd, false)))
                    .await;
            }
        }
        Op::CheckSend if request.b != 0 => serve_waiting(&engine, &request, &conn, last).await,
        Op::Long => serve_long(&engine, &request, &conn).await,
        Op::Linger => {
            let begun = engine.borrow_mut().linger(request.socket);
            if let Ok(Some(number)) = begun
                && !last
            {
                let wait = Duration::from_millis(u64::try_from(request.a).unwrap_or(0));
                let _ = timeout(wait, over(&engine, number)).await;
            }
            reply_with(begun.map(|_| (0, Vec::new())));
        }
        _ => {
            // What the stack has taken is told first, so that what an option counts can be read.
            yield_now().await;
            let result = engine.borrow_mut().call(&request);
            reply_with(result);
        }
    }
}

async fn over(engine: &Shared, number: u32) {
    let ended = Rc::clone(&engine.borrow().ended);
    loop {
        let mut notified = std::pin::pin!(ended.notified());
        notified.as_mut().enable();
        if engine.borrow().is_over(number) {
            return;
        }
        notified.await;
    }
}

/// Passes frames on between a program's socket and the engine, until the program closes it.
async fn serve_socket(engine: &Shared, id: u64, conn: &Conn) {
    loop {
        let (writes, held_up, over, refused) = match engine.borrow().sockets.get(&id) {
            Some(s) => (!s.out.is_empty(), s.is_held_up(), s.drained, s.refused_until()),
            None => return,
        };
        // Nothing is read, so that the descriptor is readable says nothing, and reading does not tell of the end.
        let deaf = over || held_up;
        if deaf && conn.is_hung_up() {
            if over {
                return engine.borrow_mut().hang_up(id);
            }
            engine.borrow_mut().leave(id);
            continue;
        }
        let shut = deaf && conn.is_shut();
        tokio::select! {
            () = conn.changed.notified() => {}
            // The program may want to send to another one, and wait until the descriptor is writable.
            () = sleep_until(refused.unwrap_or_else(Instant::now)), if refused.is_some() => {
                engine.borrow_mut().take_frames(id);
            }
            // Of reading and writing the kernel says that they are at their end.
            guard = conn.fd.ready(Interest::ERROR), if shut => {
                let Ok(mut guard) = guard else { return engine.borrow_mut().hang_up(id) };
                guard.clear_ready();
            }
            guard = conn.fd.readable(), if !deaf => {
                let Ok(mut guard) = guard else { return engine.borrow_mut().hang_up(id) };
                // A request may have changed that meanwhile.
                let now = match engine.borrow().sockets.get(&id) {
                    Some(s) => (s.reads(), s.is_held_up(), s.refused.is_some()),
                    None => return,
                };
                let (reads, held_up, refused) = now;
                if reads {
                    if engine.borrow_mut().readable(id) {
                        guard.clear_ready();
                    }
                } else if held_up {
                    continue;
                } else if refused && conn.is_hung_up() {
                    engine.borrow_mut().take_frames(id);
                } else if conn.is_hung_up() {
                    return engine.borrow_mut().hang_up(id);
                } else {
                    // The next change tells again, also if it is one to the same state.
                    guard.clear_ready();
                }
            }
            // That the program has closed its end makes it writable, too.
            guard = conn.fd.writable(), if (writes || deaf) && !shut => {
                let Ok(mut guard) = guard else { return engine.borrow_mut().hang_up(id) };
                if !engine.borrow_mut().writable(id) || deaf {
                    guard.clear_ready();
                }
            }
        }
    }
}
