//! How much of everything is right: memory, packets, time.

use std::time::Duration;

use tresse_core::{AssociationConfig, AssociationStats, LossCause, PathStats, Profile, Time};

use crate::ledger::{Kind, Ledger};
use crate::scenario::{Call, Fault, Reading, Scenario};

/// Calls of one application at one instant. What happens at one instant is bounded by what is
/// buffered then: 1 MiB of messages that an association reports as failed, or of acknowledged
/// packets. No scenario sends more than 400 messages to a side.
pub(crate) const CALLS_PER_INSTANT: u32 = 5_000;

/// The one violation of the protocol that an honest peer can be accused of: its message exceeds
/// `max_message_size` (RFC 9260 §3.3.10.4 leaves no better cause).
pub(crate) const TOO_LONG: &str = "message longer than max_message_size";

/// Memory never exceeds this many times the receive buffer, whatever the peer was promised.
const RECEIVE_BUFFER_FACTOR: usize = 4;

/// Streams that have traffic, at most.
const INTERLEAVED: usize = 64;
/// What all messages that are open may hold, in largest messages, if the receive buffer is not larger (`Extensions::interleaving`).
const MOST_OPEN: usize = 4;

/// The most that the headers of a packet with one chunk of data take: IPv6, UDP, SCTP, AUTH and I-DATA.
pub(crate) const HEADERS: usize = 40 + 8 + 12 + 40 + 20;

/// What holds for the memory of an association at any moment.
pub(crate) fn check_memory(
    ledger: &mut Ledger,
    end: usize,
    stats: &AssociationStats,
    config: &AssociationConfig,
) {
    let (host, name) = (ledger.ends[end].host, ledger.ends[end].name.clone());
    // `send_buffer`: one message larger than the limit is accepted into an empty buffer.
    // Streams of which little waits may go beyond it by the reserve.
    let reserve = (config.send_buffer as f64 * config.profile.streams.reserve) as usize;
    let limit = (config.send_buffer + reserve).max(ledger.largest[host]);
    if stats.send_buffered > limit {
        let text = format!("{name}: {} of {limit} bytes", stats.send_buffered);
        ledger.violate(Kind::SendBuffer, text);
    }
    // A message larger than the buffer is put together nevertheless, and the chunk that reaches
    // the limit is still taken.
    let largest = ledger.largest[1 - host].min(config.max_message_size);
    // Where messages are interleaved, one of each stream is.
    let open = match config.extensions.interleaving {
        true => {
            let most = MOST_OPEN * config.max_message_size;
            (largest * INTERLEAVED).min(most.max(config.receive_buffer as usize))
        }
        false => largest,
    };
    let limit = RECEIVE_BUFFER_FACTOR * config.receive_buffer as usize + open + 65_536;
    if stats.receive_buffered > limit {
        let text = format!("{name}: {} of {limit} bytes", stats.receive_buffered);
        ledger.violate(Kind::ReceiveBuffer, text);
    }
}

/// What holds for a path at any moment.
pub(crate) fn check_path(
    ledger: &mut Ledger,
    end: usize,
    path: &PathStats,
    config: &AssociationConfig,
) {
    if path.counters.mtu_probes_sent > 0 {
        let host = ledger.ends[end].host;
        ledger.seen.insert(["path MTU probed", "path MTU probed by the other host"][host]);
    }
    let profile = &config.profile;
    // RFC 9260 §6.3.1 C6, C7 and §6.3.3 E2: RTO.Min <= RTO <= RTO.Max. C1: before the first
    // measurement it is RTO.Initial, however small.
    let (initial, least) = (profile.rto.initial(), least_rto(profile));
    let least = if path.srtt.is_some() { least } else { least.min(initial) };
    let rto = (least..=profile.rto.max()).contains(&path.rto);
    // §7.2.3: a window is never smaller than one PMDCS, which is more than half the path MTU here.
    let window = path.cwnd > path.mtu / 2;
    // §8.2: counting stops when the path is inactive.
    let errors = path.errors <= profile.limits.path_max_retrans + 1;
    if !(rto && window && errors) {
        let text = format!("{}: {path:?}", ledger.ends[end].name);
        ledger.violate(Kind::Range, text);
    }
}

