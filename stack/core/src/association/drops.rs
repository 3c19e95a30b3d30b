//! Packets that arrive damaged are reported, and what the peer reports is sent again (draft-stewart-sctp-pktdrprep), where both
//! ends have it.

use tresse_wire::{ChunkType, PACKET_DROP_HEADER_LEN, PacketDrop, Quote, QuotedChunk};

use super::addresses::Addresses;
use super::drop_rate::DropReports;
use super::incoming::PacketInHand;
use super::outbox::DropReport;
use super::{Association, Common, Control, Halves, State};
use crate::datagram::Datagram;
use crate::event::TraceEvent;
use crate::send::Sender;
use crate::time::Time;

/// A report never answers these: another report, and what comes from an end that has no association, not yet or no more.
const UNREPORTED: [ChunkType; 5] = [
    ChunkType::PACKET_DROP,
    ChunkType::ABORT,
    ChunkType::INIT,
    ChunkType::INIT_ACK,
    ChunkType::SHUTDOWN_COMPLETE,
];

impl Association {
    /// A packet with our tag has a wrong checksum, so that nothing in it is certain. Where both ends have drop reports it goes back
    /// to the confirmed address of the peer that it seems to come from; nothing else follows.
    pub(crate) fn report_drop(&mut self, now: Time, datagram: &Datagram) {
        if self.sender.data().has_drop_reports() && self.state() != State::CookieWait {
            let (mut cx, parts) = self.parts(now);
            let reports = &mut parts.extras.drops;
            let (addresses, sender) = (parts.monitor.addresses(), parts.halves.sender);
            send_back(&mut cx, reports, addresses, sender, datagram);
        }
    }
}

/// A PKTDROP chunk: the peer got a packet of ours damaged.
pub(super) fn on_report(
    cx: &mut Common<'_>,
    halves: &mut Halves<'_>,
    incoming: &PacketInHand<'_>,
    report: &PacketDrop<'_>,
) {
    let helped = quoted(cx, report).is_some_and(|quote| repeat(cx, halves, incoming, quote));
    cx.journal.stats.packet_drop_reports_received += 1;
    cx.journal.stats.packet_drop_reports_ignored += u64::from(!helped);
    let event = || TraceEvent::DropReport { quoted: report.packet.len(), helped };
    cx.journal.trace(cx.now, event);
}

/// Sends back a packet whose checksum is wrong, as much of it as one packet takes.
fn send_back(
    cx: &mut Common<'_>,
    reports: &mut DropReports,
    addresses: &Addresses,
    sender: &mut Sender,
    datagram: &Datagram,
) {
    let Some(path) = cx.paths.find(datagram.source) else { return };
    let Some(quote) = Quote::parse(&datagram.packet) else { return };
    if !quote.chunks().all(|chunk| may_be_quoted(&chunk))
        || !cx.paths[path].is_confirmed()
        || !reports.take(cx.now)
    {
        return;
    }
    let packet = &datagram.packet;
    let room = cx.paths[path].pmdcs().saturating_sub(PACKET_DROP_HEADER_LEN);
    let whole = packet.len() <= room;
    let packet = packet.slice(..packet.len().min(room & !3));
    let truncated_from = (!whole).then(|| u16::try_from(datagram.packet.len()).unwrap_or(u16::MAX));
    let source = addresses.reply_source(cx.paths, path, datagram.destination);
    let report = DropReport { packet, truncated_from, source };
    let leaves = cx.push(path, Control::PacketDrop(report));
    if leaves && quote.chunks().any(|chunk| is_sack(chunk.chunk_type)) {
        sender.on_damaged_sack(cx.now, &cx.paths[path]);
    }
}

/// Whether a report may have it. FreeBSD sends SHUTDOWN and SHUTDOWN ACK again whatever its state is, which would end the association
/// if it was a SACK or a HEARTBEAT ACK, or DATA, of whose type a bit is flipped: their length is another one.
fn may_be_quoted(chunk: &QuotedChunk<'_>) -> bool {
    match chunk.chunk_type {
        ChunkType::SHUTDOWN => chunk.length == 8,
        ChunkType::SHUTDOWN_ACK => chunk.length == 4,
        other => !UNREPORTED.contains(&other),
    }
}

fn is_sack(kind: ChunkType) -> bool {
    matches!(kind, ChunkType::SACK | ChunkType::NR_SACK)
}

/// The packet that a report is about, if that is one of ours that was damaged on its way to the peer.
///
/// A middle box (M bit) cannot know the tag that its report would need, and of a drop for another reason than damage it is
/// not known that it was no congestion: SACKs tell of these.
fn quoted<'a>(cx: &Common<'_>, report: &PacketDrop<'a>) -> Option<Quote<'a>> {
    let quoted = report.packet.len();
    let possible = report.truncated_from.is_none_or(|length| usize::from(length) > quoted);
    if !report.bad_checksum || report.from_middle_box || !possible {
        return None;
    }
    let ours = cx.identity.header(cx.identity.peer_tag);
    Quote::parse(report.packet).filter(|quote| quote.header == ours)
}

/// Repeats what was in a packet and is not repaired anyway by what follows, or by a timer: data, the latest SACK, SHUTDOWN and
/// SHUTDOWN ACK. `false` if nothing of it is needed any more.
fn repeat(
    cx: &mut Common<'_>,
    halves: &mut Halves<'_>,
    incoming: &PacketInHand<'_>,
    quote: Quote<'_>,
) -> bool {
    let mut helped = false;
    for chunk in quote.chunks() {
        helped |= match chunk.chunk_type {
            ChunkType::DATA | ChunkType::I_DATA if cx.state.may_send_data() => {
                halves.sender.on_reported(&mut cx.sending(), &chunk)
            }
            kind if is_sack(kind) && cx.state.may_send_data() => {
                halves.receiver.request_sack();
                true
            }
            ChunkType::SHUTDOWN if cx.state == State::ShutdownSent => {
                repeat_end(cx, incoming, Control::Shutdown(None))
            }
            ChunkType::SHUTDOWN_ACK if cx.state == State::ShutdownAckSent => {
                repeat_end(cx, incoming, Control::ShutdownAck(None))
            }
            _ => false,
        };
    }
    helped
}

/// SHUTDOWN or SHUTDOWN ACK leaves again; T2 runs on.
fn repeat_end(cx: &mut Common<'_>, incoming: &PacketInHand<'_>, control: Control) -> bool {
    cx.outbox.drop_shutdowns();
    cx.push(incoming.path(), control)
}
