//! Endpoints on a runtime that is not tokio, and over packets that no socket of the system carries.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tresse::runtime::{
    self, IncomingPacket, Interest, Outgoing, PacketSocket, Reactor, Readiness, Runtime,
};
use tresse::{Association, Bytes, Config, Driver, Ecn, Endpoint, Peer};

/// As long as none of these tests ever takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What every runtime must be able to do: messages there and back, and a graceful end.
async fn echo(client: Endpoint, server: Endpoint, peer: (SocketAddr, u16), messages: u32) {
    let serve = async {
        let association = server.accept().await.expect("the endpoint is open");
        while let Ok(received) = association.recv().await {
            association.send(received.stream, received.payload).await.unwrap();
        }
    };
    let call = async {
        let association = client.connect(peer).await.unwrap();
        for n in 0..messages {
            let message = Bytes::from(n.to_be_bytes().repeat(1 + n as usize * 10));
            association.send((n % 7) as u16, message.clone()).await.unwrap();
            let received = association.recv().await.expect("the server echoes");
            assert_eq!(received.payload, message);
        }
        association.shutdown().await.unwrap();
    };
    both(serve, call).await;
}

async fn both(a: impl Future<Output = ()>, b: impl Future<Output = ()>) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let mut open = (true, true);
    std::future::poll_fn(|cx| {
        open.0 = open.0 && a.as_mut().poll(cx).is_pending();
        open.1 = open.1 && b.as_mut().poll(cx).is_pending();
        if open.0 || open.1 { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

fn drive(
    driver: Driver,
    run: impl FnOnce(Driver) -> io::Result<()> + Send + 'static,
) -> thread::JoinHandle<()> {
    thread::spawn(move || run(driver).unwrap())
}

// --- async-io, as the documentation of `Runtime` has it.

#[derive(Debug)]
struct AsyncIo;

#[derive(Debug)]
struct Socket(async_io::Async<Arc<UdpSocket>>, Interest);

impl Reactor for AsyncIo {
    fn register(
        &self,
        socket: Arc<UdpSocket>,
        interest: Interest,
    ) -> io::Result<Box<dyn Readiness>> {
        Ok(Box::new(Socket(async_io::Async::new_nonblocking(socket)?, interest)))
    }
}

impl Readiness for Socket {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.1 {
            Interest::Writable => self.0.poll_writable(cx),
            Interest::Readable | Interest::Error => self.0.poll_readable(cx),
        }
    }
}

impl Runtime for AsyncIo {
    fn timer(&self) -> Pin<Box<dyn runtime::Timer>> {
        Box::pin(Alarm(async_io::Timer::never()))
    }
}

struct Alarm(async_io::Timer);

impl runtime::Timer for Alarm {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        self.0.set_at(at);
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Future::poll(Pin::new(&mut self.0), cx).map(drop)
    }
}

#[test]
fn an_endpoint_runs_on_async_io() {
    let runtime: Arc<dyn Runtime> = Arc::new(AsyncIo);
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let (server, servers) =
        Endpoint::open_with(Config::server(local, 5001), Arc::clone(&runtime)).unwrap();
    let (client, clients) = Endpoint::open_with(Config::client(local), runtime).unwrap();
    let peer = (server.local_addr(), 5001);
    let drivers = [servers, clients].map(|driver| drive(driver, async_io::block_on));
    async_io::block_on(echo(client, server, peer, 200));
    drivers.into_iter().for_each(|driver| driver.join().unwrap());
}

#[test]
fn without_a_runtime_an_endpoint_is_an_error_and_no_panic() {
    let error = Endpoint::bind(Config::client("127.0.0.1:0".parse().unwrap())).unwrap_err();
    assert!(error.to_string().contains("Tokio"), "{error}");
}

/// The socket and the runtime are the program's.
#[test]
fn an_endpoint_runs_on_async_io_over_a_socket_from_outside() {
    let runtime: Arc<dyn Runtime> = Arc::new(AsyncIo);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let config = Config::server(address, 5001);
    let (server, servers) = Endpoint::open_from(config, [socket], Arc::clone(&runtime)).unwrap();
    assert_eq!(server.local_addr(), address);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let config = Config::client(address);
    let (client, clients) = Endpoint::open_from(config, [socket], runtime).unwrap();
    let drivers = [servers, clients].map(|driver| drive(driver, async_io::block_on));
    async_io::block_on(echo(client, server, (address, 5001), 50));
    drivers.into_iter().for_each(|driver| driver.join().unwrap());
}

#[test]
fn a_peer_that_is_not_there_is_noticed_by_timers_and_icmp_of_async_io() {
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let (client, driver) = Endpoint::open_with(Config::client(local), Arc::new(AsyncIo)).unwrap();
    let nobody = UdpSocket::bind(local).unwrap().local_addr().unwrap();
    let driver = drive(driver, async_io::block_on);
    let mut config = tresse::AssociationConfig::default();
    let mut profile = (*config.profile).clone();
    profile.rto.initial_ms = 20.0;
    profile.rto.min_ms = 10.0;
    profile.limits.max_init_retransmits = 2;
    config.profile = Arc::new(profile);
    let peer = Peer::from((nobody, 5001)).on_udp_port(nobody.port());
    let error = async_io::block_on(client.connect_with(peer, config)).unwrap_err();
    assert!(matches!(error, tresse::ConnectError::Closed(_)), "{error}");
    drop(client);
    driver.join().unwrap();
}

// --- A thread that parks, and packets in memory.

/// Wakes a thread that parks.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// An executor for one future.
fn park_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    let begun = Instant::now();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        assert!(begun.elapsed() < TIMEOUT, "nobody wakes it");
        thread::park_timeout(TIMEOUT);
    }
}