/// What the counters of an association must say when it has closed.
pub(crate) fn check_counters(ledger: &mut Ledger, end: usize, stats: &AssociationStats) {
    let seen = &ledger.ends[end];
    let (messages, bytes) = seen.sent(ledger);
    let (name, parts) = (seen.name.clone(), seen.parts);
    let expected = [messages, bytes, seen.received, seen.received_bytes];
    let counted = [
        stats.messages_sent,
        stats.user_bytes_sent,
        stats.messages_received,
        stats.user_bytes_received,
    ];
    if expected != counted {
        let text = format!("{name}: {counted:?} were counted, {expected:?} happened");
        ledger.violate(Kind::Counters, text);
    }
    // RFC 9260 §6.2: at most one SACK for each packet with DATA, and window updates: no more of
    // them than messages and parts of messages were read.
    let chunks =
        stats.data_chunks_received + stats.duplicate_chunks_received + stats.data_chunks_dropped;
    // RFC 3758 §3.6: for the purposes of sending a SACK a FORWARD TSN is like DATA.
    let chunks = chunks + stats.forward_tsns_received;
    // RFC 6525 §5.2.1: a request to change streams brings one, too.
    let requests = stats.reconfigurations_received
        + stats.reconfigurations_seen_again
        + stats.reconfigurations_refused;
    // So does one that deletes the address that SACKs went to (RFC 5061).
    let requests = requests + stats.asconfs_received;
    // What was damaged on its way to the peer is repeated.
    let damaged = stats.packet_drop_reports_received;
    if stats.sacks_sent > chunks + stats.messages_received + parts + requests + damaged {
        let text = format!("{name}: {} SACKs for {chunks} chunks", stats.sacks_sent);
        ledger.violate(Kind::Chatter, text);
    }
    let seen = &mut ledger.seen;
    let mut note = |condition: bool, name| {
        if condition {
            seen.insert(name);
        }
    };
    note(stats.auth_chunks_received > 0, "AUTH");
    note(stats.packet_drop_reports_sent > 0, "damage reported");
    let repaired = stats.retransmissions_by(LossCause::PacketDropReport);
    note(repaired > 0, "repaired for a report");
    note(stats.zero_window_probes > 0, "zero window probes");
    note(stats.timeouts > 0, "T3-rtx");
    note(stats.fast_recoveries > 0, "fast recovery");
    note(stats.extra_packets > 0, "extra packets");
    note(stats.reneged > 0, "reneging");
    note(stats.duplicates_reported > 0, "duplicates reported");
    note(stats.forward_tsns_received > 0, "FORWARD TSN");
    note(stats.chunks_passed_over > 0, "fragments passed over");
    note(stats.data_chunks_dropped > 0, "chunks dropped by a full receiver");
}

/// The most packets of both hosts together.
///
/// Each chunk can be lost a few times on its way there and back, and be sent again without need;
/// acknowledgements are no more than packets with data. Besides, each path of each host may send
/// a heartbeat, and get its answer, once in the shortest RTO; the timers of setup and shutdown
/// expire less often than that.
pub(crate) fn most_packets(scenario: &Scenario, chunks: u64, span: Duration) -> u64 {
    // The fault of an old kernel, which sends a missing chunk again on every SACK, is to be as bad
    // as it was: each copy that arrives in vain brings another SACK.
    let faulty = scenario.hosts.iter().any(|h| h.config.profile.fast_retransmit.repeat);
    let mut packets = 300 + if faulty { 300 } else { 30 } * chunks;
    for (host, plan) in scenario.hosts.iter().enumerate() {
        let profile = &plan.config.profile;
        let peer = &scenario.hosts[1 - host];
        let addresses = peer.stack.as_ref().map_or(peer.addresses.len(), |s| s.addresses().len());
        // Those that the peer adds, and a packet and its answer for each of its requests.
        let asks = |call: &&(Time, Call)| matches!(call.1, Call::ChangeAddress(..));
        let asked = peer.calls.iter().filter(asks).count();
        packets += 2 * asked as u64;
        let paths = (addresses + plan.remotes.len() + asked).min(16) as f64;
        let rto = least_rto(profile).as_secs_f64();
        packets += (2.0 * (paths + 1.0) * span.as_secs_f64() / rto) as u64;
    }
    packets
}

