//! What SACKs and deliveries say of a transfer in which order is lost: how much the SACKs report in
//! gap blocks, how much the receiver holds for order, and how long messages take.

use std::collections::BTreeMap;

use tresse_core::Time;
use tresse_core::wire::{Chunk, GapAckBlock, Packet as SctpPacket, Sack};
use tresse_report::statistics::{mean, percentile};
use tresse_sim::Packet;

use crate::flow::metric::GAP_ACKED_CLASSES;

/// Watches the packets of the data sender.
#[derive(Debug)]
pub(super) struct TransferObserver {
    /// Size of the receive buffer, bytes.
    receive_buffer: u32,
    first_tsn: Option<u32>,
    /// When each TSN was sent first, counted from the first one.
    sent: Vec<Time>,
    /// TSNs in the gap blocks of each SACK.
    gap_acked: Vec<f64>,
    /// Bytes that each SACK says are held. The application reads at once, so they wait for order.
    held: Vec<f64>,
}

impl TransferObserver {
    /// An observer of a transfer to a receive buffer of this many bytes.
    pub(super) fn new(receive_buffer: u32) -> TransferObserver {
        let (sent, gap_acked, held) = (Vec::new(), Vec::new(), Vec::new());
        TransferObserver { receive_buffer, first_tsn: None, sent, gap_acked, held }
    }

    pub(super) fn on_packet(&mut self, now: Time, outgoing: bool, packet: &Packet) {
        let Ok(sctp) = SctpPacket::parse_unverified(&packet.payload) else { return };
        for chunk in sctp.chunks().map_while(Result::ok) {
            match Chunk::parse(chunk) {
                Ok(Chunk::Data(data)) if outgoing => self.data(now, data.tsn.0),
                Ok(Chunk::IData(data)) if outgoing => self.data(now, data.tsn.0),
                Ok(Chunk::Sack(sack)) if !outgoing => self.sack(&sack, 0),
                Ok(Chunk::NrSack(nr)) if !outgoing => {
                    self.sack(&nr.sack, nr.nr_gap_blocks().map(tsns).sum());
                }
                _ => {}
            }
        }
    }

    fn data(&mut self, now: Time, tsn: u32) {
        let first = *self.first_tsn.get_or_insert(tsn);
        // TSNs are given in order, so a new one is the next.
        if tsn.wrapping_sub(first) as usize == self.sent.len() {
            self.sent.push(now);
        }
    }

    /// A SACK arrives, with this many TSNs in blocks that only an NR-SACK has.
    fn sack(&mut self, sack: &Sack<'_>, non_renegable: u64) {
        let reported = sack.gap_blocks().map(tsns).sum::<u64>() + non_renegable;
        self.gap_acked.push(reported as f64);
        self.held.push(f64::from(self.receive_buffer.saturating_sub(sack.a_rwnd)));
    }

    /// Metrics into `values`. `deliveries`: when a message was delivered, and the TSN that it begins
    /// with.
    pub(super) fn finish(self, deliveries: &[(Time, u32)], values: &mut BTreeMap<String, f64>) {
        let first = self.first_tsn.unwrap_or_default();
        let delays: Vec<f64> = deliveries
            .iter()
            .filter_map(|(at, tsn)| {
                let sent = self.sent.get(tsn.wrapping_sub(first) as usize)?;
                Some(at.since(*sent).as_nanos() as f64 / 1e6)
            })
            .collect();
        let stalls = deliveries.windows(2).map(|pair| pair[1].0.since(pair[0].0));
        let mut put = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                values.insert(name.to_owned(), value);
            }
        };
        put("stall_ms", stalls.max().map(|stall| stall.as_nanos() as f64 / 1e6));
        let samples = [
            ("delivery_ms", &delays),
            ("reorder_bytes", &self.held),
            ("gap_acked", &self.gap_acked),
        ];
        for (name, sample) in samples {
            put(&format!("{name}.mean"), mean(sample));
            put(&format!("{name}.p50"), percentile(sample, 50.0));
            put(&format!("{name}.p95"), percentile(sample, 95.0));
            put(&format!("{name}.p99"), percentile(sample, 99.0));
            put(&format!("{name}.max"), sample.iter().copied().reduce(f64::max));
        }
        let share = |within: &dyn Fn(f64) -> bool| {
            let n = self.gap_acked.iter().filter(|n| within(**n)).count();
            (!self.gap_acked.is_empty()).then(|| 100.0 * n as f64 / self.gap_acked.len() as f64)
        };
        for (name, low, high) in GAP_ACKED_CLASSES {
            put(&format!("gap_acked.{name}"), share(&|n| (*low..=*high).contains(&n)));
        }
    }
}

/// TSNs in a block.
fn tsns(block: GapAckBlock) -> u64 {
    u64::from(block.end.saturating_sub(block.start)) + 1
}
