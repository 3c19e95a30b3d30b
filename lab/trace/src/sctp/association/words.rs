//! Control chunks in words: what is abandoned (RFC 3758, RFC 8260), streams that are changed (RFC 6525), addresses that come and
//! go (RFC 5061), marks of congestion (RFC 4960 Appendix A), and packets that came damaged (draft-stewart-sctp-pktdrprep).

use std::borrow::Cow;

use tresse_wire::{
    Chunk, ChunkType, PacketDrop, Parameter, Parameters, Quote, SkippedMessages, SkippedStream,
    StreamIds, Tsn,
};

/// TSNs as listings have them.
pub(super) struct Tsns<'a> {
    /// Of what the sender of the chunk has sent.
    pub(super) sent: &'a dyn Fn(Tsn) -> String,
    /// Of what it has received.
    pub(super) arrived: &'a dyn Fn(Tsn) -> String,
}

/// The name of a chunk; of RE-CONFIG, ASCONF and its answer also what is asked and what became of it, by the numbers of the
/// requests; of FORWARD TSN up to where and in which streams; of ECNE and CWR what was marked, and what is said of the window; of
/// PKTDROP what the packet had.
pub(super) fn words(kind: ChunkType, chunk: &Chunk<'_>, tsns: &Tsns<'_>) -> Cow<'static, str> {
    let name = kind.name().unwrap_or("unknown chunk");
    let list = match chunk {
        Chunk::Asconf(asconf) => listed(&asconf.requests, tsns),
        Chunk::AsconfAck(ack) => listed(&ack.responses, tsns),
        Chunk::ReConfig(chunk) => listed(&chunk.parameters, tsns),
        Chunk::ForwardTsn(chunk) => {
            let stream =
                |SkippedStream { stream, ssn }| format!("stream {} SSN {}", stream.0, ssn.0);
            let to = format!("to TSN {}", (tsns.sent)(chunk.new_cumulative_tsn));
            [to].into_iter().chain(few(chunk.skipped().map(stream))).collect()
        }
        Chunk::IForwardTsn(chunk) => {
            let message = |SkippedMessages { stream, unordered, mid }| {
                let order = if unordered { " unordered" } else { "" };
                format!("stream {} MID {}{order}", stream.0, mid.0)
            };
            let to = format!("to TSN {}", (tsns.sent)(chunk.new_cumulative_tsn));
            [to].into_iter().chain(few(chunk.skipped().map(message))).collect()
        }
        Chunk::Ecne(ecne) => {
            let packets = ecne.packets.map(|packets| match packets {
                1 => "1 packet".to_owned(),
                packets => format!("{packets} packets"),
            });
            let from = format!("from TSN {}", (tsns.arrived)(ecne.lowest_tsn));
            [from].into_iter().chain(packets).collect()
        }
        Chunk::Cwr(cwr) => {
            let flags = [(cwr.any_path, "any path"), (cwr.same_window, "same window")];
            let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word.to_owned());
            let from = format!("from TSN {}", (tsns.sent)(cwr.lowest_tsn));
            [from].into_iter().chain(flags).collect()
        }
        Chunk::PacketDrop(report) => quoted(report, tsns),
        _ => return name.into(),
    };
    match (list.is_empty(), kind) {
        (false, _) => format!("{name} ({})", list.join(", ")).into(),
        // RFC 5061 §4.1.2: what is not told of was done.
        (true, ChunkType::ASCONF_ACK) => format!("{name} (done)").into(),
        _ => name.into(),
    }
}

/// How many streams are named at most.
const MOST_STREAMS: usize = 8;

/// The first ones, and how many more there are.
fn few(words: impl ExactSizeIterator<Item = String>) -> impl Iterator<Item = String> {
    let more = words.len().saturating_sub(MOST_STREAMS);
    let rest = (more > 0).then(|| format!("{more} more"));
    words.take(MOST_STREAMS).chain(rest)
}

/// How many chunks of a quoted packet are named at most.
const MOST_QUOTED: usize = 8;

/// The chunks of a packet that was dropped. It may be damaged anywhere.
fn quoted(report: &PacketDrop<'_>, tsns: &Tsns<'_>) -> Vec<String> {
    let from = report.from_middle_box.then(|| "a middle box".to_owned());
    let chunks = Quote::parse(report.packet).into_iter().flat_map(Quote::chunks);
    let named = chunks.take(MOST_QUOTED).map(|chunk| match (chunk.chunk_type, chunk.value) {
        (ChunkType::DATA | ChunkType::I_DATA, [t0, t1, t2, t3, ..]) => {
            let tsn = Tsn(u32::from_be_bytes([*t0, *t1, *t2, *t3]));
            format!("TSN {}", (tsns.arrived)(tsn))
        }
        (kind, _) => kind.name().unwrap_or("unknown chunk").to_owned(),
    });
    from.into_iter().chain(named).collect()
}

