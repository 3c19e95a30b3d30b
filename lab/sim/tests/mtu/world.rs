//! Worlds whose paths take packets of some size, and of another one later.

use std::fmt;
use std::time::Duration;

use tresse_core::{Extensions, Time};
use tresse_netem::LinkConfig;
use tresse_sim::Draw;
use tresse_sim::apps::{Bulk, Plan, ScheduledMessage};

/// What packets begin with (`MtuDiscovery::Probes`).
pub(crate) const BASE: usize = 1280;
/// What they are made for where not even those get through.
const SMALLEST: usize = 512;

/// A path, the same in both directions but for what is lost.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) there: LinkConfig,
    pub(crate) back: LinkConfig,
    /// From when on it takes packets of how many bytes.
    pub(crate) sizes: Vec<(Time, usize)>,
    /// Whether routers tell.
    pub(crate) reports: bool,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) profile: &'static str,
    pub(crate) ways: Vec<Way>,
    pub(crate) concurrent: bool,
    /// PMTU_RAISE_TIMER, and the largest packet that is looked for.
    pub(crate) raise_after: Duration,
    pub(crate) max: usize,
    /// What is sent is given up after this time.
    pub(crate) lifetime: Option<Duration>,
    pub(crate) plan: Plan,
    pub(crate) seconds: u64,
    /// In UDP datagrams (RFC 6951), and over IPv6.
    pub(crate) udp: bool,
    pub(crate) ipv6: bool,
    /// What the other end sends.
    pub(crate) answers: Option<Plan>,
    /// What both ends offer, AUTH of data and acknowledgements (RFC 4895) and I-DATA (RFC 8260) among it.
    pub(crate) offered: Extensions,
}

impl World {
    pub(crate) fn draw(seed: u64) -> World {
        let draw = &mut Draw::new(seed ^ 0x6d74_7500);
        let seconds = draw.between(20, 120);
        let max = draw.pick(&[1500, 1500, 9000]);
        let two = draw.chance(0.3);
        let ways: Vec<Way> =
            (0..1 + u64::from(two)).map(|_| Way::draw(draw, seconds, max)).collect();
        let slowest = slowest(&ways, |way| &way.there);
        let plan = if draw.chance(0.3) {
            let size = draw.log_whole(20, 20_000) as usize;
            let (streams, until) =
                (draw.between(1, 4) as u16, Some(Time::from_millis(1000 * seconds)));
            Plan::Bulk(Bulk { streams, unordered: draw.chance(0.3), until, ..Bulk::of_size(size) })
        } else {
            Plan::Schedule(messages(draw, seconds, slowest))
        };
        let scheduled = matches!(plan, Plan::Schedule(_));
        let short = Duration::from_millis(draw.log_whole(200, 5000));
        World {
            seed,
            profile: draw.pick(&["rfc9260", "tresse", "tresse"]),
            concurrent: two && draw.chance(0.5),
            raise_after: Duration::from_secs(draw.pick(&[10, 60, 600])),
            max,
            lifetime: (scheduled && draw.chance(0.25)).then_some(short),
            ways,
            plan,
            seconds,
            udp: false,
            ipv6: false,
            answers: None,
            offered: Extensions::NONE,
        }
    }

    /// One whose packets are in UDP datagrams or IPv6 packets, or both. IPv6 has no links below 1280 bytes.
    pub(crate) fn carried(seed: u64) -> World {
        let mut world = World::draw(seed | 1 << 40);
        (world.udp, world.ipv6) = (seed % 3 != 1, !seed.is_multiple_of(3));
        if world.ipv6 {
            let all = world.ways.iter_mut().flat_map(|way| &mut way.sizes);
            all.for_each(|(_, size)| *size = (*size).max(BASE));
        }
        world
    }

    /// One where the other end sends, too, and both have extensions that make headers longer.
    pub(crate) fn dressed(seed: u64) -> World {
        let mut world = World::draw(seed | 1 << 41);
        let draw = &mut Draw::new(seed ^ 0x6472_6573);
        let slowest = slowest(&world.ways, |way| &way.back);
        world.answers =
            draw.chance(0.7).then(|| Plan::Schedule(messages(draw, world.seconds, slowest)));
        let [authentication, interleaving] = [draw.chance(0.5), draw.chance(0.5)];
        world.offered = Extensions { authentication, interleaving, ..Extensions::NONE };
        world
    }

    /// What the narrowest way ever takes.
    fn narrowest(&self) -> usize {
        self.ways.iter().flat_map(|way| &way.sizes).map(|(_, size)| *size).min().unwrap_or(self.max)
    }

    /// What packets are made for, were it known: below the base the stack makes small ones.
    pub(crate) fn known(&self) -> usize {
        let narrowest = self.narrowest();
        if narrowest < BASE { SMALLEST } else { narrowest }
    }

    /// How often a way becomes narrower than what may be known to pass, at the beginning, too.
    pub(crate) fn narrowings(&self) -> usize {
        let of = |way: &Way| {
            let first = usize::from(way.sizes[0].1 < BASE);
            first + way.sizes.windows(2).filter(|pair| pair[1].1 < pair[0].1).count()
        };
        self.ways.iter().map(of).sum()
    }
}

impl World {
    /// Seconds that it may take at most to find out that ways have become narrower: T3-rtx expires twice, the second time after
    /// twice as long, and three probes of the base are not answered; in between, large packets leave twice in vain.
    pub(crate) fn allowance(&self) -> f64 {
        let rto = self.ways.iter().map(Way::longest_rto).fold(1.0, f64::max);
        self.narrowings() as f64 * 6.0 * rto
    }
}

