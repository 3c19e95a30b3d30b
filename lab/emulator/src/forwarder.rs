//! The thread that carries frames from interface to interface, through the links.

use std::hint;
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use hdrhistogram::Histogram;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tresse_netem::{ConfigError, Delivery, Link, LinkConfig, Nanos, link_seed};
use tun_rs::SyncDevice;

use crate::capture::Recorder;
use crate::frame::{ETHERNET, Kind, change_ecn, classify};
use crate::report::{DirectionReport, Lateness, Report};
use crate::{Direction, LinkFile};

/// How long before a packet is due the thread stops sleeping: waking up takes the system some time.
const SPIN: Duration = Duration::from_micros(60);
/// Of each such period ...
const PERIOD: Duration = Duration::from_millis(1);
/// ... a thread that runs before all others sleeps at least this long. Linux lets it have 95 % of each
/// second (sched(7), sched_rt_runtime_us) and stops it for the rest at once: for 50 ms.
const REST: Duration = Duration::from_micros(80);
/// It sleeps no longer than this, so that it hears its owner.
const DOZE: Duration = Duration::from_millis(10);
/// Frames taken from one interface before the others, and what is due, have their turn.
const BATCH: usize = 8;
/// The longest frame that an interface gives.
const MAX_FRAME: usize = 65_536 + ETHERNET;
/// Lateness is told apart up to a minute, in nanoseconds.
const MAX_LATE: u64 = 60_000_000_000;

/// What the owner asks of the thread.
pub(crate) enum Order {
    /// All links start again.
    Restart(Box<LinkFile>),
    /// The link of this index gets other settings.
    Reconfigure(usize, Box<LinkConfig>, Sender<Result<(), ConfigError>>),
    /// Tell what was done.
    Report(Sender<Report>),
    /// The same, and carry nothing afterwards.
    Stop(Sender<Report>),
}

/// One interface. Index: twice the path, plus 1 on the right side.
pub(crate) struct Tap {
    pub(crate) device: SyncDevice,
    pub(crate) recorder: Option<Recorder>,
}

#[derive(Clone)]
struct Frame {
    bytes: Box<[u8]>,
    /// Where the part begins that corruption may hit.
    payload: usize,
}

/// One link. Index: twice the path, plus 1 if it is backward, so that it begins at the interface of
/// the same index and ends at that one's neighbour.
struct Wire {
    link: Link<Frame>,
    late: Histogram<u64>,
    aside: u64,
}

pub(crate) struct Forwarder {
    taps: Vec<Tap>,
    wires: Vec<Wire>,
    udp_ports: Vec<u16>,
    /// How often the links started to count again.
    era: u64,
    /// When the links began.
    epoch: Instant,
    /// The same by the calendar, since 1970.
    calendar: Duration,
    buffer: Box<[u8]>,
}

impl Forwarder {
    /// `links` must be valid.
    pub(crate) fn new(
        taps: Vec<Tap>,
        links: &LinkFile,
        udp_ports: Vec<u16>,
    ) -> Result<Forwarder, ConfigError> {
        let mut forwarder = Forwarder {
            taps,
            wires: Vec::new(),
            udp_ports,
            era: 0,
            epoch: Instant::now(),
            calendar: Duration::ZERO,
            buffer: vec![0; MAX_FRAME].into(),
        };
        forwarder.restart(links)?;
        Ok(forwarder)
    }

    fn restart(&mut self, links: &LinkFile) -> Result<(), ConfigError> {
        let mut wires = Vec::new();
        for path in 0..links.path_count() {
            for direction in Direction::BOTH {
                let config = links.link(path, direction).expect("the path was counted").clone();
                let link = Link::new(config, link_seed(links.seed, wires.len()))?;
                let late = Histogram::new_with_max(MAX_LATE, 2).expect("the bounds are in order");
                wires.push(Wire { link, late, aside: 0 });
            }
        }
        self.wires = wires;
        self.era += 1;
        self.epoch = Instant::now();
        let calendar = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        self.calendar = calendar.unwrap_or_default();
        Ok(())
    }