/// Timers are threads that sleep; there are no sockets.
#[derive(Debug)]
struct Threads;

impl Reactor for Threads {
    fn register(&self, _: Arc<UdpSocket>, _: Interest) -> io::Result<Box<dyn Readiness>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Runtime for Threads {
    fn timer(&self) -> Pin<Box<dyn runtime::Timer>> {
        Box::pin(Sleeper(None))
    }
}

struct Sleeper(Option<Instant>);

impl runtime::Timer for Sleeper {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        self.0 = Some(at);
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.0 else { return Poll::Pending };
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        thread::spawn(move || {
            thread::sleep(left.min(Duration::from_secs(1)));
            waker.wake();
        });
        Poll::Pending
    }
}

/// One end of a cable that swallows every tenth packet.
struct Plug {
    own: SocketAddr,
    inbox: Arc<Mutex<(VecDeque<IncomingPacket>, Option<Waker>)>>,
    outbox: Arc<Mutex<(VecDeque<IncomingPacket>, Option<Waker>)>>,
    sent: u32,
}

impl PacketSocket for Plug {
    fn local_addrs(&self) -> Vec<SocketAddr> {
        vec![self.own]
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<IncomingPacket>,
    ) -> Poll<io::Result<usize>> {
        let mut inbox = self.inbox.lock().unwrap();
        let arrived = inbox.0.len();
        out.extend(inbox.0.drain(..));
        if arrived > 0 {
            return Poll::Ready(Ok(arrived));
        }
        inbox.1 = Some(cx.waker().clone());
        Poll::Pending
    }

    fn queue(&mut self, to: &Outgoing, packet: &[u8]) {
        assert_eq!(to.encapsulation, None, "port 0: no UDP");
        self.sent += 1;
        if self.sent.is_multiple_of(10) {
            return;
        }
        let mut outbox = self.outbox.lock().unwrap();
        outbox.0.push_back(IncomingPacket {
            source: self.own.ip(),
            destination: to.destination,
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: Bytes::copy_from_slice(packet),
        });
        outbox.1.take().into_iter().for_each(Waker::wake);
    }

