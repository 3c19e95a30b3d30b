//! Reads a packet in every way there is, writes what was understood, and reads that again.
//!
//! The fuzz target uses this file as well.

use std::net::IpAddr;

use tresse_wire::{
    Asconf, AsconfAck, Cause, CauseWriter, Causes, Chunk, ChunkError, Packet, PacketError,
    PacketWriter, Parameter, ParameterType, ParameterWriter, Parameters, Quote, RawChunk, checksum,
};

/// Checks any bytes: the parser must not panic, and writing must preserve the meaning.
pub(crate) fn check_packet(bytes: &[u8]) {
    let verified = Packet::parse(bytes);
    let Ok(packet) = Packet::parse_unverified(bytes) else {
        assert_eq!(verified.unwrap_err(), PacketError::TooShort { length: bytes.len() });
        assert!(bytes.len() < 12);
        return;
    };
    let sound = checksum(bytes) == Some(packet.received_checksum());
    let header = packet.header();
    let ports = header.source_port != 0 && header.destination_port != 0;
    assert_eq!(verified.is_ok(), sound && ports);

    let mut buffer = Vec::new();
    let mut writer = PacketWriter::new(&mut buffer, header);
    let mut read = Vec::new();
    for raw in packet.chunks() {
        let Ok(raw) = raw else { break };
        let chunk = Chunk::parse(raw);
        reemit(&mut writer, raw, chunk);
        read.push((raw, chunk));
    }
    assert_eq!(writer.finish(), buffer.len());
    assert_eq!(buffer.len() % 4, 0);

    let again = match Packet::parse(&buffer) {
        Ok(again) => again,
        Err(PacketError::ZeroPort) if !ports => Packet::parse_unverified(&buffer).unwrap(),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(again.header(), header);
    let mut chunks = again.chunks();
    for (raw, chunk) in read {
        let raw_again = chunks.next().expect("as many chunks").expect("sound framing");
        assert_eq!(raw_again.chunk_type, raw.chunk_type);
        assert_same(chunk, Chunk::parse(raw_again));
    }
    assert_eq!(chunks.next(), None);
}

/// Writes a chunk from its validated form; a malformed one is repeated as it is.
fn reemit(writer: &mut PacketWriter<'_>, raw: RawChunk<'_>, chunk: Result<Chunk<'_>, ChunkError>) {
    match chunk {
        Ok(Chunk::Data(d)) => writer.data(d.tsn, d.stream, d.ssn, d.ppid, d.flags, d.payload),
        Ok(Chunk::IData(data)) => writer.i_data(&data),
        Ok(Chunk::Init(init)) => {
            writer.init(&init.fields(), &reencode_parameters(init.parameters));
        }
        Ok(Chunk::InitAck(ack)) => {
            writer.init_ack(&ack.fields(), &reencode_parameters(ack.parameters));
        }
        Ok(Chunk::Sack(sack)) => {
            let (gaps, duplicates) = (sack.gap_blocks(), sack.duplicates());
            let (cumulative_tsn_ack, a_rwnd) = (sack.cumulative_tsn_ack, sack.a_rwnd);
            writer.sack_with_flags(sack.flags, cumulative_tsn_ack, a_rwnd, gaps, duplicates);
        }
        Ok(Chunk::NrSack(chunk)) => {
            let sack = chunk.sack;
            let (tsn, a_rwnd) = (sack.cumulative_tsn_ack, sack.a_rwnd);
            let (gaps, nr_gaps) = (sack.gap_blocks(), chunk.nr_gap_blocks());
            writer.nr_sack(sack.flags, tsn, a_rwnd, gaps, nr_gaps, sack.duplicates());
        }
        Ok(Chunk::Heartbeat(heartbeat)) => writer.heartbeat(heartbeat.info),
        Ok(Chunk::HeartbeatAck(ack)) => writer.heartbeat_ack(ack.parameters),
        Ok(Chunk::Abort(abort)) => {
            writer.abort(abort.tag_reflected, &reencode_causes(abort.causes));
        }
        Ok(Chunk::Shutdown(shutdown)) => writer.shutdown(shutdown.cumulative_tsn_ack),
        Ok(Chunk::ShutdownAck) => writer.shutdown_ack(),
        Ok(Chunk::Error(error)) => writer.error(&reencode_causes(error.causes)),
        Ok(Chunk::CookieEcho(echo)) => writer.cookie_echo(echo.cookie),
        Ok(Chunk::CookieAck) => writer.cookie_ack(),
        Ok(Chunk::Ecne(ecne)) => writer.ecne(ecne),
        Ok(Chunk::Cwr(cwr)) => writer.cwr(cwr),
        Ok(Chunk::ShutdownComplete(complete)) => writer.shutdown_complete(complete.tag_reflected),
        Ok(Chunk::ReConfig(chunk)) => writer.re_config(&reencode_parameters(chunk.parameters)),
        Ok(Chunk::Asconf(chunk)) => {
            let requests = reencode_parameters(chunk.requests);
            writer.asconf(&Asconf { requests: Parameters::new(&requests), ..chunk });
        }
        Ok(Chunk::AsconfAck(chunk)) => {
            let responses = reencode_parameters(chunk.responses);
            writer.asconf_ack(&AsconfAck { responses: Parameters::new(&responses), ..chunk });
        }
        Ok(Chunk::ForwardTsn(chunk)) => {
            writer.forward_tsn(chunk.new_cumulative_tsn, chunk.skipped());
        }
        Ok(Chunk::IForwardTsn(chunk)) => {
            writer.i_forward_tsn(chunk.new_cumulative_tsn, chunk.skipped());
        }
        Ok(Chunk::PacketDrop(report)) => {
            check_quote(report.packet);
            writer.packet_drop(&report);
        }
        Ok(Chunk::Pad(pad)) => writer.pad(pad.len),
        Ok(Chunk::Timestamp(timestamp)) => writer.timestamp(timestamp.tsval, timestamp.tsecr),
        Ok(Chunk::Auth(auth)) => writer.auth(&auth),
        Ok(Chunk::Unknown(_)) | Err(_) => writer.raw(raw.bytes),
    }
}

/// Walks a quoted packet, of which nothing is certain.
fn check_quote(bytes: &[u8]) {
    let Some(quote) = Quote::parse(bytes) else { return assert!(bytes.len() < 12) };
    let quoted: usize = quote.chunks().map(|chunk| 4 + chunk.value.len()).sum();
    assert!(quoted <= bytes.len() - 12);
}

/// Writes parameters from their validated form; a list with a framing error is repeated as it is.
fn reencode_parameters(parameters: Parameters<'_>) -> Vec<u8> {
    if parameters.check().is_err() {
        return parameters.as_bytes().to_vec();
    }
    let mut writer = ParameterWriter::new();
    for (raw, parsed) in parameters.iter().zip(parameters.parsed()) {
        let raw = raw.expect("checked");
        match parsed {
            Ok(Parameter::Ipv4Address(address)) => writer.ipv4(address),
            Ok(Parameter::Ipv6Address(address)) if address.to_ipv4_mapped().is_none() => {
                writer.ipv6(address)
            }
            Ok(Parameter::StateCookie(cookie)) => writer.state_cookie(cookie),
            Ok(Parameter::UnrecognizedParameter(quoted)) => writer.unrecognized(quoted.bytes),
            Ok(Parameter::CookiePreservative { increment_ms }) => {
                writer.cookie_preservative(increment_ms)
            }
            Ok(Parameter::SupportedAddressTypes(types)) => {
                writer.supported_address_types(&types.iter().collect::<Vec<_>>())
            }
            Ok(Parameter::OutgoingSsnReset(r)) => {
                writer.outgoing_ssn_reset(r.request, r.response, r.last_tsn, r.streams.iter())
            }
            Ok(Parameter::IncomingSsnReset(r)) => {
                writer.incoming_ssn_reset(r.request, r.streams.iter())
            }
            Ok(Parameter::SsnTsnReset(request)) => writer.ssn_tsn_reset(request),
            Ok(Parameter::ReconfigurationResponse(r)) => writer.reconfiguration_response(&r),
            Ok(Parameter::AddOutgoingStreams(add)) => writer.add_outgoing_streams(add),
            Ok(Parameter::AddIncomingStreams(add)) => writer.add_incoming_streams(add),
            Ok(Parameter::Random(number)) => writer.random(number),
            Ok(Parameter::ChunkList(types)) => writer.chunk_list(types),
            Ok(Parameter::HmacAlgo(algorithms)) => {
                writer.hmac_algo(&algorithms.iter().collect::<Vec<_>>())
            }
            Ok(Parameter::ZeroChecksumAcceptable(method)) => {
                writer.zero_checksum_acceptable(method)
            }
            Ok(Parameter::EcnCapable) => writer.ecn_capable(),
            Ok(Parameter::ForwardTsnSupported) => writer.forward_tsn_supported(),
            Ok(Parameter::SupportedExtensions(types)) => writer.supported_extensions(types),
            Ok(Parameter::RetransmitBitSupported) => writer.retransmit_bit_supported(),
            Ok(Parameter::AdaptationLayerIndication(code)) => {
                writer.adaptation_layer_indication(code)
            }
            Ok(Parameter::AddIpAddress(request)) if is_writable(request.address) => {
                writer.add_ip_address(request)
            }
            Ok(Parameter::DeleteIpAddress(request)) if is_writable(request.address) => {
                writer.delete_ip_address(request)
            }
            Ok(Parameter::SetPrimaryAddress(request)) if is_writable(request.address) => {
                writer.set_primary_address(request)
            }
            Ok(Parameter::ErrorCauseIndication(refused)) => {
                writer.error_cause_indication(refused.correlation, &reencode_causes(refused.causes))
            }
            Ok(Parameter::SuccessIndication(correlation)) => writer.success_indication(correlation),
            Ok(
                Parameter::HeartbeatInfo(_)
                | Parameter::Ipv6Address(_)
                | Parameter::AddIpAddress(_)
                | Parameter::DeleteIpAddress(_)
                | Parameter::SetPrimaryAddress(_)
                | Parameter::HostName(_)
                | Parameter::Unknown(_),
            )
            | Err(_) => writer.raw(raw.parameter_type, raw.value),
        };
    }
    assert_eq!(writer.left_out(), 0);
    writer.finish()
}

/// Whether an address is written as it was read: IPv4-mapped ones become IPv4.
fn is_writable(address: IpAddr) -> bool {
    address.to_canonical() == address
}

/// Writes causes from their validated form. The framing of a parsed chunk's list is sound.
fn reencode_causes(causes: Causes<'_>) -> Vec<u8> {
    let mut writer = CauseWriter::new();
    for (raw, parsed) in causes.iter().zip(causes.parsed()) {
        let raw = raw.expect("checked by the chunk's parser");
        match parsed {
            Ok(Cause::InvalidStreamIdentifier { stream }) => {
                writer.invalid_stream_identifier(stream)
            }
            Ok(Cause::MissingMandatoryParameter { types }) => {
                let types: Vec<_> = types.iter().map(ParameterType).collect();
                writer.missing_mandatory_parameter(&types)
            }
            Ok(Cause::StaleCookie { measure_us }) => writer.stale_cookie(measure_us),
            Ok(Cause::OutOfResource) => writer.out_of_resource(),
            Ok(Cause::UnresolvableAddress(address)) => writer.unresolvable_address(address),
            Ok(Cause::UnrecognizedChunkType(chunk)) => writer.unrecognized_chunk_type(chunk),
            Ok(Cause::InvalidMandatoryParameter) => writer.invalid_mandatory_parameter(),
            Ok(Cause::UnrecognizedParameters(list)) => writer.unrecognized_parameters(list),
            Ok(Cause::NoUserData { tsn }) => writer.no_user_data(tsn),
            Ok(Cause::CookieReceivedWhileShuttingDown) => {
                writer.cookie_received_while_shutting_down()
            }
            Ok(Cause::RestartWithNewAddresses(addresses)) => {
                writer.restart_with_new_addresses(addresses.as_bytes())
            }
            Ok(Cause::UserInitiatedAbort(reason)) => writer.user_initiated_abort(reason),
            Ok(Cause::ProtocolViolation(information)) => writer.protocol_violation(information),
            Ok(Cause::RequestToDeleteLastAddress(request)) => {
                writer.request_to_delete_last_address(request)
            }
            Ok(Cause::ResourceShortage(request)) => writer.resource_shortage(request),
            Ok(Cause::RequestToDeleteSourceAddress(request)) => {
                writer.request_to_delete_source_address(request)
            }
            Ok(Cause::IllegalAsconfAck) => writer.illegal_asconf_ack(),
            Ok(Cause::NoAuthorization(request)) => writer.no_authorization(request),
            Ok(Cause::UnsupportedHmacIdentifier { algorithm }) => {
                writer.unsupported_hmac_identifier(algorithm)
            }
            Ok(Cause::Unknown(_)) | Err(_) => writer.raw(raw.code, raw.value),
        };
    }
    writer.finish()
}

/// Compares meanings: what is ignored on receipt (reserved bits, counted padding, values of
/// parameters that have none) need not survive.
fn assert_same(first: Result<Chunk<'_>, ChunkError>, second: Result<Chunk<'_>, ChunkError>) {
    match (first, second) {
        (Ok(Chunk::Init(a)), Ok(Chunk::Init(b))) => {
            assert_eq!(a.fields(), b.fields());
            assert_same_parameters(a.parameters, b.parameters);
        }
        (Ok(Chunk::InitAck(a)), Ok(Chunk::InitAck(b))) => {
            assert_eq!(a.fields(), b.fields());
            assert_same_parameters(a.parameters, b.parameters);
        }
        (Ok(Chunk::ReConfig(a)), Ok(Chunk::ReConfig(b))) => {
            assert_same_parameters(a.parameters, b.parameters);
        }
        (Ok(Chunk::Asconf(a)), Ok(Chunk::Asconf(b))) => {
            assert_eq!(a.number, b.number);
            assert_eq!(a.address.to_canonical(), b.address.to_canonical());
            assert_same_parameters(a.requests, b.requests);
        }
        (Ok(Chunk::AsconfAck(a)), Ok(Chunk::AsconfAck(b))) => {
            assert_eq!(a.number, b.number);
            assert_same_parameters(a.responses, b.responses);
        }
        (Ok(Chunk::Heartbeat(a)), Ok(Chunk::Heartbeat(b))) => assert_eq!(a.info, b.info),
        (Ok(Chunk::Abort(a)), Ok(Chunk::Abort(b))) => {
            assert_eq!(a.tag_reflected, b.tag_reflected);
            assert!(a.causes.parsed().eq(b.causes.parsed()), "{a:?}\n{b:?}");
        }
        (Ok(Chunk::Error(a)), Ok(Chunk::Error(b))) => {
            assert!(a.causes.parsed().eq(b.causes.parsed()), "{a:?}\n{b:?}");
        }
        // Of what is skipped fifteen bits are reserved.
        (Ok(Chunk::IForwardTsn(a)), Ok(Chunk::IForwardTsn(b))) => {
            assert_eq!(a.new_cumulative_tsn, b.new_cumulative_tsn);
            assert!(a.skipped().eq(b.skipped()), "{a:?}\n{b:?}");
        }
        (first, second) => assert_eq!(first, second),
    }
}

/// Parameters by what they say, and causes in them as well: their padding may be anything.
fn assert_same_parameters(first: Parameters<'_>, second: Parameters<'_>) {
    let mut others = second.parsed();
    for parameter in first.parsed() {
        match (parameter, others.next().expect("as many")) {
            (Ok(Parameter::ErrorCauseIndication(a)), Ok(Parameter::ErrorCauseIndication(b))) => {
                assert_eq!(a.correlation, b.correlation);
                assert!(a.causes.parsed().eq(b.causes.parsed()), "{a:?}\n{b:?}");
            }
            (first, second) => assert_eq!(first, second),
        }
    }
    assert!(others.next().is_none(), "{first:?}\n{second:?}");
}