    /// Forwards frames until the owner has gone; `realtime` if the system runs this thread before all others.
    pub(crate) fn run(mut self, orders: &Receiver<Order>, realtime: bool) {
        let (mut since, mut slept) = (Instant::now(), Duration::ZERO);
        loop {
            match orders.try_recv() {
                Ok(Order::Stop(answer)) => {
                    let _ = answer.send(self.report());
                    return;
                }
                Ok(order) => self.obey(order),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
            self.deliver();
            if !self.take() {
                slept += self.wait();
            }
            if realtime && since.elapsed() >= PERIOD {
                thread::sleep(REST.saturating_sub(slept));
                (since, slept) = (Instant::now(), Duration::ZERO);
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Restart(links) => {
                self.restart(&links).expect("the links were valid the first time");
            }
            Order::Reconfigure(index, config, answer) => {
                let now = self.now();
                // Whoever does not wait for the answer does not need it.
                let _ = answer.send(self.wires[index].link.reconfigure(now, *config));
            }
            Order::Report(answer) | Order::Stop(answer) => {
                let _ = answer.send(self.report());
            }
        }
    }

    fn now(&self) -> Nanos {
        self.epoch.elapsed().into()
    }

    /// Hands over what is due.
    fn deliver(&mut self) {
        let mut now = self.now();
        for index in 0..self.wires.len() {
            while let Some(delivery) = self.wires[index].link.poll(now) {
                let Delivery { at, mut packet, number, corruption, ecn, .. } = delivery;
                if let Some(corruption) = corruption {
                    corruption.apply(&mut packet.bytes[packet.payload..]);
                }
                change_ecn(&mut packet.bytes, ecn);
                self.send(index ^ 1, now, &packet.bytes, Some(self.packet_id(index, number)));
                now = self.now();
                self.wires[index].late.saturating_record((now - at).get());
            }
        }
    }

    /// Sends a frame to an interface, and has it recorded as the one with this number.
    fn send(&mut self, tap: usize, now: Nanos, frame: &[u8], number: Option<u64>) {
        let Tap { device, recorder } = &mut self.taps[tap];
        if let Some((recorder, number)) = recorder.as_mut().zip(number) {
            recorder.record(self.calendar + now.into(), frame, number);
        }
        // What an interface that was taken down refuses is lost, as on any cable.
        let _ = device.send(frame);
    }

    /// Takes what interfaces have sent, a few frames each; `false` if there was nothing.
    fn take(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.taps.len() {
            for _ in 0..BATCH {
                let mut buffer = std::mem::take(&mut self.buffer);
                let read = self.taps[index].device.recv(&mut buffer);
                if let Ok(length) = read {
                    self.accept(index, &buffer[..length]);
                }
                self.buffer = buffer;
                if read.is_err() {
                    break;
                }
                any = true;
            }
        }
        any
    }

    /// A frame has come from an interface.
    fn accept(&mut self, tap: usize, frame: &[u8]) {
        let now = self.now();
        let Kind::Packet { class, payload } = classify(frame, &self.udp_ports) else {
            self.wires[tap].aside += 1;
            return self.send(tap ^ 1, now, frame, None);
        };
        let size = u32::try_from(frame.len() - ETHERNET).unwrap_or(u32::MAX);
        let offered = Frame { bytes: frame.into(), payload };
        let link = &mut self.wires[tap].link;
        link.offer(now, size, class, offered);
        let number = link.stats().offered;
        let number = self.packet_id(tap, number);
        if let Some(recorder) = &mut self.taps[tap].recorder {
            recorder.record(self.calendar + now.into(), frame, number);
        }
    }

    /// A packet's number in all captures: the link, and the packet in it.
    fn packet_id(&self, wire: usize, number: u64) -> u64 {
        self.era << 52 | (wire as u64) << 40 | number
    }

    /// Waits until something is due or comes. How long it slept.
    fn wait(&self) -> Duration {
        let due = self.wires.iter().filter_map(|wire| wire.link.next_wakeup()).min();
        let left = due.map_or(DOZE, |due| (due - self.now()).into());
        let Some(sleep) = left.min(DOZE).checked_sub(SPIN) else {
            hint::spin_loop();
            return Duration::ZERO;
        };
        let mut all: Vec<PollFd<'_>> =
            self.taps.iter().map(|tap| PollFd::new(&tap.device, PollFlags::IN)).collect();
        let sleep = Timespec::try_from(sleep).expect("it is short");
        let before = Instant::now();
        // After a signal it looks again.
        let _: Result<usize, _> = poll(&mut all, Some(&sleep));
        before.elapsed()
    }

    fn report(&self) -> Report {
        let span = self.epoch.elapsed();
        let link = |(index, wire): (usize, &Wire)| {
            let place = (index / 2, Direction::BOTH[index % 2]);
            let late = Lateness::of(&wire.late);
            DirectionReport::new(place, wire.link.stats(), span, late, wire.aside)
        };
        Report {
            seconds: span.as_secs_f64(),
            realtime: false,
            captures_complete: true,
            links: self.wires.iter().enumerate().map(link).collect(),
        }
    }
}

/// Has the system wake the calling thread on time.
pub(crate) fn be_punctual() -> io::Result<()> {
    // prctl(2): the default slack is 50 µs; 0 would mean the default.
    Ok(nix::sys::prctl::set_timerslack(1)?)
}
