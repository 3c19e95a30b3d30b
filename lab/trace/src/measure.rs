//! What captures say of associations and connections, as values: for programs that compare stacks.
//!
//! ```no_run
//! use std::time::Duration;
//! use tresse_trace::{Options, measure};
//!
//! let sender = ["sender.pcapng".as_ref()];
//! let receiver = ["receiver.pcapng".as_ref()];
//! let (associations, _) = measure::both_ends(&sender, &receiver, Options::default())?;
//! for association in &associations {
//!     let sent = &association.directions[0];
//!     println!("{} retransmissions", sent.retransmissions.len());
//!     println!("{:?} ms", association.summary.directions[0].transfer);
//!     println!("failover: {:?} s", sent.longest_gap().map(|gap| gap.seconds()));
//!     println!("{:?}", sent.goodput_mbps(Duration::from_secs(1)));
//! }
//! # Ok::<(), tresse_trace::capture::CaptureError>(())
//! ```

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use crate::capture::CaptureError;
use crate::event::{Event, Head, Observer};
use crate::statistics::Class;
use crate::summary::Summary;
use crate::terms::{Identity, Proof, Until};
use crate::trace::{Options, Totals, Trace};

/// More rows of a direction are not kept: retransmissions, losses, messages and steps of progress each.
/// Summaries count all.
pub const MOST_ROWS: usize = 4_000_000;

/// A chunk or segment that was sent before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retransmission {
    /// When, in nanoseconds since the epoch of the capture (1970 for a real one).
    pub at: u64,
    /// TSN counted from the first one of the direction; first byte for TCP.
    pub number: i64,
    /// User data in bytes.
    pub bytes: u32,
    /// Over which path, an index into [`Summary::paths`].
    pub path: u16,
    /// For the how manyeth time it is sent again; 0 if that is forgotten.
    pub count: u32,
    /// Why, as far as packets tell; `None` if it was acknowledged already.
    pub class: Option<Class>,
    /// Milliseconds since its first transmission; 0 if that is forgotten.
    pub delay_ms: f64,
    /// Milliseconds since its last transmission, likewise.
    pub since_last_ms: f64,
    /// Proof that it was unnecessary, if there is any. Captures of both ends prove it for all that
    /// were, and nothing else counts then ([`Proof::Arrival`]); from one end it is the first that the
    /// protocol gives, for those that it reports.
    pub spurious: Option<Proof>,
}

/// A transmission that was lost on the way. Only captures of both ends show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When it was sent, in nanoseconds since the epoch of the capture.
    pub sent_at: u64,
    /// TSN counted from the first one of the direction.
    pub number: i64,
    /// Which of the chunk's retransmissions; 0 for its first transmission.
    pub count: u32,
    /// Over which path, an index into [`Summary::paths`].
    pub path: u16,
}

/// A user message that is through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageTransfer {
    /// When its first chunk was sent for the first time; `None` if that was not captured.
    pub sent_at: Option<u64>,
    /// When it was through.
    pub done_at: u64,
    /// What that means.
    pub until: Until,
    /// TSN of its first chunk, counted from the first one of the direction.
    pub number: i64,
    /// Its stream.
    pub stream: u16,
    /// Its SSN or MID.
    pub sequence: u32,
    /// Whether it is unordered.
    pub unordered: bool,
    /// Its payload protocol identifier.
    pub ppid: u32,
    /// User data in bytes.
    pub bytes: u64,
}

impl MessageTransfer {
    /// Message transfer time in milliseconds.
    #[must_use]
    pub fn transfer_ms(&self) -> Option<f64> {
        self.sent_at.map(|sent| crate::flow::ms(sent, self.done_at))
    }
}

/// A pause in delivery although something was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last delivery before it, or the first transmission of what ends it if that is later.
    pub from: u64,
    /// The delivery that ends it.
    pub to: u64,
}

impl Gap {
    /// Its length.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to.saturating_sub(self.from) as f64 / 1e9
    }
}

