//! What a sender says of itself in its log (docs/qlog.md), which packets do not show.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use tresse_wire::printable;

use crate::statistics::{DelaySummary, Delays};

/// What is logged of an association, and of which.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    /// Port of the sender and of its peer.
    pub(crate) ports: (u16, u16),
    /// Tag of the packets that it sends.
    pub(crate) tag: u32,
    /// Number of its path.
    pub(crate) path: u16,
    pub(crate) state: SenderState,
}

/// Something that a sender says of itself.
#[derive(Clone, Debug, PartialEq)]
pub enum SenderState {
    /// The congestion window changed.
    Window {
        /// Congestion window in bytes.
        cwnd: u64,
        /// Slow-start threshold in bytes.
        ssthresh: u64,
        /// In flight, in bytes.
        flight: u64,
    },
    /// A round-trip time was measured.
    Rtt {
        /// It, in milliseconds.
        latest_ms: f64,
        /// SRTT in milliseconds.
        smoothed_ms: f64,
        /// RTO in milliseconds.
        rto_ms: f64,
    },
    /// T3-rtx expired.
    Expired {
        /// RTO after backing off, in milliseconds.
        rto_ms: f64,
    },
    /// A chunk was declared lost.
    Lost {
        /// Its TSN.
        tsn: u32,
        /// By which mechanism.
        cause: String,
    },
    /// A chunk was sent again.
    SentAgain {
        /// Its TSN.
        tsn: u32,
        /// The how manyeth transmission of it that was; 2 is the first retransmission.
        transmission: u32,
        /// Why.
        cause: String,
    },
    /// A loss turned out to be none.
    Spurious {
        /// Which mechanism found that.
        cause: String,
    },
    /// The path MTU changed.
    Mtu {
        /// Bytes of the largest packet from now on.
        mtu: u64,
        /// What changed it.
        cause: String,
    },
    /// A probe of the path MTU left.
    MtuProbe {
        /// Bytes of its packet.
        length: u64,
    },
    /// The search for the path MTU is in another state (RFC 8899 §5.2).
    MtuSearch {
        /// That one.
        state: String,
    },
}

impl SenderState {
    /// Reads an event: `Some(None)` if it is none of these, `None` if it is malformed.
    pub(crate) fn read(name: &str, data: &Value) -> Option<Option<SenderState>> {
        let number = |key: &str| data[key].as_u64();
        let ms = |key: &str| data[key].as_f64();
        let tsn = || u32::try_from(data["tsn"].as_u64()?).ok();
        let cause = || data["trigger"].as_str().map(|cause| printable(cause).into_owned());
        Some(Some(match name {
            "sctp:congestion_window_updated" => SenderState::Window {
                cwnd: number("cwnd")?,
                ssthresh: number("ssthresh")?,
                flight: number("flight")?,
            },
            "sctp:rtt_updated" => SenderState::Rtt {
                latest_ms: ms("latest_rtt")?,
                smoothed_ms: ms("smoothed_rtt")?,
                rto_ms: ms("rto")?,
            },
            "sctp:t3_rtx_expired" => SenderState::Expired { rto_ms: ms("rto")? },
            "sctp:chunk_lost" => SenderState::Lost { tsn: tsn()?, cause: cause()? },
            "sctp:data_sent" => match cause() {
                Some(cause) => {
                    let transmission = u32::try_from(number("transmission")?).ok()?;
                    SenderState::SentAgain { tsn: tsn()?, transmission, cause }
                }
                None => return Some(None),
            },
            "sctp:loss_spurious" => SenderState::Spurious { cause: cause()? },
            "sctp:mtu_updated" => SenderState::Mtu { mtu: number("new")?, cause: cause()? },
            "sctp:mtu_probe_sent" => SenderState::MtuProbe { length: number("length")? },
            "sctp:mtu_search_updated" => {
                SenderState::MtuSearch { state: printable(data["new"].as_str()?).into_owned() }
            }
            _ => return Some(None),
        }))
    }
}

