//! Two network namespaces, and links between them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use nix::unistd::gettid;
use tresse_netem::LinkConfig;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::capture::Captures;
use crate::forwarder::{Forwarder, Order, Tap, be_punctual};
use crate::{Direction, Error, LinkFile, Namespace, Report, Side};

/// Frames that wait in an interface while the emulator is busy.
const INTERFACE_QUEUE: u32 = 10_000;

/// How an emulation is run; the default is that of each field.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder for captures, which is made: `linkP-left.pcapng` and `linkP-right.pcapng` of each path P
    /// have what the interface of that side sent into its link and what came out of the other one.
    /// Default: none are made.
    pub capture: Option<PathBuf>,
    /// Bytes of each frame that captures keep. Default: all.
    pub snap_length: usize,
    /// MTU of the interfaces in bytes, 1280 to 65 535. Default 1500.
    pub mtu: u16,
    /// UDP ports at which SCTP is looked for, besides 9899, to tell data from acknowledgments. Default:
    /// none.
    pub udp_ports: Vec<u16>,
    /// Asks the system to run the emulator before all ordinary processes (SCHED_FIFO), by the command
    /// `chrt`. Packets are then punctual on a busy machine; but the emulator waits actively shortly
    /// before a packet is due, and other processes do not get that time. Default `false`.
    pub realtime: bool,
    /// Is given one line when captures cannot be written any more. Default: to standard error.
    pub warn: fn(&str),
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            capture: None,
            snap_length: usize::MAX,
            mtu: 1500,
            udp_ports: Vec::new(),
            realtime: false,
            warn: |line| eprintln!("{line}"),
        }
    }
}

/// A running emulation; it ends when this value is dropped, and its namespaces go with the last
/// process in them.
#[derive(Debug)]
pub struct Emulation {
    links: LinkFile,
    sides: [Namespace; 2],
    captures: Option<Captures>,
    realtime: bool,
    /// `None` once it has ended.
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Emulation {
    /// Makes the namespaces and starts the links.
    ///
    /// # Errors
    /// [`Error`]: links that are not valid, missing permissions, devices or tools, captures that cannot be made.
    pub fn start(links: &LinkFile, settings: &Settings) -> Result<Emulation, Error> {
        links.validate()?;
        if settings.mtu < 1280 {
            // RFC 8200 §5: the least for IPv6.
            return Err(Error::Links(format!(
                "mtu: at least 1280 is needed, not {}",
                settings.mtu
            )));
        }
        let sides = [Namespace::new()?, Namespace::new()?];
        let captures = match &settings.capture {
            Some(folder) => {
                fs::create_dir_all(folder).map_err(Error::system(folder.display().to_string()))?;
                Some(Captures::start(settings.warn).map_err(Error::system("captures"))?)
            }
            None => None,
        };
        for side in Side::BOTH {
            prepare(&sides[side as usize])?;
        }
        let mut taps = Vec::new();
        for path in 0..links.path_count() {
            for side in Side::BOTH {
                let device = interface(&sides[side as usize], path, side, settings.mtu)?;
                let recorder = captures.as_ref().zip(settings.capture.as_ref());
                let recorder = recorder.map(|(captures, folder)| {
                    let made = captures.create(folder, (path, side), settings.snap_length);
                    made.map_err(Error::system(folder.display().to_string()))
                });
                taps.push(Tap { device, recorder: recorder.transpose()? });
            }
        }
        let forwarder = Forwarder::new(taps, links, settings.udp_ports.clone())
            .map_err(|error| Error::Links(error.to_string()))?;
        let (orders, theirs) = mpsc::channel();
        let (started, favoured) = mpsc::channel();
        let realtime = settings.realtime;
        let thread = std::thread::Builder::new()
            .name("tresse-emulator".into())
            .spawn(move || {
                // It is less punctual without.
                let _ = be_punctual();
                let realtime = realtime && favour(&gettid().to_string()).is_ok();
                let _ = started.send(realtime);
                forwarder.run(&theirs, realtime);
            })
            .map_err(Error::system("thread"))?;
        let realtime = favoured.recv().unwrap_or(false);
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Emulation { links: links.clone(), sides, captures, realtime, orders, thread })
    }

