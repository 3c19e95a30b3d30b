//! A host that takes time: one core that serves packets one after the other.
//!
//! Without a processor a host handles a packet the moment it arrives. With one, what arrives waits
//! until everything before it is done, and is lost where the queue for it is full; what the host
//! sends leaves when its own turn is over. A SACK costs what the sender's walks over its queue of
//! outstanding chunks cost (Sarnow 2017 §5.1.4): the more TSNs the SACK spans, the later the next
//! packet.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use tresse_core::Time;
use tresse_wire::{Chunk, GapAckBlock, Packet as SctpPacket};

use crate::packet::Packet;

/// What packets cost a host, see
/// [`Simulation::set_processor`](crate::Simulation::set_processor).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorConfig {
    /// Time for each packet, sent or received. Default 0.
    pub packet: Duration,
    /// Time for each SACK or NR-SACK besides. Default 0.
    pub sack: Duration,
    /// Time for each chunk on the first walk of a SACK, which marks what is acknowledged. Default 0.
    pub mark: Duration,
    /// Time for each chunk on the two others, which find what was revoked and what is missing.
    /// Default 0.
    pub check: Duration,
    /// Which chunks these two visit.
    pub walks: SackWalks,
    /// Received packets that may wait; more are lost. `None` (default): any number.
    pub queue_packets: Option<usize>,
}

/// Which outstanding chunks a sender visits for a SACK that has gap blocks, after it has marked all
/// up to the last block (Sarnow 2017 §5.1.4 and §5.2). A SACK without them needs no walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SackWalks {
    /// All of them twice, first for those that were revoked, then to strike those that are missing.
    /// The default.
    #[default]
    Whole,
    /// Twice those that no block reports, from a list made while marking.
    Missing,
}

/// What the walks of a SACK find in the sender's queue up to the last gap block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reach {
    /// Chunks in it. What is acknowledged for good has left it.
    queued: u64,
    /// Those among them that no block reports.
    missing: u64,
}

impl Reach {
    fn new(
        blocks: impl Iterator<Item = GapAckBlock>,
        non_renegable: impl Iterator<Item = GapAckBlock>,
    ) -> Reach {
        let add = |(reach, tsns): (u64, u64), block: GapAckBlock| {
            let length = u64::from(block.end.saturating_sub(block.start)) + 1;
            (reach.max(u64::from(block.end)), tsns + length)
        };
        let (reach, acked) = blocks.fold((0, 0), add);
        let (reach, kept) = non_renegable.fold((reach, 0), add);
        let queued = reach.saturating_sub(kept);
        Reach { queued, missing: queued.saturating_sub(acked) }
    }
}

impl ProcessorConfig {
    /// How long SACKs of a packet take, one by one.
    fn sacks(&self, packet: &Packet) -> impl Iterator<Item = Duration> {
        let sctp = SctpPacket::parse_unverified(&packet.payload).ok();
        let chunks = sctp.into_iter().flat_map(|sctp| sctp.chunks().map_while(Result::ok));
        chunks.filter_map(|raw| match Chunk::parse(raw) {
            Ok(Chunk::Sack(sack)) => {
                Some(self.walk(Reach::new(sack.gap_blocks(), std::iter::empty())))
            }
            Ok(Chunk::NrSack(nr)) => {
                Some(self.walk(Reach::new(nr.sack.gap_blocks(), nr.nr_gap_blocks())))
            }
            _ => None,
        })
    }

    fn walk(&self, reach: Reach) -> Duration {
        let checked = match self.walks {
            SackWalks::Whole => reach.queued,
            SackWalks::Missing => reach.missing,
        };
        let times = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let marking = self.mark.saturating_mul(times(reach.queued));
        self.sack + marking + self.check.saturating_mul(times(2 * checked))
    }
}

/// What a processor did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessorStats {
    /// How long it was busy.
    pub busy: Duration,
    /// How much of that SACKs took, besides what every packet takes.
    pub sacks: Duration,
    /// SACKs by that time: the n-th number is for 2^n up to 2^(n+1) nanoseconds, the first one for
    /// less as well, the last one for more.
    pub sack_times: [u64; 32],
    /// Received packets that found the queue full.
    pub lost: u64,
}

/// Something that takes time.
#[derive(Debug)]
pub(crate) enum Job {
    /// A packet that has arrived.
    Receive(Packet),
    /// A packet to be sent from this source, or one that is left open.
    Send(Option<IpAddr>, Packet),
}

/// The processor of a host: what waits for it, and what it does.
#[derive(Debug)]
pub(crate) struct Processor {
    config: ProcessorConfig,
    /// What one packet has the host send comes before the next packet that was received, as within
    /// a call of the kernel's.
    sends: VecDeque<Job>,
    receives: VecDeque<Job>,
    serving: Option<Job>,
    stats: ProcessorStats,
}

impl Processor {
    pub(crate) fn new(config: ProcessorConfig) -> Processor {
        let stats = ProcessorStats::default();
        let (sends, receives) = (VecDeque::new(), VecDeque::new());
        Processor { config, sends, receives, serving: None, stats }
    }

    pub(crate) fn stats(&self) -> &ProcessorStats {
        &self.stats
    }

    /// Forgets everything that waits: the host is down.
    pub(crate) fn clear(&mut self) {
        self.sends.clear();
        self.receives.clear();
        self.serving = None;
    }

    /// Lets a job wait for its turn. A packet received while the queue is full is lost.
    pub(crate) fn add(&mut self, job: Job) {
        let full = self.config.queue_packets.is_some_and(|most| self.receives.len() >= most);
        match job {
            Job::Send(..) => self.sends.push_back(job),
            Job::Receive(_) if full => self.stats.lost += 1,
            Job::Receive(_) => self.receives.push_back(job),
        }
    }