    fn is_full(&self) -> bool {
        false
    }

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

#[test]
fn an_endpoint_runs_on_threads_over_a_socket_of_the_program() {
    // Addresses of documentation (RFC 5737): this host has neither of them, nor a route.
    let (a, b): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
    let (to_a, to_b) = (Arc::default(), Arc::default());
    let plug = |own, inbox: &Arc<_>, outbox: &Arc<_>| {
        let (inbox, outbox) = (Arc::clone(inbox), Arc::clone(outbox));
        Box::new(Plug { own: SocketAddr::new(own, 0), inbox, outbox, sent: 0 })
    };
    let config = Config::server("127.0.0.1:0".parse().unwrap(), 5001);
    let (server, servers) =
        Endpoint::open_over(config, plug(b, &to_b, &to_a), Arc::new(Threads)).unwrap();
    let config = Config::client("127.0.0.1:0".parse().unwrap());
    let (client, clients) =
        Endpoint::open_over(config, plug(a, &to_a, &to_b), Arc::new(Threads)).unwrap();
    assert_eq!(server.local_addr(), SocketAddr::new(b, 0));
    let drivers = [servers, clients].map(|driver| drive(driver, park_on));
    park_on(echo(client, server, (SocketAddr::new(b, 0), 5001), 30));
    drivers.into_iter().for_each(|driver| driver.join().unwrap());
}

#[test]
fn a_socket_without_an_address_is_refused() {
    struct Nowhere;
    impl PacketSocket for Nowhere {
        fn local_addrs(&self) -> Vec<SocketAddr> {
            Vec::new()
        }
        fn poll_recv(
            &mut self,
            _: &mut Context<'_>,
            _: &mut Vec<IncomingPacket>,
        ) -> Poll<io::Result<usize>> {
            Poll::Pending
        }
        fn queue(&mut self, _: &Outgoing, _: &[u8]) {}
        fn is_full(&self) -> bool {
            false
        }
        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<()> {
            Poll::Ready(())
        }
    }
    let config = Config::client("127.0.0.1:0".parse().unwrap());
    let error = Endpoint::open_over(config, Box::new(Nowhere), Arc::new(Threads)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

/// A handle asks for the figures at any time, also while the packet with the end of the association is on its way.
#[test]
fn figures_are_there_while_the_end_is_being_told() {
    /// Asks whenever the driver lets packets go.
    struct Curious(Plug, Arc<Mutex<Option<Association>>>);
    impl PacketSocket for Curious {
        fn local_addrs(&self) -> Vec<SocketAddr> {
            self.0.local_addrs()
        }
        fn poll_recv(
            &mut self,
            cx: &mut Context<'_>,
            out: &mut Vec<IncomingPacket>,
        ) -> Poll<io::Result<usize>> {
            self.0.poll_recv(cx, out)
        }
        fn queue(&mut self, to: &Outgoing, packet: &[u8]) {
            self.0.queue(to, packet);
        }
        fn is_full(&self) -> bool {
            self.0.is_full()
        }
        fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            if let Some(association) = &*self.1.lock().unwrap() {
                let metrics = association.metrics();
                assert_eq!(metrics.stats.messages_sent, 1);
                assert_eq!(association.stats(), metrics.stats);
                assert_eq!(association.peer().addresses, [metrics.paths[0].remote]);
            }
            self.0.poll_flush(cx)
        }
    }
    let (a, b): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
    let (to_a, to_b) = (Arc::default(), Arc::default());
    let plug = |own, inbox: &Arc<_>, outbox: &Arc<_>| Plug {
        own: SocketAddr::new(own, 0),
        inbox: Arc::clone(inbox),
        outbox: Arc::clone(outbox),
        sent: 0,
    };
    let config = Config::server("127.0.0.1:0".parse().unwrap(), 5001);
    let plug_b = Box::new(plug(b, &to_b, &to_a));
    let (server, serving) = Endpoint::open_over(config, plug_b, Arc::new(Threads)).unwrap();
    let watched = Arc::<Mutex<Option<Association>>>::default();
    let curious = Box::new(Curious(plug(a, &to_a, &to_b), Arc::clone(&watched)));
    let config = Config::client("127.0.0.1:0".parse().unwrap());
    let (client, driver) = Endpoint::open_over(config, curious, Arc::new(Threads)).unwrap();
    let drivers = [serving, driver].map(|driver| drive(driver, park_on));
    park_on(async {
        let ours = client.connect(Peer::multihomed([b], 5001)).await.unwrap();
        let theirs = server.accept().await.unwrap();
        ours.send(0, "a message").await.unwrap();
        theirs.recv().await.unwrap();
        *watched.lock().unwrap() = Some(ours.clone());
        ours.abort("enough");
        assert!(!ours.closed().await.is_graceful());
        *watched.lock().unwrap() = None;
    });
    drop((client, server));
    drivers.into_iter().for_each(|driver| driver.join().unwrap());
}