/// A world that is not over after this many events and packets will not be: others take a tenth at most.
const MOST_WORK: u64 = 2_000_000;

/// The most events and packets that are simulated.
pub(crate) fn most_work(scenario: &Scenario, chunks: u64, span: Duration) -> u64 {
    // A packet is sent, waits, arrives and may wake a timer, at up to three hops.
    MOST_WORK.min(1000 + 10 * most_packets(scenario, chunks, span))
}

/// The shortest RTO that any mechanism of the profile allows; at least one tick.
pub(crate) fn least_rto(profile: &Profile) -> Duration {
    let mut least = profile.rto.min();
    if profile.thin_rto_min.enabled {
        least = least.min(profile.thin_rto_min.min());
    }
    if profile.dynamic_rto_min.enabled {
        least = Duration::from_secs_f64(profile.dynamic_rto_min.floor_ms / 1000.0).min(least);
    }
    least.max(Duration::from_millis(1))
}

/// Kilobits in a second below which a full window fills a link for longer than an RTO.
const NARROW: f64 = 32.0;

/// How long after the curfew, or after the last message was due, a mild scenario must be over:
/// the readers may be slow, the network may need some times the time that the data takes by
/// itself, and a handful of RTOs may expire in a row, however unlucky.
pub(crate) fn mild_patience(scenario: &Scenario) -> Duration {
    let mut span = Duration::from_secs(70);
    for host in 0..2 {
        let incoming = &scenario.hosts[1 - host].traffic;
        span += scenario.hosts[host].reading.slowness(incoming.len());
        let slowest = slowest_to(scenario, host);
        span += 8 * all_data(scenario, host);
        let sender = &scenario.hosts[1 - host].config;
        if sender.profile.bundle_new.enabled && !sender.profile.budget.enabled {
            // Pedersen (2006) §4.4: what is outstanding fills the packet of each message.
            let bits = 8.0 * (incoming.len() * sender.mtu) as f64;
            span += Duration::from_secs_f64(bits / (slowest * 1000.0));
        }
        let fast = &sender.profile.fast_retransmit;
        if fast.threshold == 0 && slowest < NARROW {
            // T3-rtx alone repairs what is lost. Queues of seconds make it long, and while all that goes is sent again no
            // RTT is timed (RFC 9260 §6.3.1 C5): it stays backed off, and each loss of that time costs a whole one.
            span += sender.profile.rto.max() * 3;
        }
        if scenario.features.contains("messages name keys") && slowest < NARROW {
            // A packet has chunks of one key alone (RFC 4895 §6.2), so that a window of bytes can be a hundred packets, of
            // which a short queue takes a few. The rest waits for T3-rtx, also after that has expired.
            span += sender.profile.rto.max() * 3;
        }
        let delays = scenario.links.iter().map(|link| link.config.delay_ms).fold(0.0, f64::max);
        span += Duration::from_secs_f64(incoming.len() as f64 * 2.0 * delays / 1000.0 / 10.0);
        span += round_trip(scenario, host).mul_f64(rounds(scenario, host));
    }
    span
}

/// Kilobits in a second of the slowest link to a host.
fn slowest_to(scenario: &Scenario, host: usize) -> f64 {
    let rates = scenario.links.iter().filter(|link| link.from != host);
    rates.filter_map(|link| link.config.bandwidth_kbps).fold(1e6, f64::min)
}

/// How long all messages to a host take on that link, each sent once.
fn all_data(scenario: &Scenario, host: usize) -> Duration {
    let incoming = &scenario.hosts[1 - host].traffic;
    let bits = incoming.iter().map(|m| 8.0 * (m.size + 100) as f64).sum::<f64>();
    Duration::from_secs_f64(bits / (slowest_to(scenario, host) * 1000.0))
}

/// How long data to a host takes, and its acknowledgement back, by the slowest links.
fn round_trip(scenario: &Scenario, host: usize) -> Duration {
    let slowest = |from: usize| {
        let links = scenario.links.iter().filter(|link| link.from == from);
        links.map(|link| link.config.delay_ms + link.config.jitter_ms).fold(0.0, f64::max)
    };
    let delay = Duration::from_secs_f64((slowest(0) + slowest(1)) / 1000.0);
    delay + scenario.hosts[host].config.profile.sack.delay()
}