    /// Begins the next job, unless there is none or one is under way: when it will be done.
    pub(crate) fn begin(&mut self, now: Time) -> Option<Time> {
        if self.serving.is_some() {
            return None;
        }
        let job = self.sends.pop_front().or_else(|| self.receives.pop_front())?;
        let mut takes = self.config.packet;
        if let Job::Receive(packet) = &job {
            for time in self.config.sacks(packet) {
                let class = time.as_nanos().max(1).ilog2() as usize;
                self.stats.sack_times[class.min(31)] += 1;
                self.stats.sacks += time;
                takes += time;
            }
        }
        self.stats.busy += takes;
        self.serving = Some(job);
        Some(now + takes)
    }

    /// The job that is done.
    pub(crate) fn end(&mut self) -> Option<Job> {
        self.serving.take()
    }
}

#[cfg(test)]
mod tests {
    use tresse_wire::{CommonHeader, PacketWriter, SackFlags, Tsn, VerificationTag};

    use super::*;

    const fn micros(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    const fn at(micros: u64) -> Time {
        Time::from_nanos(1000 * micros)
    }

    fn blocks(of: &[(u16, u16)]) -> impl ExactSizeIterator<Item = GapAckBlock> + Clone {
        of.iter().map(|(start, end)| GapAckBlock { start: *start, end: *end })
    }

    /// A packet with a SACK, or an NR-SACK if some TSNs are acknowledged for good.
    fn sack(gaps: &[(u16, u16)], non_renegable: &[(u16, u16)]) -> Packet {
        let (source_port, destination_port) = (5000, 5000);
        let verification_tag = VerificationTag(1);
        let header = CommonHeader { source_port, destination_port, verification_tag };
        let mut buffer = Vec::new();
        let mut writer = PacketWriter::new(&mut buffer, header);
        let none = std::iter::empty();
        match non_renegable {
            [] => writer.sack(Tsn(7), 1000, blocks(gaps), none),
            nr => {
                writer.nr_sack(SackFlags::default(), Tsn(7), 1000, blocks(gaps), blocks(nr), none);
            }
        }
        writer.finish();
        let ip = IpAddr::from([10, 0, 0, 1]);
        Packet::sctp(ip, ip, buffer.into())
    }

    fn slow(walks: SackWalks) -> ProcessorConfig {
        let queue_packets = Some(2);
        ProcessorConfig {
            packet: micros(10),
            sack: micros(5),
            mark: micros(1),
            check: micros(2),
            walks,
            queue_packets,
        }
    }

    #[test]
    fn a_sack_costs_the_chunks_that_the_walks_visit() {
        // Outstanding up to the last block: 100, of which 60 are reported.
        let gaps: &[(u16, u16)] = &[(11, 40), (71, 100)];
        let cost = |walks, packet: &Packet| slow(walks).sacks(packet).collect::<Vec<_>>();
        let (whole, missing) = (SackWalks::Whole, SackWalks::Missing);
        assert_eq!(cost(whole, &sack(gaps, &[])), [micros(5 + 100 + 2 * 200)]);
        assert_eq!(cost(missing, &sack(gaps, &[])), [micros(5 + 100 + 2 * 80)]);
        for walks in [whole, missing] {
            assert_eq!(cost(walks, &sack(&[], &[])), [micros(5)], "nothing to walk for");
        }
        // What is acknowledged for good has left the queue: 40 are in it, 10 of them reported.
        let nr = sack(&[(1, 10)], gaps);
        assert_eq!(cost(whole, &nr), [micros(5 + 40 + 2 * 80)]);
        assert_eq!(cost(missing, &nr), [micros(5 + 40 + 2 * 60)]);
    }

    #[test]
    fn jobs_wait_for_their_turn_and_what_is_sent_comes_first() {
        let mut processor = Processor::new(slow(SackWalks::Whole));
        assert_eq!(processor.begin(at(0)), None, "nothing to do");
        processor.add(Job::Receive(sack(&[(2, 4)], &[])));
        assert_eq!(processor.begin(at(0)), Some(at(10 + 5 + 4 + 2 * 8)));
        processor.add(Job::Receive(sack(&[], &[])));
        assert_eq!(processor.begin(at(20)), None, "busy");
        assert!(matches!(processor.end(), Some(Job::Receive(_))));
        processor.add(Job::Send(None, sack(&[(2, 4)], &[])));
        assert_eq!(processor.begin(at(35)), Some(at(45)), "sending a SACK costs no walk");
        assert!(matches!(processor.end(), Some(Job::Send(..))));
        assert_eq!(processor.begin(at(45)), Some(at(60)));
        let stats = processor.stats();
        assert_eq!((stats.busy, stats.sacks, stats.lost), (micros(60), micros(30), 0));
        // 25 µs and 5 µs.
        assert_eq!((stats.sack_times[14], stats.sack_times[12]), (1, 1));
    }

    #[test]
    fn a_full_queue_loses_what_arrives_but_nothing_that_is_sent() {
        let mut processor = Processor::new(slow(SackWalks::Whole));
        for _ in 0..5 {
            processor.add(Job::Receive(sack(&[], &[])));
            processor.add(Job::Send(None, sack(&[], &[])));
        }
        let mut done = 0;
        while processor.begin(at(0)).is_some() {
            done += usize::from(processor.end().is_some());
        }
        assert_eq!((done, processor.stats().lost), (5 + 2, 3));
        processor.add(Job::Receive(sack(&[], &[])));
        processor.clear();
        assert_eq!(processor.begin(at(0)), None);
    }
}
