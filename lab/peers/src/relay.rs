//! A network in real time between two hosts that speak UDP: every datagram goes through a link of
//! `tresse-netem`, one for each direction.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};
use tresse_netem::{Class, Delivery, Link, LinkConfig, LinkStats, Nanos};
use tresse_wire::{ChunkType, Packet};

/// What a datagram costs on a link beyond itself: the headers of IPv4 and UDP.
const HEADERS: u32 = 28;
/// Datagrams taken from a socket before the other one has its turn.
const BATCH: usize = 64;
/// The two directions.
const BOTH: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

/// Which way a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From whoever sends to the relay.
    ToServer,
    /// Back to them.
    ToClient,
}

/// Somebody on the way who looks at every datagram before its link takes it.
pub trait Meddler: Debug + Send + Sync {
    /// Whether it goes on; it may have been changed.
    fn pass(&self, direction: Direction, datagram: &mut Vec<u8>) -> bool;
}

/// A running relay; it ends when this value is dropped.
///
/// Packets that end an association gracefully (SHUTDOWN ACK, SHUTDOWN COMPLETE) are spared: whoever
/// loses the last one waits for somebody who has gone, which tells nothing about loss recovery.
#[derive(Debug)]
pub struct Relay {
    near: SocketAddr,
    control: Option<UnboundedSender<(Direction, LinkConfig)>>,
    thread: Option<JoinHandle<[LinkStats; 2]>>,
}

impl Relay {
    /// Starts a thread, in the network namespace of the caller, that passes datagrams on between the
    /// server at `server` and a client that sends to `address` at [`port`](Relay::port). `links` are
    /// those to the server and to the client; `seed` makes their random decisions. What the `meddler` takes away never
    /// comes to them.
    ///
    /// # Errors
    /// Those of binding sockets to `address`.
    ///
    /// # Panics
    /// When a link is not valid.
    pub fn start(
        address: IpAddr,
        server: SocketAddr,
        links: [LinkConfig; 2],
        seed: u64,
        meddler: Option<Arc<dyn Meddler>>,
    ) -> io::Result<Relay> {
        let bind = || -> io::Result<std::net::UdpSocket> {
            let socket = std::net::UdpSocket::bind((address, 0))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let (near, far) = (bind()?, bind()?);
        let (control, commands) = unbounded_channel();
        let [to_server, to_client] = links;
        let links = [(to_server, seed), (to_client, !seed)]
            .map(|(link, seed)| Link::new(link, seed).expect("the link is valid"));
        let address = near.local_addr()?;
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(async {
                let sockets = [far, near].map(|s| UdpSocket::from_std(s).expect("it is a socket"));
                let start = Instant::now();
                let wires = Wires { sockets, links, to: [Some(server), None], meddler, start };
                wires.run(commands).await
            })
        });
        Ok(Relay { near: address, control: Some(control), thread: Some(thread) })
    }

    /// The address that a client sends to.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.near.ip()
    }

    /// The UDP port that a client sends to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.near.port()
    }

    /// Replaces the link of one direction; what is on its way is not affected unless it goes down.
    pub fn set(&self, direction: Direction, link: LinkConfig) {
        if let Some(control) = &self.control {
            // A relay that has ended passes nothing on in any case.
            let _ = control.send((direction, link));
        }
    }

    /// Ends it, and tells what the links to the server and to the client did.
    ///
    /// # Panics
    /// When its thread did.
    #[must_use]
    pub fn stop(mut self) -> [LinkStats; 2] {
        self.control = None;
        let thread = self.thread.take().expect("it is stopped once");
        thread.join().expect("the relay does not panic")
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.control = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Index 0 is the direction to the server, index 1 that to the client.
struct Wires {
    /// Where datagrams of a direction leave; those of the other one arrive there.
    sockets: [UdpSocket; 2],
    links: [Link<Vec<u8>>; 2],
    /// Where they go to; the client is whoever sent last.
    to: [Option<SocketAddr>; 2],
    meddler: Option<Arc<dyn Meddler>>,
    start: Instant,
}

impl Wires {
    async fn run(
        mut self,
        mut commands: UnboundedReceiver<(Direction, LinkConfig)>,
    ) -> [LinkStats; 2] {
        loop {
            let wakeup = self.links.iter().filter_map(Link::next_wakeup).min();
            // Without anything on the way it is woken by what comes.
            let wakeup = wakeup.map_or(Duration::from_secs(86_400), Duration::from);
            let [far, near] = &self.sockets;
            tokio::select! {
                _ = near.readable() => self.take(Direction::ToServer),
                _ = far.readable() => self.take(Direction::ToClient),
                () = sleep_until(self.start + wakeup) => {}
                command = commands.recv() => match command {
                    Some((direction, link)) => {
                        let now = self.now();
                        let link = self.links[direction as usize].reconfigure(now, link);
                        link.expect("the link is valid");
                    }
                    None => return self.links.map(|link| link.stats()),
                },
            }
            for direction in BOTH {
                let now = self.now();
                while let Some(delivery) = self.links[direction as usize].poll(now) {
                    let Delivery { mut packet, corruption, .. } = delivery;
                    if let Some(corruption) = corruption {
                        corruption.apply(&mut packet);
                    }
                    self.send(direction, &packet).await;
                }
            }
        }
    }

    fn now(&self) -> Nanos {
        self.start.elapsed().into()
    }

    /// Puts what has arrived for `direction` into its link.
    fn take(&mut self, direction: Direction) {
        let socket = &self.sockets[1 - direction as usize];
        let mut buffer = [0; 65_535];
        for _ in 0..BATCH {
            // An error is that of an earlier datagram whose receiver has gone.
            let Ok((length, from)) = socket.try_recv_from(&mut buffer) else { break };
            if direction == Direction::ToServer {
                self.to[Direction::ToClient as usize] = Some(from);
            }
            let datagram = &buffer[..length];
            let now = self.now();
            let link = &mut self.links[direction as usize];
            if link.config().up && ends_gracefully(datagram) {
                let to = self.to[direction as usize];
                // What a socket refuses is lost, as on any network.
                let _ = to.map(|to| self.sockets[direction as usize].try_send_to(datagram, to));
            } else {
                let mut datagram = datagram.to_vec();
                let passes = self.meddler.as_ref().is_none_or(|m| m.pass(direction, &mut datagram));
                if passes {
                    link.offer(now, datagram.len() as u32 + HEADERS, Class::NONE, datagram);
                }
            }
        }
    }

    async fn send(&self, direction: Direction, datagram: &[u8]) {
        if let Some(to) = self.to[direction as usize] {
            // What a socket refuses is lost, as on any network.
            let _ = self.sockets[direction as usize].send_to(datagram, to).await;
        }
    }
}

fn ends_gracefully(datagram: &[u8]) -> bool {
    let last = [ChunkType::SHUTDOWN_ACK, ChunkType::SHUTDOWN_COMPLETE];
    Packet::parse_unverified(datagram).is_ok_and(|packet| {
        packet.chunks().map_while(Result::ok).any(|chunk| last.contains(&chunk.chunk_type))
    })
}
