//! Writes the seed corpus of the `packet` target: `cargo run --example seeds` in this folder.
//!
//! One packet for every chunk type, the longest lists of parameters and causes, and some bundles.

use std::path::Path;
use std::{fs, io};

use tresse_wire::{
    AddStreams, AddressRequest, Asconf, AsconfAck, AsconfNumber, Auth, CauseCode, CauseWriter, CommonHeader, Cwr, DataFlags, Ecne, Fsn, GapAckBlock,
    ErrorDetectionMethod, HmacIdentifier, IData, InitFields, Mid, PacketDrop, PacketWriter, ParameterType, ParameterWriter, Parameters, Ppid, ReconfigurationResponse,
    ReconfigurationResult, RequestNumber, SackFlags, SkippedMessages, SkippedStream, Ssn, StreamId, Tsn,
    VerificationTag,
};

type Write = fn(&mut PacketWriter<'_>);

const FIELDS: InitFields = InitFields {
    initiate_tag: VerificationTag(0x2b5f_09a3),
    a_rwnd: 131_072,
    outbound_streams: 10,
    inbound_streams: 65_535,
    initial_tsn: Tsn(0x3a98_017f),
};

const SEEDS: [(&str, Write); 36] = [
    ("empty", |_| {}),
    ("data", |w| data(w, b"hello")),
    ("data_without_user_data", |w| w.raw(&[0, 3, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])),
    ("init", |w| w.init(&FIELDS, &[])),
    ("init_parameters", |w| w.init(&FIELDS, &parameters())),
    ("init_ack_parameters", |w| w.init_ack(&FIELDS, &parameters())),
    ("sack", |w| sack(w)),
    ("nr_sack", |w| nr_sack(w)),
    ("forward_tsn", |w| forward_tsn(w)),
    ("i_data", |w| i_data(w)),
    ("i_data_without_user_data", |w| {
        w.raw(&[64, 3, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }),
    ("i_forward_tsn", |w| i_forward_tsn(w)),
    ("heartbeat", |w| w.heartbeat(b"nonce")),
    ("heartbeat_ack", |w| w.heartbeat_ack(&[0, 1, 0, 7, 1, 2, 3])),
    ("abort_causes", |w| w.abort(true, &causes())),
    ("shutdown", |w| w.shutdown(Tsn(7))),
    ("shutdown_ack", |w| w.shutdown_ack()),
    ("error_causes", |w| w.error(&causes())),
    ("cookie_echo", |w| w.cookie_echo(b"cookie")),
    ("cookie_ack", |w| w.cookie_ack()),
    ("shutdown_complete", |w| w.shutdown_complete(true)),
    ("ecne", |w| w.ecne(Ecne { lowest_tsn: Tsn(7), packets: Some(2) })),
    ("ecne_without_number", |w| w.ecne(Ecne { lowest_tsn: Tsn(7), packets: None })),
    ("cwr", |w| w.cwr(Cwr { lowest_tsn: Tsn(7), any_path: true, same_window: true })),
    ("re_config_reset", |w| w.re_config(&resets())),
    ("re_config_add", |w| w.re_config(&adds())),
    ("re_config_response", |w| w.re_config(&responses())),
    ("asconf", |w| asconf(w)),
    ("asconf_ack", |w| asconf_ack(w)),
    ("packet_drop", |w| w.packet_drop(&packet_drop())),
    ("auth", |w| {
        w.auth(&Auth { key: 5, algorithm: HmacIdentifier::SHA_256, hmac: &[7; 32] });
        data(w, b"authentic");
    }),
    ("auth_parameters", |w| w.init(&FIELDS, &authentication())),
    ("pad", |w| w.pad(3)),
    ("unknown", |w| w.raw(&[0x8f, 0, 0, 7, 0, 0, 0])),
    ("zero_length", |w| w.raw(&[0, 3, 0, 0, 0, 0, 0, 0])),
    ("bundle", |w| {
        w.cookie_echo(b"cookie");
        sack(w);
        data(w, b"one");
        data(w, b"two!");
        w.shutdown(Tsn(9));
    }),
];

fn data(writer: &mut PacketWriter<'_>, payload: &[u8]) {
    let flags = DataFlags { immediate: true, ..DataFlags::UNFRAGMENTED };
    writer.data(Tsn(1), StreamId(2), Ssn(3), Ppid(51), flags, payload);
}

/// Two messages, one between the fragments of the other.
fn i_data(writer: &mut PacketWriter<'_>) {
    let first = DataFlags { beginning: true, ..DataFlags::default() };
    let last = DataFlags { ending: true, ..DataFlags::default() };
    let whole = DataFlags { unordered: true, ..DataFlags::UNFRAGMENTED };
    let parts = [(1, 2, 3, 0, first), (2, 7, u32::MAX, 0, whole), (3, 2, 3, 1, last)];
    for (tsn, stream, mid, fsn, flags) in parts {
        writer.i_data(&IData {
            tsn: Tsn(tsn),
            stream: StreamId(stream),
            mid: Mid(mid),
            ppid: Ppid(51),
            fsn: Fsn(fsn),
            flags,
            payload: b"part",
        });
    }
}

fn i_forward_tsn(writer: &mut PacketWriter<'_>) {
    let skipped = [(1, false, 7), (9, true, u32::MAX)];
    let skipped = skipped.map(|(stream, unordered, mid)| SkippedMessages {
        stream: StreamId(stream),
        unordered,
        mid: Mid(mid),
    });
    writer.i_forward_tsn(Tsn(104), skipped.into_iter());
}

fn sack(writer: &mut PacketWriter<'_>) {
    let gaps = [GapAckBlock { start: 2, end: 3 }, GapAckBlock { start: 5, end: 5 }];
    writer.sack(Tsn(12), 4660, gaps.into_iter(), [Tsn(19), Tsn(19)].into_iter());
}

/// It quotes a packet of which the end is cut off.
fn packet_drop() -> PacketDrop<'static> {
    PacketDrop {
        from_middle_box: false,
        bad_checksum: true,
        truncated_from: Some(60),
        bandwidth: 65_536,
        queued: 512,
        packet: &[
            0x13, 0x88, 0x17, 0x70, 0, 0, 0, 7, 1, 2, 3, 4, 0, 3, 0, 21, 0, 0, 0, 9, 0, 1, 0, 2, 0, 0, 0, 3, 104, 101,
        ],
    }
}

fn nr_sack(writer: &mut PacketWriter<'_>) {
    let gaps = [GapAckBlock { start: 2, end: 3 }].into_iter();
    let nr_gaps = [GapAckBlock { start: 5, end: 8 }].into_iter();
    let flags = SackFlags { packets: 2, ..SackFlags::default() };
    writer.nr_sack(flags, Tsn(12), 4660, gaps, nr_gaps, [Tsn(9)].into_iter());
}

fn forward_tsn(writer: &mut PacketWriter<'_>) {
    let skipped = [(1, 7), (9, u16::MAX)];
    let skipped =
        skipped.map(|(stream, ssn)| SkippedStream { stream: StreamId(stream), ssn: Ssn(ssn) });
    writer.forward_tsn(Tsn(104), skipped.into_iter());
}

fn parameters() -> Vec<u8> {
    ParameterWriter::new()
        .state_cookie(b"cookie")
        .ipv4([192, 0, 2, 1].into())
        .ipv6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into())
        .unrecognized(&[0xc0, 7, 0, 6, 1, 2])
        .cookie_preservative(1000)
        .supported_address_types(&[5, 6, 11])
        .ecn_capable()
        .zero_checksum_acceptable(ErrorDetectionMethod::DTLS)
        .forward_tsn_supported()
        .padding(8)
        .supported_extensions(&[0xc0, 0x82, 0x0f])
        .set_primary_address(AddressRequest { correlation: 0, address: [192, 0, 2, 1].into() })
        .raw(ParameterType::HOST_NAME_ADDRESS, b"host\0")
        .raw(ParameterType(0x7fff), &[9])
        .finish()
}

fn authentication() -> Vec<u8> {
    ParameterWriter::new()
        .random(&[9; 32])
        .chunk_list(&[0, 0xc1])
        .hmac_algo(&[HmacIdentifier::SHA_256, HmacIdentifier::SHA_1])
        .finish()
}

fn resets() -> Vec<u8> {
    let (request, streams) = (RequestNumber(8), [StreamId(1), StreamId(3)]);
    ParameterWriter::new()
        .outgoing_ssn_reset(request, RequestNumber(4), Tsn(99), streams)
        .incoming_ssn_reset(RequestNumber(9), [])
        .ssn_tsn_reset(RequestNumber(10))
        .finish()
}

fn adds() -> Vec<u8> {
    let add = |n| AddStreams { request: RequestNumber(n), streams: 300 };
    ParameterWriter::new().add_outgoing_streams(add(8)).add_incoming_streams(add(9)).finish()
}

fn responses() -> Vec<u8> {
    let (request, result) = (RequestNumber(8), ReconfigurationResult::PERFORMED);
    let response = ReconfigurationResponse { request, result, next_tsns: None };
    let reset = ReconfigurationResponse { next_tsns: Some((Tsn(5), Tsn(6))), ..response };
    ParameterWriter::new()
        .reconfiguration_response(&response)
        .reconfiguration_response(&reset)
        .finish()
}

/// The address of a host changes: one is added and made the primary one, all others are deleted.
fn asconf(writer: &mut PacketWriter<'_>) {
    let request = |correlation, address: [u8; 4]| AddressRequest { correlation, address: address.into() };
    let v6 = AddressRequest { correlation: 4, address: [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into() };
    let list = ParameterWriter::new()
        .add_ip_address(request(1, [192, 0, 2, 1]))
        .set_primary_address(request(2, [192, 0, 2, 1]))
        .delete_ip_address(request(3, [0; 4]))
        .add_ip_address(v6)
        .finish();
    let requests = Parameters::new(&list);
    writer.asconf(&Asconf { number: AsconfNumber(7), address: [192, 0, 2, 9].into(), requests });
}

fn asconf_ack(writer: &mut PacketWriter<'_>) {
    let request = ParameterWriter::new()
        .delete_ip_address(AddressRequest { correlation: 3, address: [192, 0, 2, 9].into() })
        .finish();
    let causes = CauseWriter::new().request_to_delete_source_address(&request).finish();
    let list =
        ParameterWriter::new().success_indication(1).error_cause_indication(3, &causes).finish();
    writer.asconf_ack(&AsconfAck { number: AsconfNumber(7), responses: Parameters::new(&list) });
}

fn causes() -> Vec<u8> {
    CauseWriter::new()
        .invalid_stream_identifier(StreamId(42))
        .missing_mandatory_parameter(&[ParameterType::STATE_COOKIE])
        .stale_cookie(1000)
        .out_of_resource()
        .unresolvable_address(&[0, 11, 0, 6, 1, 0])
        .unrecognized_chunk_type(&[0x7e, 0, 0, 5, 1])
        .invalid_mandatory_parameter()
        .unrecognized_parameters(&[0xc0, 7, 0, 4])
        .no_user_data(Tsn(5))
        .cookie_received_while_shutting_down()
        .restart_with_new_addresses(&[0, 5, 0, 8, 192, 0, 2, 1])
        .user_initiated_abort(b"bye")
        .protocol_violation(b"unexpected chunk")
        .request_to_delete_last_address(&[0xc0, 2, 0, 16, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 1])
        .resource_shortage(&[0xc0, 1, 0, 16, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 1])
        .illegal_asconf_ack()
        .no_authorization(&[0xc0, 4, 0, 16, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 1])
        .unsupported_hmac_identifier(HmacIdentifier(2))
        .raw(CauseCode(0x7777), &[1])
        .finish()
}

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/packet");
    fs::create_dir_all(&folder)?;
    let header = CommonHeader {
        source_port: 5000,
        destination_port: 9899,
        verification_tag: VerificationTag(0x2b5f_09a3),
    };
    for (name, write) in SEEDS {
        let mut buffer = Vec::new();
        let mut writer = PacketWriter::new(&mut buffer, header);
        write(&mut writer);
        writer.finish();
        fs::write(folder.join(name), buffer)?;
    }
    Ok(())
}