/// One direction.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// All that was sent again.
    pub retransmissions: Vec<Retransmission>,
    /// All that was lost, in the order in which that became sure.
    pub losses: Vec<Loss>,
    /// Messages, in the order in which they were through; none for TCP.
    pub messages: Vec<MessageTransfer>,
    /// When this many bytes of user data were through at once: delivered where both ends were
    /// captured, else acknowledged.
    pub progress: Vec<(u64, u64)>,
    /// All pauses, in their order, one for each step of progress.
    gaps: Vec<Gap>,
    /// Whether there were more than [`MOST_ROWS`].
    pub cut_off: bool,
    last: Option<u64>,
    /// Since when something is under way.
    since: Option<u64>,
}

impl Measurements {
    /// Goodput over time: begins of intervals of this length in seconds since the first progress,
    /// and Mbit/s of user data that were through in each. Empty of nothing.
    #[must_use]
    pub fn goodput_mbps(&self, interval: Duration) -> Vec<(f64, f64)> {
        let length = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        let begin = self.progress.first().map_or(0, |(at, _)| *at);
        let mut bytes: BTreeMap<u64, u64> = BTreeMap::new();
        for (at, more) in &self.progress {
            *bytes.entry(at.saturating_sub(begin) / length).or_default() += more;
        }
        let last = bytes.last_key_value().map(|(index, _)| *index);
        // A pause of years, from a damaged time, is no reason to make a list of it.
        let indices = last.map(|last| 0..=last.min(MOST_ROWS as u64)).into_iter().flatten();
        let rate = |index| bytes.get(&index).copied().unwrap_or(0) as f64 * 8e3 / length as f64;
        indices.map(|index| ((index * length) as f64 / 1e9, rate(index))).collect()
    }

    /// Pauses in delivery of at least this length, in their order.
    #[must_use]
    pub fn gaps(&self, least: Duration) -> Vec<Gap> {
        let long = |gap: &&Gap| gap.seconds() >= least.as_secs_f64();
        self.gaps.iter().filter(long).copied().collect()
    }

    /// The longest pause in delivery: where a path failed, the time to failover.
    #[must_use]
    pub fn longest_gap(&self) -> Option<Gap> {
        self.gaps.iter().max_by_key(|gap| gap.to - gap.from).copied()
    }

    fn progress(&mut self, at: u64, bytes: u64, sent: Option<u64>) {
        let from = self.last.max(sent).map(|from| from.min(at));
        self.last = Some(at);
        match self.progress.last_mut() {
            Some((last, before)) if *last == at => *before += bytes,
            _ => {
                if push(&mut self.progress, (at, bytes), &mut self.cut_off)
                    && let Some(from) = from
                {
                    self.gaps.push(Gap { from, to: at });
                }
            }
        }
    }
}

/// Adds a row if there is room.
fn push<T>(rows: &mut Vec<T>, row: T, cut_off: &mut bool) -> bool {
    let room = rows.len() < MOST_ROWS;
    if room {
        rows.push(row);
    } else {
        *cut_off = true;
    }
    room
}

/// An association or connection.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What is counted of it; also says what its captures cannot tell ([`Summary::unknown`]).
    pub summary: Summary,
    /// From A to B, from B to A.
    pub directions: [Measurements; 2],
}

/// Keeps everything in memory until it is over.
#[derive(Debug, Default)]
pub struct Collector {
    live: HashMap<u64, Open>,
    ended: Vec<Measured>,
}

#[derive(Debug, Default)]
struct Open {
    /// TCP, which has no messages.
    bytes_only: bool,
    directions: [Measurements; 2],
    /// Where a retransmission stands in its list, by side, number and count.
    known: [HashMap<(i64, u32), usize>; 2],
}

impl Collector {
    /// What has ended so far.
    #[must_use]
    pub fn into_measured(self) -> Vec<Measured> {
        self.ended
    }
}

impl Observer for Collector {
    fn begins(&mut self, identity: &Identity) {
        let bytes_only = identity.protocol == "tcp";
        self.live.insert(identity.association, Open { bytes_only, ..Open::default() });
    }