impl Way {
    /// Seconds: twice the round trip behind a full queue.
    fn longest_rto(&self) -> f64 {
        let of = |link: &LinkConfig| {
            let queue = f64::from(link.queue_packets.unwrap_or(0)) * self.sizes[0].1 as f64 * 8.0;
            (link.delay_ms + queue / link.bandwidth_kbps.unwrap_or(f64::MAX)) / 1e3
        };
        2.0 * (of(&self.there) + self.back.delay_ms / 1e3)
    }

    fn draw(draw: &mut Draw, seconds: u64, max: usize) -> Way {
        let (kbps, delay) = (draw.log(200.0, 50_000.0), draw.log(0.5, 150.0));
        // From a quarter of a second to a second of packets, but enough for a message.
        let queue = (kbps * 125.0 * 0.5 / 1000.0) as u32 + 30;
        let loss = if draw.chance(0.5) { draw.log(0.0005, 0.05) } else { 0.0 };
        let link = LinkConfig { queue_packets: Some(queue), ..LinkConfig::new(kbps, delay) };
        let mut sizes = vec![(Time::ZERO, size(draw, max))];
        for _ in 0..draw.between(0, 3) {
            sizes.push((Time::from_millis(draw.between(1, seconds * 1000)), size(draw, max)));
        }
        sizes.sort_by_key(|(at, _)| *at);
        let back = if draw.chance(0.5) { loss } else { 0.0 };
        Way {
            there: LinkConfig { loss, ..link.clone() },
            back: LinkConfig { loss: back, ..link },
            sizes,
            reports: draw.chance(0.2),
        }
    }
}

/// Kilobits in a second of the slowest of these links.
fn slowest(ways: &[Way], link: impl Fn(&Way) -> &LinkConfig) -> f64 {
    ways.iter().filter_map(|way| link(way).bandwidth_kbps).fold(f64::MAX, f64::min)
}

/// Tunnels, Ethernet, and anything.
fn size(draw: &mut Draw, max: usize) -> usize {
    let usual = [576, 1280, 1400, 1420, 1492, 1500];
    if draw.chance(0.5) { draw.pick(&usual) } else { draw.between(576, max as u64) as usize }
}

/// Messages, small and large ones, alone and several at once, which take at most half of a link that is this fast.
fn messages(draw: &mut Draw, seconds: u64, kbps: f64) -> Vec<ScheduledMessage> {
    let every = draw.log(5.0, 2000.0);
    let (small, large) = (draw.log_whole(8, 400), draw.log_whole(300, 20_000));
    let share = draw.pick(&[0.0, 0.01, 0.1, 0.5, 1.0]);
    let together = draw.pick(&[1, 1, 1, 4]);
    let (streams, unordered) = (draw.between(1, 4), draw.chance(0.3));
    let mean = share * large as f64 + (1.0 - share) * small as f64 + 80.0;
    let every = every.max(mean * f64::from(together) * 8.0 / (0.5 * kbps));
    let mut list = Vec::new();
    let mut at = 100.0;
    while at < seconds as f64 * 1000.0 {
        for _ in 0..together {
            let size = if draw.chance(share) { large } else { small } as usize;
            let stream = draw.between(0, streams - 1) as u16;
            let at = Time::from_nanos((at * 1e6) as u64);
            list.push(ScheduledMessage { at, stream, size, unordered });
        }
        at += every * (0.5 + draw.unit());
    }
    list
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let World { profile, raise_after, max, lifetime, seconds, .. } = self;
        write!(f, "{profile}, {seconds} s, up to {max}, raised after {raise_after:?}")?;
        if let Some(lifetime) = lifetime {
            write!(f, ", given up after {lifetime:?}")?;
        }
        match &self.plan {
            Plan::Bulk(bulk) => write!(f, "; bulk of {} on {}", bulk.size, bulk.streams)?,
            Plan::Schedule(list) => {
                let largest = list.iter().map(|message| message.size).max().unwrap_or(0);
                write!(f, "; {} messages of up to {largest}", list.len())?;
            }
        }
        if let Some(Plan::Schedule(list)) = &self.answers {
            let largest = list.iter().map(|message| message.size).max().unwrap_or(0);
            write!(f, ", {} of up to {largest} back", list.len())?;
        }
        let Extensions { authentication, interleaving, .. } = self.offered;
        for (name, is_so) in [
            ("UDP", self.udp),
            ("IPv6", self.ipv6),
            ("AUTH", authentication),
            ("I-DATA", interleaving),
        ] {
            if is_so {
                write!(f, ", {name}")?;
            }
        }
        if self.concurrent {
            write!(f, "; both ways at once")?;
        }
        for Way { there, back, sizes, reports } in &self.ways {
            let (kbps, delay) = (there.bandwidth_kbps.unwrap_or(0.0), there.delay_ms);
            write!(
                f,
                "\n    {kbps:.0} kbit/s, {delay:.1} ms, loss {:.4} {:.4};",
                there.loss, back.loss
            )?;
            for (at, size) in sizes {
                write!(f, " {size} from {:.1} s,", at.as_nanos() as f64 / 1e9)?;
            }
            write!(f, " {}", if *reports { "told by ICMP" } else { "silent" })?;
        }
        Ok(())
    }
}
