//! A thin world, drawn from a seed: a link, the thin streams that share it, and what else is on it.

use std::fmt;

use tresse_core::Time;
use tresse_sim::LinkConfig;
use tresse_sim::apps::{Bulk, Plan, ScheduledMessage};

use tresse_sim::Draw;

/// Bytes of a packet beside the message: IP, SCTP and DATA headers.
const HEADERS: usize = 20 + 12 + 16;
/// Bytes of a packet with a SACK.
const SACK: usize = 20 + 12 + 16;
/// Messages of one replication.
const MESSAGES: f64 = 1500.0;
/// The least of each stream: a shorter one is mostly handshake.
const OF_A_STREAM: f64 = 60.0;
/// Packets that the link carries in one replication, at most.
const PACKETS: f64 = 20_000.0;

/// What makes a world hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// One stream fills 30 to 100 % of its link.
    Narrow,
    /// 2 to 200 streams do.
    Shared,
    /// Streams beside bulk transfers that fill the queue.
    BesideBulk,
    /// The way back is narrower than the SACKs need.
    SlowSacks,
    /// Queues of seconds that come and go, as downloads do.
    Bufferbloat,
    /// Bandwidth is plenty, and packets are lost at random.
    Wide,
}

impl Kind {
    pub(crate) const ALL: [Kind; 6] = [
        Kind::Narrow,
        Kind::Shared,
        Kind::BesideBulk,
        Kind::SlowSacks,
        Kind::Bufferbloat,
        Kind::Wide,
    ];
}

/// When the messages of a stream are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rhythm {
    /// At fixed intervals.
    Periodic,
    /// At random, independently of each other.
    Poisson,
    /// This many at once, at fixed intervals.
    Bursts(u32),
}

/// One thin stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stream {
    /// Bytes of a message.
    pub(crate) size: usize,
    /// Milliseconds for each message, on average.
    pub(crate) every_ms: f64,
    pub(crate) rhythm: Rhythm,
    /// Milliseconds that its own access adds each way.
    pub(crate) access_ms: f64,
    seed: u64,
}

impl Stream {
    fn wire_bytes(size: usize) -> f64 {
        (HEADERS + size.next_multiple_of(4)) as f64
    }

    /// The messages of one replication, which every profile gets alike.
    pub(crate) fn plan(&self, seconds: f64, replication: u64) -> Plan {
        let mut draw = Draw::new(self.seed ^ replication.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let group = if let Rhythm::Bursts(n) = self.rhythm { n } else { 1 };
        let gap = self.every_ms * f64::from(group);
        let mut schedule = Vec::new();
        let mut at = draw.unit() * gap;
        while at < seconds * 1e3 {
            let message = ScheduledMessage {
                at: Time::from_nanos((at * 1e6) as u64),
                stream: 0,
                size: self.size,
                unordered: false,
            };
            schedule.extend(std::iter::repeat_n(message, group as usize));
            // Exponential gaps make a Poisson process.
            let random = self.rhythm == Rhythm::Poisson;
            at += if random { -gap * (1.0 - draw.unit()).ln() } else { gap };
        }
        Plan::Schedule(schedule)
    }
}

/// A bulk transfer beside them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transfer {
    pub(crate) from_s: f64,
    pub(crate) until_s: f64,
}

impl Transfer {
    pub(crate) fn plan(&self) -> Plan {
        let at = |s: f64| Time::from_nanos((s * 1e9) as u64);
        Plan::Bulk(Bulk {
            from: at(self.from_s),
            until: Some(at(self.until_s)),
            ..Bulk::of_size(1400)
        })
    }
}

/// A second address of both ends.
#[derive(Clone, Debug)]
pub(crate) enum Second {
    /// Its packets take the same links.
    SameLinks,
    /// They have links of their own, there and back.
    OwnLinks(Box<[LinkConfig; 2]>),
}

/// Everything that a seed decides.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) kind: Kind,
    pub(crate) forward: LinkConfig,
    pub(crate) backward: LinkConfig,
    pub(crate) streams: Vec<Stream>,
    /// Another path of each of them.
    pub(crate) second: Option<Second>,
    pub(crate) transfers: Vec<Transfer>,
    /// For how long messages are sent.
    pub(crate) seconds: f64,
    /// What the streams need of the bandwidth, first transmissions alone.
    pub(crate) load: f64,
}

