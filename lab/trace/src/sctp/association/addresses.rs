//! Addresses that come and go (RFC 5061), marks of congestion (RFC 4960 Appendix A), and packets that came damaged
//! (draft-stewart-sctp-pktdrprep), in words.

use std::borrow::Cow;

use tresse_wire::{Chunk, ChunkType, PacketDrop, Parameter, Parameters, Quote};

/// The name of a chunk; of ASCONF and its answer also what is asked and refused, by the numbers of the requests; of ECNE and
/// CWR what was marked, and what is said of the window; of PKTDROP what the packet had.
pub(super) fn words(kind: ChunkType, chunk: &Chunk<'_>) -> Cow<'static, str> {
    let name = kind.name().unwrap_or("unknown chunk");
    let list = match chunk {
        Chunk::Asconf(asconf) => listed(&asconf.requests),
        Chunk::AsconfAck(ack) => listed(&ack.responses),
        Chunk::Ecne(ecne) => {
            let packets = ecne.packets.map(|packets| format!("{packets} packets"));
            [format!("from TSN {}", ecne.lowest_tsn.0)].into_iter().chain(packets).collect()
        }
        Chunk::Cwr(cwr) => {
            let flags = [(cwr.any_path, "any path"), (cwr.same_window, "same window")];
            let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word.to_owned());
            [format!("from TSN {}", cwr.lowest_tsn.0)].into_iter().chain(flags).collect()
        }
        Chunk::PacketDrop(report) => quoted(report),
        _ => return name.into(),
    };
    match (list.is_empty(), kind) {
        (false, _) => format!("{name} ({})", list.join(", ")).into(),
        // RFC 5061 §4.1.2: what is not told of was done.
        (true, ChunkType::ASCONF_ACK) => format!("{name} (done)").into(),
        _ => name.into(),
    }
}

/// How many chunks of a quoted packet are named at most.
const MOST_QUOTED: usize = 8;

/// The chunks of a packet that was dropped. It may be damaged anywhere.
fn quoted(report: &PacketDrop<'_>) -> Vec<String> {
    let from = report.from_middle_box.then(|| "a middle box".to_owned());
    let chunks = Quote::parse(report.packet).into_iter().flat_map(Quote::chunks);
    let named = chunks.take(MOST_QUOTED).map(|chunk| match (chunk.chunk_type, chunk.value) {
        (ChunkType::DATA | ChunkType::I_DATA, [t0, t1, t2, t3, ..]) => {
            format!("TSN {}", u32::from_be_bytes([*t0, *t1, *t2, *t3]))
        }
        (kind, _) => kind.name().unwrap_or("unknown chunk").to_owned(),
    });
    from.into_iter().chain(named).collect()
}

fn listed(parameters: &Parameters<'_>) -> Vec<String> {
    parameters.parsed().map_while(Result::ok).map(|parameter| word(&parameter)).collect()
}

fn word(parameter: &Parameter<'_>) -> String {
    match parameter {
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
                Some(cause) => format!("{} refused: cause {}", refused.correlation, cause.code.0),
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
        AddressRequest, Asconf, AsconfAck, AsconfNumber, CauseWriter, Cwr, Ecne, ParameterWriter,
        Tsn,
    };

    #[test]
    fn marks_are_told() {
        let ecne = |packets| Chunk::Ecne(Ecne { lowest_tsn: Tsn(7), packets });
        let said = |packets| words(ChunkType::ECNE, &ecne(packets)).into_owned();
        assert_eq!(said(Some(3)), "ECNE (from TSN 7, 3 packets)");
        assert_eq!(said(None), "ECNE (from TSN 7)");
        let cwr = |any_path, same_window| {
            let cwr = Cwr { lowest_tsn: Tsn(7), any_path, same_window };
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
        assert_eq!(answer(&list.finish()), "ASCONF-ACK (8 refused: cause 161, 9 done)");
        assert_eq!(answer(&[]), "ASCONF-ACK (done)");
        assert_eq!(words(ChunkType::COOKIE_ACK, &Chunk::CookieAck), "COOKIE ACK");
    }

    #[test]
    fn a_report_names_what_was_damaged() {
        let mut packet = vec![0; 12];
        packet.extend([0, 3, 0, 17, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]);
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
        assert_eq!(report(false, &packet), "PKTDROP (TSN 260, SACK)");
        assert_eq!(report(true, &packet[..20]), "PKTDROP (a middle box, TSN 260)");
        assert_eq!(report(false, &packet[..19]), "PKTDROP (DATA)");
        assert_eq!(report(false, &[]), "PKTDROP");
    }
}