    fn event(&mut self, head: &Head, event: &Event<'_>) {
        let open = self.live.entry(head.association).or_default();
        match *event {
            Event::Data { number, bytes, again, .. } => {
                let side = head.from.index();
                let m = &mut open.directions[side];
                m.since.get_or_insert(head.at);
                let Some(again) = again else { return };
                let row = Retransmission {
                    at: head.at,
                    number,
                    bytes,
                    path: head.path,
                    count: again.count,
                    class: again.class,
                    delay_ms: again.delay_ms,
                    since_last_ms: again.since_last_ms,
                    spurious: None,
                };
                if push(&mut m.retransmissions, row, &mut m.cut_off) {
                    open.known[side].insert((number, again.count), m.retransmissions.len() - 1);
                }
            }
            Event::Spurious { number, count, proof } => {
                let side = head.from.other().index();
                if let Some(index) = open.known[side].get(&(number, count)) {
                    let row = &mut open.directions[side].retransmissions[*index];
                    match proof {
                        Proof::Arrival => row.spurious = Some(proof),
                        _ => drop(row.spurious.get_or_insert(proof)),
                    }
                }
            }
            Event::Lost { from, number, count, sent_at, path } => {
                let m = &mut open.directions[from.index()];
                let row = Loss { sent_at, number, count, path };
                push(&mut m.losses, row, &mut m.cut_off);
            }
            Event::Sack { newly, flight, .. } => {
                let m = &mut open.directions[head.from.other().index()];
                // Messages tell more.
                if open.bytes_only && newly > 0 {
                    m.progress(head.at, newly, m.since);
                }
                if flight == 0 {
                    m.since = None;
                }
            }
            Event::Message {
                from,
                number,
                stream,
                sequence,
                unordered,
                ppid,
                bytes,
                transfer_ms,
                until,
            } => {
                let m = &mut open.directions[from.index()];
                let sent_at =
                    transfer_ms.map(|ms| head.at - ((ms * 1e6).round() as u64).min(head.at));
                let done_at = head.at;
                let row = MessageTransfer {
                    sent_at,
                    done_at,
                    until,
                    number,
                    stream,
                    sequence,
                    unordered,
                    ppid,
                    bytes,
                };
                m.progress(head.at, bytes, sent_at);
                push(&mut m.messages, row, &mut m.cut_off);
            }
            Event::Sender { .. } | Event::Control { .. } => {}
        }
    }

    fn ends(&mut self, summary: &Summary) {
        let Open { mut directions, .. } =
            self.live.remove(&summary.identity.association).unwrap_or_default();
        if summary.both_ends {
            // A duplicate that the receiver reports may be the network's.
            let again = directions.iter_mut().flat_map(|m| &mut m.retransmissions);
            again.for_each(|row| row.spurious = row.spurious.filter(|p| *p == Proof::Arrival));
        }
        self.ended.push(Measured { summary: summary.clone(), directions });
    }
}

/// Measures all associations and connections of captures that were taken at one place; those of
/// several interfaces are read together. In the order in which they end.
///
/// # What one place cannot know
/// Near the sender: which transmissions arrived. Retransmissions are all seen, but only those count
/// as spurious that the receiver or its acknowledgements give away; messages are through when they
/// are acknowledged ([`Until::Acknowledgement`]), which is at least the way back later than their
/// delivery, and more with delayed SACKs; how long messages wait in the receiver for those before
/// them is not seen. Near the receiver: transmissions that were lost, so there are too few
/// retransmissions, and transfer times begin with the first one that was not lost.
/// [`Summary::near`] says which of both it seems to be.
///
/// # Errors
/// One of the captures cannot be opened or is none.
pub fn one_end(
    captures: &[&Path],
    options: Options,
) -> Result<(Vec<Measured>, Totals), CaptureError> {
    both_ends(captures, &[], options)
}

/// The same with captures taken at both ends: transfer times end with the delivery, all losses and
/// all spurious retransmissions are known, and [`Summary::directions`] have losses
/// ([`arrivals`](crate::DirectionSummary::arrivals)) and head-of-line delays of each stream
/// ([`streams`](crate::DirectionSummary::streams)). See [`Trace::run_both`] for what is assumed.
///
/// # Errors
/// One of the captures cannot be opened or is none.
pub fn both_ends(
    here: &[&Path],
    there: &[&Path],
    options: Options,
) -> Result<(Vec<Measured>, Totals), CaptureError> {
    let mut collector = Collector::default();
    let mut trace = Trace::new(options);
    let captures = trace.open(here, there)?;
    trace.read(captures, &mut collector);
    trace.finish(&mut collector);
    Ok((collector.into_measured(), trace.totals()))
}