impl World {
    pub(crate) fn draw(seed: u64) -> World {
        let mut d = Draw::new(seed ^ 0x7468_696e_2077_6f72);
        let kind = Kind::ALL[seed as usize % Kind::ALL.len()];
        let count = match kind {
            Kind::Narrow | Kind::Wide => 1,
            Kind::Shared => d.log_whole(2, 200),
            Kind::BesideBulk | Kind::Bufferbloat => d.log_whole(1, 30),
            Kind::SlowSacks => d.log_whole(1, 8),
        };
        let kbps = match kind {
            Kind::Narrow => d.log(4.8, 512.0),
            Kind::Shared => d.log(64.0, 4000.0),
            Kind::BesideBulk | Kind::Bufferbloat => d.log(128.0, 4000.0),
            Kind::SlowSacks => d.log(9.6, 1000.0),
            Kind::Wide => d.log(1000.0, 100_000.0),
        };
        let load = match kind {
            Kind::Narrow | Kind::Shared => 0.3 + 0.7 * d.unit(),
            Kind::BesideBulk | Kind::Bufferbloat => d.log(0.01, 0.4),
            Kind::SlowSacks => 0.3 + 0.7 * d.unit(),
            Kind::Wide => d.log(0.0005, 0.05),
        };
        let delay_ms = d.log(1.0, 300.0);
        let mut forward = LinkConfig::new(kbps, delay_ms);
        let mut backward = LinkConfig::new(kbps, delay_ms);
        let size = d.log_whole(20, if kbps < 64.0 { 400 } else { 1200 }) as usize;
        // Of a load that all share equally.
        let total_bytes_ms = kbps / 8.0 * load;
        let every_ms = Stream::wire_bytes(size) * count as f64 / total_bytes_ms;
        let rhythms = [Rhythm::Periodic, Rhythm::Poisson, Rhythm::Bursts(d.between(2, 7) as u32)];
        let streams = (0..count).map(|_| Stream {
            size,
            every_ms,
            rhythm: rhythms[d.index(3)],
            access_ms: if count > 1 { d.log(0.1, 50.0) } else { 0.0 },
            seed: d.next(),
        });
        let streams: Vec<Stream> = streams.collect();
        let packets_s = kbps * 125.0 / if kind == Kind::Wide { 1e9 } else { 12_000.0 / 8.0 };
        let enough = (MESSAGES / count as f64).max(OF_A_STREAM) * every_ms / 1e3;
        let bulky = matches!(kind, Kind::BesideBulk | Kind::Bufferbloat);
        let seconds = if bulky { enough.min(PACKETS / packets_s) } else { enough };

        // Drop tail: bytes of this many milliseconds, no less than a few packets.
        let queue =
            |d: &mut Draw, low: f64, high: f64| ((kbps / 8.0 * d.log(low, high)) as u64).max(6000);
        match kind {
            Kind::BesideBulk => forward.queue_bytes = Some(queue(&mut d, 30.0, 1500.0)),
            Kind::Bufferbloat => forward.queue_bytes = Some(queue(&mut d, 1000.0, 8000.0)),
            _ if d.chance(0.5) => forward.queue_bytes = Some(queue(&mut d, 50.0, 5000.0)),
            _ => {}
        }
        if d.chance(if kind == Kind::Wide { 1.0 } else { 0.6 }) {
            forward.loss = d.log(0.001, if kind == Kind::Wide { 0.1 } else { 0.03 });
            // SACKs are lost in some worlds only: a lost one looks like lost data.
            backward.loss = if d.chance(0.3) { forward.loss } else { 0.0 };
        }
        if d.chance(0.3) {
            forward.jitter_ms = d.unit() * 0.5 * delay_ms;
            backward.jitter_ms = if d.chance(0.5) { forward.jitter_ms } else { 0.0 };
        }
        if kind == Kind::SlowSacks {
            // SACKs for every packet would need 30 to 150 % of it.
            let sacks = SACK as f64 * count as f64 / every_ms;
            backward.bandwidth_kbps = Some(sacks * 8.0 / (0.3 + 1.2 * d.unit()));
            backward.queue_bytes = d.chance(0.5).then(|| d.log_whole(500, 20_000));
        }
        let transfers = match kind {
            Kind::BesideBulk => (0..d.between(1, 3))
                .map(|_| Transfer { from_s: d.unit() * 5.0, until_s: seconds })
                .collect(),
            Kind::Bufferbloat => (0..d.between(2, 6))
                .map(|_| {
                    let from_s = d.unit() * seconds;
                    Transfer { from_s, until_s: from_s + d.log(2.0, 30.0) }
                })
                .collect(),
            _ => Vec::new(),
        };
        World { seed, kind, forward, backward, streams, second: None, transfers, seconds, load }
    }
}