fn listed(parameters: &Parameters<'_>, tsns: &Tsns<'_>) -> Vec<String> {
    parameters.parsed().map_while(Result::ok).map(|parameter| word(&parameter, tsns)).collect()
}

/// Streams of a request; none means all of them (RFC 6525 §4.1).
fn streams(list: StreamIds<'_>) -> String {
    if list.is_empty() {
        return "streams (all)".into();
    }
    let named: Vec<String> = few(list.iter().map(|stream| stream.0.to_string())).collect();
    format!("stream{} {}", if named.len() == 1 { "" } else { "s" }, named.join(" "))
}

fn word(parameter: &Parameter<'_>, tsns: &Tsns<'_>) -> String {
    match parameter {
        Parameter::OutgoingSsnReset(reset) => format!(
            "{} reset outgoing {} after TSN {}",
            reset.request.0,
            streams(reset.streams),
            (tsns.sent)(reset.last_tsn)
        ),
        Parameter::IncomingSsnReset(reset) => {
            format!("{} reset incoming {}", reset.request.0, streams(reset.streams))
        }
        Parameter::SsnTsnReset(request) => format!("{} reset all streams and TSNs", request.0),
        Parameter::AddOutgoingStreams(add) => {
            format!("{} add {} outgoing", add.request.0, add.streams)
        }
        Parameter::AddIncomingStreams(add) => {
            format!("{} add {} incoming", add.request.0, add.streams)
        }
        Parameter::ReconfigurationResponse(answer) => {
            format!("{} {}", answer.request.0, answer.result)
        }
        Parameter::AddIpAddress(add) => format!("{} add {}", add.correlation, add.address),
        Parameter::DeleteIpAddress(gone) => {
            format!("{} delete {}", gone.correlation, gone.address)
        }
        Parameter::SetPrimaryAddress(primary) => {
            format!("{} primary {}", primary.correlation, primary.address)
        }
        Parameter::SuccessIndication(correlation) => format!("{correlation} done"),
        Parameter::ErrorCauseIndication(refused) => {
            let cause = refused.causes.iter().next().and_then(Result::ok);
            match cause {
                Some(cause) => format!("{} refused: {}", refused.correlation, cause.code),
                None => format!("{} refused", refused.correlation),
            }
        }
        _ => "other".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_wire::{
        AddStreams, AddressRequest, Asconf, AsconfAck, AsconfNumber, CauseWriter, CommonHeader,
        Cwr, Ecne, Mid, Packet, PacketWriter, ParameterWriter, ReconfigurationResponse,
        ReconfigurationResult, RequestNumber, Ssn, StreamId, VerificationTag,
    };

    /// What one side sends begins with TSN 100, what it receives with 1000.
    fn words(kind: ChunkType, chunk: &Chunk<'_>) -> Cow<'static, str> {
        let [sent, arrived] = [100, 1000].map(|first| move |tsn: Tsn| (tsn.0 - first).to_string());
        super::words(kind, chunk, &Tsns { sent: &sent, arrived: &arrived })
    }

    /// The words of a chunk as it is written.
    fn written(write: impl FnOnce(&mut PacketWriter<'_>)) -> String {
        let tag = VerificationTag(1);
        let header = CommonHeader { source_port: 1, destination_port: 2, verification_tag: tag };
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, header);
        write(&mut writer);
        writer.finish();
        let packet = Packet::parse_unverified(&bytes).unwrap();
        let raw = packet.chunks().next().unwrap().unwrap();
        words(raw.chunk_type, &Chunk::parse(raw).unwrap()).into_owned()
    }

    #[test]
    fn what_is_abandoned_is_told() {
        let entry = |n: u16| SkippedStream { stream: StreamId(n), ssn: Ssn(7) };
        let forward =
            |streams: u16| written(|w| w.forward_tsn(Tsn(104), (3..3 + streams).map(entry)));
        assert_eq!(forward(0), "FORWARD TSN (to TSN 4)");
        assert_eq!(forward(2), "FORWARD TSN (to TSN 4, stream 3 SSN 7, stream 4 SSN 7)");
        assert!(forward(10).ends_with(", stream 10 SSN 7, 2 more)"), "{}", forward(10));
        let message = |unordered| SkippedMessages { stream: StreamId(3), unordered, mid: Mid(9) };
        assert_eq!(
            written(|w| w.i_forward_tsn(Tsn(104), [false, true].map(message).into_iter())),
            "I-FORWARD-TSN (to TSN 4, stream 3 MID 9, stream 3 MID 9 unordered)"
        );
    }

    #[test]
    fn changes_of_streams_and_what_became_of_them_are_told() {
        let re_config = |list: &mut ParameterWriter| {
            let list = list.finish();
            written(|w| w.re_config(&list))
        };
        let number = RequestNumber;
        assert_eq!(
            re_config(
                ParameterWriter::new()
                    .outgoing_ssn_reset(number(7), number(6), Tsn(109), [3, 9].map(StreamId))
                    .incoming_ssn_reset(number(8), [])
            ),
            "RE-CONFIG (7 reset outgoing streams 3 9 after TSN 9, 8 reset incoming streams (all))"
        );
        let add = AddStreams { request: number(9), streams: 5 };
        assert_eq!(
            re_config(ParameterWriter::new().add_outgoing_streams(add).ssn_tsn_reset(number(10))),
            "RE-CONFIG (9 add 5 outgoing, 10 reset all streams and TSNs)"
        );
        let answer =
            |result| ReconfigurationResponse { request: number(7), result, next_tsns: None };
        assert_eq!(
            re_config(
                ParameterWriter::new()
                    .reconfiguration_response(&answer(ReconfigurationResult::PERFORMED))
                    .reconfiguration_response(&answer(ReconfigurationResult(77)))
            ),
            "RE-CONFIG (7 performed, 7 result 77)"
        );
    }

    #[test]
    fn marks_are_told() {
        let ecne = |packets| Chunk::Ecne(Ecne { lowest_tsn: Tsn(1007), packets });
        let said = |packets| words(ChunkType::ECNE, &ecne(packets)).into_owned();
        assert_eq!(said(Some(3)), "ECNE (from TSN 7, 3 packets)");
        assert_eq!(said(Some(1)), "ECNE (from TSN 7, 1 packet)");
        assert_eq!(said(None), "ECNE (from TSN 7)");
        let cwr = |any_path, same_window| {
            let cwr = Cwr { lowest_tsn: Tsn(107), any_path, same_window };
            words(ChunkType::CWR, &Chunk::Cwr(cwr)).into_owned()
        };
        assert_eq!(cwr(false, false), "CWR (from TSN 7)");
        assert_eq!(cwr(true, true), "CWR (from TSN 7, any path, same window)");
    }

    #[test]
    fn requests_and_answers_are_told() {
        let one =
            |correlation, last| AddressRequest { correlation, address: [10, 0, 0, last].into() };
        let list = ParameterWriter::new()
            .add_ip_address(one(7, 1))
            .delete_ip_address(one(8, 2))
            .set_primary_address(one(9, 1))
            .finish();
        let address = [10, 0, 0, 2].into();
        let requests = Parameters::new(&list);
        let asconf = Chunk::Asconf(Asconf { number: AsconfNumber(1), address, requests });
        assert_eq!(
            words(ChunkType::ASCONF, &asconf),
            "ASCONF (7 add 10.0.0.1, 8 delete 10.0.0.2, 9 primary 10.0.0.1)"
        );
        let answer = |list: &[u8]| {
            let responses = Parameters::new(list);
            let ack = Chunk::AsconfAck(AsconfAck { number: AsconfNumber(1), responses });
            words(ChunkType::ASCONF_ACK, &ack).into_owned()
        };
        let causes = CauseWriter::new().resource_shortage(&[]).finish();
        let mut list = ParameterWriter::new();
        list.error_cause_indication(8, &causes).success_indication(9);
        assert_eq!(
            answer(&list.finish()),
            "ASCONF-ACK (8 refused: Operation Refused Due to Resource Shortage, 9 done)"
        );
        assert_eq!(answer(&[]), "ASCONF-ACK (done)");
        assert_eq!(words(ChunkType::COOKIE_ACK, &Chunk::CookieAck), "COOKIE ACK");
    }

    #[test]
    fn a_report_names_what_was_damaged() {
        let mut packet = vec![0; 12];
        packet.extend([0, 3, 0, 17, 0, 0, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]);
        packet.extend([3, 0, 0, 16, 0, 0]);
        let report = |from_middle_box, packet: &[u8]| {
            let report = PacketDrop {
                from_middle_box,
                bad_checksum: true,
                truncated_from: None,
                bandwidth: 0,
                queued: 0,
                packet,
            };
            words(ChunkType::PACKET_DROP, &Chunk::PacketDrop(report)).into_owned()
        };
        assert_eq!(report(false, &packet), "PKTDROP (TSN 28, SACK)");
        assert_eq!(report(true, &packet[..20]), "PKTDROP (a middle box, TSN 28)");
        assert_eq!(report(false, &packet[..19]), "PKTDROP (DATA)");
        assert_eq!(report(false, &[]), "PKTDROP");
    }
}