/// What the sender's log says of one direction.
#[derive(Clone, Debug, Serialize)]
pub struct SenderSummary {
    /// The smallest congestion window after a change, in bytes, of any path.
    pub cwnd_min: Option<u64>,
    /// The largest, in bytes.
    pub cwnd_max: u64,
    /// The last one, in bytes.
    pub cwnd: u64,
    /// The last slow-start threshold, in bytes.
    pub ssthresh: u64,
    /// RTO whenever it was set.
    pub rto: Option<DelaySummary>,
    /// How often T3-rtx expired.
    pub timeouts: u64,
    /// Chunks that were declared lost, by mechanism.
    pub lost: BTreeMap<String, u64>,
    /// Chunks that were sent again, by cause.
    pub retransmitted: BTreeMap<String, u64>,
    /// Losses that turned out to be none, by the mechanism that found it.
    pub spurious: BTreeMap<String, u64>,
    /// The last path MTU, in bytes, of any path, if one changed.
    pub mtu: Option<u64>,
    /// Changes of a path MTU, by what changed it.
    pub mtu_changes: BTreeMap<String, u64>,
    /// Probes of a path MTU.
    pub mtu_probes: u64,
}

/// Counts what a sender says.
#[derive(Debug, Default)]
pub(crate) struct SenderLog {
    any: bool,
    cwnd_min: Option<u64>,
    cwnd_max: u64,
    cwnd: u64,
    ssthresh: u64,
    rto: Delays,
    timeouts: u64,
    lost: BTreeMap<String, u64>,
    retransmitted: BTreeMap<String, u64>,
    spurious: BTreeMap<String, u64>,
    mtu: Option<u64>,
    mtu_changes: BTreeMap<String, u64>,
    mtu_probes: u64,
}

/// This many causes are told apart; a log of ours has fewer.
const MOST_CAUSES: usize = 64;

fn count(counts: &mut BTreeMap<String, u64>, cause: &str) {
    if let Some(count) = counts.get_mut(cause) {
        *count += 1;
    } else if counts.len() < MOST_CAUSES {
        counts.insert(cause.to_owned(), 1);
    }
}

impl SenderLog {
    pub(crate) fn note(&mut self, state: &SenderState) {
        self.any = true;
        match state {
            SenderState::Window { cwnd, ssthresh, .. } => {
                self.cwnd_min = Some(self.cwnd_min.map_or(*cwnd, |least| least.min(*cwnd)));
                self.cwnd_max = self.cwnd_max.max(*cwnd);
                (self.cwnd, self.ssthresh) = (*cwnd, *ssthresh);
            }
            SenderState::Rtt { rto_ms, .. } => self.rto.note(*rto_ms),
            SenderState::Expired { rto_ms } => {
                self.timeouts += 1;
                self.rto.note(*rto_ms);
            }
            SenderState::Lost { cause, .. } => count(&mut self.lost, cause),
            SenderState::SentAgain { cause, .. } => count(&mut self.retransmitted, cause),
            SenderState::Spurious { cause } => count(&mut self.spurious, cause),
            SenderState::Mtu { mtu, cause } => {
                self.mtu = Some(*mtu);
                count(&mut self.mtu_changes, cause);
            }
            SenderState::MtuProbe { .. } => self.mtu_probes += 1,
            SenderState::MtuSearch { .. } => {}
        }
    }

    /// `None` if nothing was logged.
    pub(crate) fn summary(&self) -> Option<SenderSummary> {
        self.any.then(|| SenderSummary {
            cwnd_min: self.cwnd_min,
            cwnd_max: self.cwnd_max,
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            rto: self.rto.summary(),
            timeouts: self.timeouts,
            lost: self.lost.clone(),
            retransmitted: self.retransmitted.clone(),
            spurious: self.spurious.clone(),
            mtu: self.mtu,
            mtu_changes: self.mtu_changes.clone(),
            mtu_probes: self.mtu_probes,
        })
    }
}