impl World {
    /// One stream with a message of `size` bytes every `every_ms`, alone on a link.
    pub(crate) fn alone(seed: u64, link: &LinkConfig, size: usize, every_ms: f64) -> World {
        let stream = Stream { size, every_ms, rhythm: Rhythm::Periodic, access_ms: 0.0, seed };
        let kbps = link.bandwidth_kbps.unwrap_or(f64::INFINITY);
        World {
            seed,
            kind: Kind::Narrow,
            forward: link.clone(),
            backward: LinkConfig { queue_bytes: None, ..link.clone() },
            streams: vec![stream],
            second: None,
            transfers: Vec::new(),
            seconds: 2.0 * MESSAGES * every_ms / 1e3,
            load: Stream::wire_bytes(size) * 8.0 / every_ms / kbps,
        }
    }

    /// One stream as in the other worlds, whose ends have two addresses, or whose packets overtake each other.
    pub(crate) fn strange(seed: u64) -> World {
        let mut d = Draw::new(seed ^ 0x0073_7472_616e_6765);
        let alone = [Kind::Narrow, Kind::Wide];
        let mut world = World::draw(Kind::ALL.len() as u64 * seed + alone[d.index(2)] as u64);
        let other = [&mut world.forward, &mut world.backward].map(|link| {
            let mut other = link.clone();
            other.bandwidth_kbps = link.bandwidth_kbps.map(|kbps| kbps * d.log(0.3, 10.0));
            other.delay_ms = d.log(1.0, 300.0);
            other.loss = if d.chance(0.5) { d.log(0.001, 0.1) } else { 0.0 };
            (other.jitter_ms, other.queue_bytes) = (0.0, None);
            if seed % 3 == 2 {
                link.reorder = d.log(0.001, 0.05);
                link.reorder_delay_ms = Some(link.delay_ms * d.log(0.2, 6.0));
            }
            other
        });
        world.second = match seed % 3 {
            0 => Some(Second::SameLinks),
            1 => Some(Second::OwnLinks(Box::new(other))),
            _ => None,
        };
        world
    }

    /// A stream that wants one to three times what its link carries.
    pub(crate) fn saturated(seed: u64) -> World {
        let mut d = Draw::new(seed ^ 0x7361_7475_7261_7465);
        let kbps = d.log(8.0, 1000.0);
        let mut link = LinkConfig::new(kbps, d.log(1.0, 300.0));
        link.queue_bytes = d.chance(0.7).then(|| (kbps / 8.0 * d.log(50.0, 5000.0)) as u64 + 3000);
        if d.chance(0.5) {
            link.loss = d.log(0.001, 0.1);
        }
        let size = d.log_whole(20, 1200) as usize;
        let load = 1.0 + 2.0 * d.unit();
        World::alone(seed, &link, size, Stream::wire_bytes(size) * 8.0 / kbps / load)
    }
}

fn link(f: &mut fmt::Formatter<'_>, name: &str, link: &LinkConfig) -> fmt::Result {
    let kbps = link.bandwidth_kbps.unwrap_or(f64::INFINITY);
    write!(f, "{name} {kbps:.1} kbit/s, {:.1} ms", link.delay_ms)?;
    if link.jitter_ms > 0.0 {
        write!(f, " ± {:.1}", link.jitter_ms)?;
    }
    if let Some(bytes) = link.queue_bytes {
        write!(f, ", queue {:.0} ms", bytes as f64 * 8.0 / kbps)?;
    }
    if let Some(late) = link.reorder_delay_ms {
        write!(f, ", {:.2} % late by {late:.1} ms", 100.0 * link.reorder)?;
    }
    if link.loss > 0.0 {
        write!(f, ", loss {:.2} %", 100.0 * link.loss)?;
    }
    Ok(())
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: ", self.kind)?;
        link(f, "there", &self.forward)?;
        link(f, "; back", &self.backward)?;
        match &self.second {
            Some(Second::SameLinks) => write!(f, "; two addresses")?,
            Some(Second::OwnLinks(links)) => {
                link(f, "; second path there", &links[0])?;
                link(f, "; back", &links[1])?;
            }
            None => {}
        }
        let first = self.streams[0];
        write!(
            f,
            "; {} × {} B every {:.0} ms ({:?}), load {:.0} %, {:.0} s",
            self.streams.len(),
            first.size,
            first.every_ms,
            first.rhythm,
            100.0 * self.load,
            self.seconds,
        )?;
        if !self.transfers.is_empty() {
            write!(f, "; {} bulk transfers", self.transfers.len())?;
        }
        Ok(())
    }
}