    /// How many paths there are: 1 or 2.
    #[must_use]
    pub fn path_count(&self) -> usize {
        self.links.path_count()
    }

    /// Whether the system runs it before all ordinary processes, as [`Settings::realtime`] asks.
    #[must_use]
    pub const fn is_realtime(&self) -> bool {
        self.realtime
    }

    /// The IPv4 address of a side on a path, counted from 0.
    #[must_use]
    pub fn address(&self, side: Side, path: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, path as u8, side as u8 + 1)
    }

    /// The IPv6 address of a side on a path, counted from 0.
    #[must_use]
    pub fn address_v6(&self, side: Side, path: usize) -> Ipv6Addr {
        Ipv6Addr::new(0xfd77, path as u16, 0, 0, 0, 0, 0, side as u16 + 1)
    }

    /// The namespace of a side.
    #[must_use]
    pub const fn namespace(&self, side: Side) -> &Namespace {
        &self.sides[side as usize]
    }

    /// Moves the calling thread to a side: sockets that it opens and children that it starts are there.
    ///
    /// # Errors
    /// Those of the system.
    pub fn enter(&self, side: Side) -> io::Result<()> {
        self.namespace(side).enter()
    }

    /// A command that will run on a side, by means of `setpriv` and `nsenter` (package util-linux). It is
    /// killed when the thread that starts it ends, be it by a crash; not so its own children.
    #[must_use]
    pub fn command_in(&self, side: Side, program: impl AsRef<OsStr>) -> Command {
        self.namespace(side).command(program)
    }

    /// Puts a guest in the place of a side: takes the addresses off the interface of `path` and joins it,
    /// by a bridge, with a new TAP interface `tap` for the guest to open. So the guest is at the end of
    /// the link, with the addresses that it gives itself.
    ///
    /// # Errors
    /// [`Error::Tool`].
    pub fn attach_tap(&self, side: Side, path: usize, tap: &str) -> Result<(), Error> {
        let lines = [
            format!("addr flush dev link{path}"),
            // Without a forward delay of 0 it is silent for 15 s.
            format!("link add bridge{path} type bridge forward_delay 0 mcast_snooping 0"),
            format!("tuntap add dev {tap} mode tap"),
            format!("link set link{path} master bridge{path}"),
            format!("link set {tap} master bridge{path}"),
            format!("link set {tap} up"),
            format!("link set bridge{path} up"),
        ];
        self.namespace(side).ip(&lines)?;
        // The guest has an Ethernet address of its own.
        let peer = Side::BOTH[1 - side as usize];
        self.namespace(peer).ip(&[format!("neigh flush dev link{path} nud permanent")])
    }

    /// Has all links begin again, as they were described: packets are counted from 1, `changes` and
    /// spikes from this moment, and what is on the way is lost.
    pub fn restart(&self) {
        self.order(Order::Restart(Box::new(self.links.clone())));
    }

    /// Replaces the settings of the link of a path in one direction, see
    /// [`Link::reconfigure`](tresse_netem::Link::reconfigure). There is no such link: nothing happens.
    ///
    /// # Errors
    /// [`Error::Links`]; the link is then unchanged.
    pub fn reconfigure(
        &self,
        path: usize,
        direction: Direction,
        link: LinkConfig,
    ) -> Result<(), Error> {
        if path >= self.path_count() {
            return Ok(());
        }
        let (answer, answered) = mpsc::channel();
        self.order(Order::Reconfigure(path * 2 + direction as usize, Box::new(link), answer));
        let changed = answered.recv().unwrap_or(Ok(()));
        changed.map_err(|error| Error::Links(error.to_string()))
    }

    /// What was done since the links began.
    ///
    /// # Panics
    /// When the thread of the emulation did.
    #[must_use]
    pub fn report(&self) -> Report {
        self.ask(Order::Report)
    }

    fn ask(&self, order: impl FnOnce(Sender<Report>) -> Order) -> Report {
        let (answer, answered) = mpsc::channel();
        self.order(order(answer));
        let mut report = answered.recv().expect("the emulator does not panic");
        report.realtime = self.realtime;
        for side in Side::BOTH {
            let dropped = self.namespace(side).inside(|| {
                // What the interface sends and nobody takes.
                fs::read_to_string("/proc/thread-self/net/dev")
            });
            let dropped = dropped.unwrap_or_default();
            for path in 0..self.path_count() {
                report.links[path * 2 + side as usize].overrun = sent_dropped(&dropped, path);
            }
        }
        report
    }

    /// Ends it: nothing passes any more, captures are written to their end.
    ///
    /// # Panics
    /// When the thread of the emulation did.
    #[must_use]
    pub fn stop(mut self) -> Report {
        // What the captures have must be what the report counts.
        let mut report = self.ask(Order::Stop);
        report.captures_complete = self.end();
        report
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // It ends when this value does, not before.
            let _ = orders.send(order);
        }
    }

    /// Waits for the thread; whether all captures are complete.
    fn end(&mut self) -> bool {
        self.orders = None;
        let whole = self.thread.take().is_none_or(|thread| thread.join().is_ok());
        self.captures.take().is_none_or(|captures| captures.finish()) && whole
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether the system has IPv6.
fn has_ipv6() -> bool {
    fs::exists("/proc/sys/net/ipv6").unwrap_or(false)
}

/// What holds for all interfaces of a side.
fn prepare(namespace: &Namespace) -> Result<(), Error> {
    namespace.sysctl(&[
        // So that each path keeps its own interface.
        ("ipv4/conf/all/arp_ignore", "1"),
        ("ipv4/conf/all/arp_announce", "2"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
    ])?;
    if !has_ipv6() {
        return Ok(());
    }
    // So that nothing is sent that nobody asked for.
    namespace.sysctl(&[
        ("ipv6/conf/default/accept_dad", "0"),
        ("ipv6/conf/default/accept_ra", "0"),
        ("ipv6/conf/default/router_solicitations", "0"),
        ("ipv6/conf/default/addr_gen_mode", "1"),
    ])
}

/// Makes the interface of a path on one side.
fn interface(
    namespace: &Namespace,
    path: usize,
    side: Side,
    mtu: u16,
) -> Result<SyncDevice, Error> {
    let name = format!("link{path}");
    let device = namespace.inside(|| {
        let device = DeviceBuilder::new().name(&name).layer(Layer::L2).mtu(mtu).build_sync()?;
        device.set_nonblocking(true)?;
        Ok(device)
    });
    let device = device.map_err(Error::Tap)?;
    let (host, peer) = (side as usize + 1, 2 - side as usize);
    let ethernet = |host| format!("02:00:00:00:{path:02x}:{host:02x}");
    // The neighbour is known from the beginning: packets that wait for the resolution of its address
    // can be overtaken by the next one.
    let known = format!("lladdr {} dev {name} nud permanent", ethernet(peer));
    let mut lines = vec![
        format!("link set {name} address {}", ethernet(host)),
        format!("addr add 10.77.{path}.{host}/24 dev {name}"),
        format!("link set {name} up txqueuelen {INTERFACE_QUEUE}"),
        format!("neigh replace 10.77.{path}.{peer} {known}"),
    ];
    if has_ipv6() {
        lines.push(format!("addr add fd77:{path:x}::{host}/64 dev {name} nodad"));
        lines.push(format!("neigh replace fd77:{path:x}::{peer} {known}"));
    }
    namespace.ip(&lines)?;
    Ok(device)
}

/// Has the system run a thread before all ordinary ones.
fn favour(thread: &str) -> io::Result<()> {
    let mut chrt = Command::new("chrt");
    chrt.args(["--fifo", "--pid", "10", thread]);
    let status = chrt.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("chrt")) }
}

/// Of `/proc/net/dev`, how many frames to be sent interface `link{path}` has dropped.
fn sent_dropped(table: &str, path: usize) -> u64 {
    let name = format!("link{path}:");
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix(&name));
    // Eight counters of what was received, then bytes, packets, errors and dropped ones that were sent.
    let count = row.and_then(|row| row.split_whitespace().nth(8 + 3));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}