/// This many round trips the data to a host may need: in each, a sender may fill no more than its window. At
/// worst that is what congestion control leaves after losses, or what it takes for losses when packets
/// overtake each other (RFC 9260 §7.2.3), or half of a small buffer, as the other half may hold a message
/// that is not complete. And half of what is sent may be sent in vain, or too small to fill it.
fn rounds(scenario: &Scenario, host: usize) -> f64 {
    let (receiver, sender) = (&scenario.hosts[host].config, &scenario.hosts[1 - host].config);
    let payload = payload(scenario) as f64;
    let buffer = sender.send_buffer.min(receiver.receive_buffer as usize) as f64 / 2.0;
    let window = buffer.min(payload * sender.profile.congestion.ssthresh_floor);
    let bytes = scenario.hosts[1 - host].traffic.iter().map(|m| m.size as f64).sum::<f64>();
    2.0 * bytes / window
}

/// User bytes that fit a packet of both hosts.
fn payload(scenario: &Scenario) -> usize {
    let [one, other] = [0, 1].map(|host: usize| scenario.hosts[host].config.mtu);
    one.min(other) - HEADERS
}

/// Chunks of the data to a host.
fn chunks(scenario: &Scenario, host: usize) -> u32 {
    let payload = payload(scenario);
    let messages = &scenario.hosts[1 - host].traffic;
    messages.iter().map(|m| m.size.div_ceil(payload) as u32).sum()
}

/// How long after the curfew everything must be over.
pub(crate) fn patience(scenario: &Scenario) -> Duration {
    let mut span = Duration::from_secs(10);
    for host in 0..2 {
        let plan = &scenario.hosts[host];
        span += host_patience(&plan.config);
        span += plan.reading.slowness(scenario.hosts[1 - host].traffic.len());
        if let Reading::Pauses(pauses) = &plan.reading {
            // A pause may begin after the curfew.
            span += pauses.last().map_or(Duration::ZERO, |p| p.1.since(scenario.curfew));
        }
    }
    for host in 0..2 {
        // RFC 9260 §6.3.1 C7 takes no RTO.Max below 60 s. Where a round trip takes longer, each T3-rtx expires
        // before the answer, and one packet is on its way at a time (§6.3.3 E3, §7.2.3).
        let trip = round_trip(scenario, host);
        // Much is lost, and much sent again in vain.
        span += 4 * all_data(scenario, host);
        if trip > scenario.hosts[1 - host].config.profile.rto.max() {
            span += trip * chunks(scenario, host);
        }
    }
    for (_, fault) in &scenario.faults {
        if let Fault::Jump(_, by) = fault {
            // What waits for a moment waits longer when the clock is put back.
            span += Duration::from_nanos(by.min(&0).unsigned_abs());
        }
    }
    span
}

/// The same for the timers of one host. Each of these can only follow the other once.
fn host_patience(config: &AssociationConfig) -> Duration {
    let profile = &config.profile;
    let (rto_max, limits) = (profile.rto.max(), &profile.limits);
    // RFC 9260 §5.1: T1-init and T1-cookie, and all again after a stale cookie (§5.2.6).
    let setup = rto_max * 4 * (limits.max_init_retransmits + 1);
    // §9.2: T5-shutdown-guard.
    let guard = rto_max.mul_f64(limits.shutdown_guard_rto_max);
    // §8.1: consecutive losses of data, and then of SHUTDOWN or SHUTDOWN ACK.
    let unreachable = rto_max * 2 * (limits.association_max_retrans + 1);
    // §5.4, §8.3: where the peer has deleted the last address that was verified (RFC 5061), heartbeats alone tell that it is
    // gone; to an inactive address they leave once in HB.interval and an RTO (0.5 to 1.5), and each waits for one more.
    let asked = profile.heartbeat.interval() + rto_max.mul_f64(2.5);
    let unverified = match config.extensions.address_reconfiguration {
        true => asked * (limits.association_max_retrans + 1),
        false => Duration::ZERO,
    };
    setup + guard + unreachable + unverified
}
