//! Chunks that own their contents, how to draw them at random, write them, and read them back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use tresse_wire::{
    AddStreams, AddressRequest, Asconf, AsconfAck, AsconfNumber, Auth, Cause, CauseCode,
    CauseWriter, Causes, Chunk, CommonHeader, Cwr, DataFlags, Ecne, ErrorDetectionMethod, Fsn,
    GapAckBlock, HmacIdentifier, IData, InitFields, Mid, Packet, PacketDrop, PacketWriter,
    Parameter, ParameterType, ParameterWriter, Parameters, Ppid, ReconfigurationResponse,
    ReconfigurationResult, RequestNumber, SackFlags, SkippedMessages, SkippedStream, Ssn, StreamId,
    Tsn, VerificationTag,
};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ChunkSpec {
    Data(Tsn, StreamId, Ssn, Ppid, DataFlags, Vec<u8>),
    Init(InitFields, Vec<ParameterSpec>),
    InitAck(InitFields, Vec<ParameterSpec>),
    Sack(SackFlags, Tsn, u32, Vec<GapAckBlock>, Vec<Tsn>),
    NrSack(SackFlags, Tsn, u32, [Vec<GapAckBlock>; 2], Vec<Tsn>),
    Heartbeat(Vec<u8>),
    HeartbeatAck(Vec<u8>),
    Abort(bool, Vec<CauseSpec>),
    Shutdown(Tsn),
    ShutdownAck,
    Error(Vec<CauseSpec>),
    CookieEcho(Vec<u8>),
    CookieAck,
    Ecne(Ecne),
    Cwr(Cwr),
    ShutdownComplete(bool),
    ReConfig(Vec<ParameterSpec>),
    Asconf(AsconfNumber, IpAddr, Vec<ParameterSpec>),
    AsconfAck(AsconfNumber, Vec<ParameterSpec>),
    IData(Tsn, StreamId, Mid, u32, DataFlags, Vec<u8>),
    ForwardTsn(Tsn, Vec<SkippedStream>),
    IForwardTsn(Tsn, Vec<SkippedMessages>),
    Timestamp(u32, u32),
    Auth(u16, HmacIdentifier, Vec<u8>),
    PacketDrop([bool; 2], Option<u16>, [u32; 2], Vec<u8>),
    Pad(usize),
    Unknown(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ParameterSpec {
    HeartbeatInfo(Vec<u8>),
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
    StateCookie(Vec<u8>),
    Unrecognized(Vec<u8>),
    CookiePreservative(u32),
    HostName(Vec<u8>),
    SupportedAddressTypes(Vec<u16>),
    OutgoingSsnReset([RequestNumber; 2], Tsn, Vec<StreamId>),
    IncomingSsnReset(RequestNumber, Vec<StreamId>),
    SsnTsnReset(RequestNumber),
    ReconfigurationResponse(ReconfigurationResponse),
    AddOutgoingStreams(AddStreams),
    AddIncomingStreams(AddStreams),
    Random(Vec<u8>),
    ChunkList(Vec<u8>),
    HmacAlgo(Vec<HmacIdentifier>),
    EcnCapable,
    ZeroChecksumAcceptable(u32),
    ForwardTsnSupported,
    SupportedExtensions(Vec<u8>),
    RetransmitBitSupported,
    AdaptationLayerIndication(u32),
    AddIpAddress(AddressRequest),
    DeleteIpAddress(AddressRequest),
    SetPrimaryAddress(AddressRequest),
    ErrorCauseIndication(u32, Vec<CauseSpec>),
    SuccessIndication(u32),
    Unknown(u16, Vec<u8>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CauseSpec {
    InvalidStreamIdentifier(StreamId),
    MissingMandatoryParameter(Vec<u16>),
    StaleCookie(u32),
    OutOfResource,
    UnresolvableAddress(Vec<u8>),
    UnrecognizedChunkType(Vec<u8>),
    InvalidMandatoryParameter,
    UnrecognizedParameters(Vec<u8>),
    NoUserData(Tsn),
    CookieReceivedWhileShuttingDown,
    RestartWithNewAddresses(Vec<ParameterSpec>),
    UserInitiatedAbort(Vec<u8>),
    ProtocolViolation(Vec<u8>),
    RequestToDeleteLastAddress(Vec<u8>),
    ResourceShortage(Vec<u8>),
    RequestToDeleteSourceAddress(Vec<u8>),
    IllegalAsconfAck,
    NoAuthorization(Vec<u8>),
    UnsupportedHmacIdentifier(HmacIdentifier),
    Unknown(u16, Vec<u8>),
}

/// A whole packet with sound checksum.
pub(crate) fn encode(header: CommonHeader, chunks: &[ChunkSpec]) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut writer = PacketWriter::new(&mut buffer, header);
    for chunk in chunks {
        chunk.write(&mut writer);
    }
    assert_eq!(writer.finish(), buffer.len());
    buffer
}

/// Reads a packet that must be sound.
pub(crate) fn decode(bytes: &[u8]) -> (CommonHeader, Vec<ChunkSpec>) {
    let packet = Packet::parse(bytes).expect("a sound packet");
    let chunks = packet.chunks().map(|raw| {
        ChunkSpec::of(Chunk::parse(raw.expect("sound framing")).expect("a sound chunk"))
    });
    (packet.header(), chunks.collect())
}

impl ChunkSpec {
    fn write(&self, writer: &mut PacketWriter<'_>) {
        match self {
            Self::Data(tsn, stream, ssn, ppid, flags, payload) => {
                writer.data(*tsn, *stream, *ssn, *ppid, *flags, payload);
            }
            Self::Init(fields, parameters) => writer.init(fields, &encode_parameters(parameters)),
            Self::InitAck(fields, parameters) => {
                writer.init_ack(fields, &encode_parameters(parameters));
            }
            Self::Sack(flags, tsn, a_rwnd, gaps, duplicates) => {
                let (gaps, duplicates) = (gaps.iter().copied(), duplicates.iter().copied());
                writer.sack_with_flags(*flags, *tsn, *a_rwnd, gaps, duplicates);
            }
            Self::NrSack(flags, tsn, a_rwnd, blocks, duplicates) => {
                let [gaps, nr_gaps] = blocks.each_ref().map(|list| list.iter().copied());
                let duplicates = duplicates.iter().copied();
                writer.nr_sack(*flags, *tsn, *a_rwnd, gaps, nr_gaps, duplicates);
            }
            Self::Heartbeat(info) => writer.heartbeat(info),
            Self::HeartbeatAck(info) => {
                let parameters =
                    ParameterWriter::new().raw(ParameterType::HEARTBEAT_INFO, info).finish();
                writer.heartbeat_ack(&parameters);
            }
            Self::Abort(reflected, causes) => writer.abort(*reflected, &encode_causes(causes)),
            Self::Shutdown(tsn) => writer.shutdown(*tsn),
            Self::ShutdownAck => writer.shutdown_ack(),
            Self::Error(causes) => writer.error(&encode_causes(causes)),
            Self::CookieEcho(cookie) => writer.cookie_echo(cookie),
            Self::CookieAck => writer.cookie_ack(),
            Self::Ecne(ecne) => writer.ecne(*ecne),
            Self::Cwr(cwr) => writer.cwr(*cwr),
            Self::ShutdownComplete(reflected) => writer.shutdown_complete(*reflected),
            Self::ReConfig(parameters) => writer.re_config(&encode_parameters(parameters)),
            Self::Asconf(number, address, requests) => writer.asconf(&Asconf {
                number: *number,
                address: *address,
                requests: Parameters::new(&encode_parameters(requests)),
            }),
            Self::AsconfAck(number, responses) => writer.asconf_ack(&AsconfAck {
                number: *number,
                responses: Parameters::new(&encode_parameters(responses)),
            }),
            Self::ForwardTsn(tsn, skipped) => writer.forward_tsn(*tsn, skipped.iter().copied()),
            Self::IData(tsn, stream, mid, number, flags, payload) => {
                writer.i_data(&i_data_of(*tsn, *stream, *mid, *number, *flags, payload));
            }
            Self::IForwardTsn(tsn, skipped) => writer.i_forward_tsn(*tsn, skipped.iter().copied()),
            Self::PacketDrop([from_middle_box, bad_checksum], truncated_from, numbers, packet) => {
                let ([bandwidth, queued], truncated_from) = (*numbers, *truncated_from);
                let (from_middle_box, bad_checksum) = (*from_middle_box, *bad_checksum);
                writer.packet_drop(&PacketDrop {
                    from_middle_box,
                    bad_checksum,
                    truncated_from,
                    bandwidth,
                    queued,
                    packet,
                });
            }
            Self::Pad(len) => writer.pad(*len),
            Self::Timestamp(tsval, tsecr) => writer.timestamp(*tsval, *tsecr),
            Self::Auth(key, algorithm, hmac) => {
                writer.auth(&Auth { key: *key, algorithm: *algorithm, hmac });
            }
            Self::Unknown(bytes) => writer.raw(bytes),
        }
    }

    fn of(chunk: Chunk<'_>) -> Self {
        match chunk {
            Chunk::Data(d) => {
                Self::Data(d.tsn, d.stream, d.ssn, d.ppid, d.flags, d.payload.to_vec())
            }
            Chunk::Init(init) => Self::Init(init.fields(), decode_parameters(init.parameters)),
            Chunk::InitAck(ack) => Self::InitAck(ack.fields(), decode_parameters(ack.parameters)),
            Chunk::Sack(sack) => {
                let (gaps, duplicates) = (sack.gap_blocks(), sack.duplicates());
                assert_eq!(gaps.len(), gaps.clone().count());
                assert_eq!(duplicates.len(), duplicates.clone().count());
                let (gaps, duplicates) = (gaps.collect(), duplicates.collect());
                Self::Sack(sack.flags, sack.cumulative_tsn_ack, sack.a_rwnd, gaps, duplicates)
            }
            Chunk::NrSack(chunk) => {
                let sack = chunk.sack;
                let blocks = [sack.gap_blocks(), chunk.nr_gap_blocks()].map(Iterator::collect);
                let (tsn, duplicates) = (sack.cumulative_tsn_ack, sack.duplicates().collect());
                Self::NrSack(sack.flags, tsn, sack.a_rwnd, blocks, duplicates)
            }
            Chunk::Heartbeat(heartbeat) => Self::Heartbeat(heartbeat.info.to_vec()),
            Chunk::HeartbeatAck(ack) => Self::HeartbeatAck(ack.info.to_vec()),
            Chunk::Abort(abort) => Self::Abort(abort.tag_reflected, decode_causes(abort.causes)),
            Chunk::Shutdown(shutdown) => Self::Shutdown(shutdown.cumulative_tsn_ack),
            Chunk::ShutdownAck => Self::ShutdownAck,
            Chunk::Error(error) => Self::Error(decode_causes(error.causes)),
            Chunk::CookieEcho(echo) => Self::CookieEcho(echo.cookie.to_vec()),
            Chunk::CookieAck => Self::CookieAck,
            Chunk::Ecne(ecne) => Self::Ecne(ecne),
            Chunk::Cwr(cwr) => Self::Cwr(cwr),
            Chunk::ShutdownComplete(complete) => Self::ShutdownComplete(complete.tag_reflected),
            Chunk::ReConfig(chunk) => Self::ReConfig(decode_parameters(chunk.parameters)),
            Chunk::Asconf(chunk) => {
                Self::Asconf(chunk.number, chunk.address, decode_parameters(chunk.requests))
            }
            Chunk::AsconfAck(chunk) => {
                Self::AsconfAck(chunk.number, decode_parameters(chunk.responses))
            }
            Chunk::ForwardTsn(chunk) => {
                Self::ForwardTsn(chunk.new_cumulative_tsn, chunk.skipped().collect())
            }
            Chunk::IData(d) => {
                let number = if d.flags.beginning { d.ppid.0 } else { d.fsn.0 };
                assert_eq!(d, i_data_of(d.tsn, d.stream, d.mid, number, d.flags, d.payload));
                Self::IData(d.tsn, d.stream, d.mid, number, d.flags, d.payload.to_vec())
            }
            Chunk::IForwardTsn(chunk) => {
                Self::IForwardTsn(chunk.new_cumulative_tsn, chunk.skipped().collect())
            }
            Chunk::PacketDrop(d) => Self::PacketDrop(
                [d.from_middle_box, d.bad_checksum],
                d.truncated_from,
                [d.bandwidth, d.queued],
                d.packet.to_vec(),
            ),
            Chunk::Pad(pad) => Self::Pad(pad.len),
            Chunk::Timestamp(timestamp) => Self::Timestamp(timestamp.tsval, timestamp.tsecr),
            Chunk::Auth(auth) => Self::Auth(auth.key, auth.algorithm, auth.hmac.to_vec()),
            Chunk::Unknown(raw) => Self::Unknown(raw.bytes.to_vec()),
        }
    }
}

fn encode_parameters(parameters: &[ParameterSpec]) -> Vec<u8> {
    let mut writer = ParameterWriter::new();
    for parameter in parameters {
        match parameter {
            ParameterSpec::HeartbeatInfo(info) => writer.raw(ParameterType::HEARTBEAT_INFO, info),
            ParameterSpec::Ipv4(address) => writer.ipv4(*address),
            ParameterSpec::Ipv6(address) => writer.ipv6(*address),
            ParameterSpec::StateCookie(cookie) => writer.state_cookie(cookie),
            ParameterSpec::Unrecognized(parameter) => writer.unrecognized(parameter),
            ParameterSpec::CookiePreservative(ms) => writer.cookie_preservative(*ms),
            ParameterSpec::HostName(name) => writer.raw(ParameterType::HOST_NAME_ADDRESS, name),
            ParameterSpec::SupportedAddressTypes(types) => writer.supported_address_types(types),
            ParameterSpec::OutgoingSsnReset([request, response], tsn, streams) => {
                writer.outgoing_ssn_reset(*request, *response, *tsn, streams.iter().copied())
            }
            ParameterSpec::IncomingSsnReset(request, streams) => {
                writer.incoming_ssn_reset(*request, streams.iter().copied())
            }
            ParameterSpec::SsnTsnReset(request) => writer.ssn_tsn_reset(*request),
            ParameterSpec::ReconfigurationResponse(response) => {
                writer.reconfiguration_response(response)
            }
            ParameterSpec::AddOutgoingStreams(add) => writer.add_outgoing_streams(*add),
            ParameterSpec::AddIncomingStreams(add) => writer.add_incoming_streams(*add),
            ParameterSpec::Random(number) => writer.random(number),
            ParameterSpec::ChunkList(types) => writer.chunk_list(types),
            ParameterSpec::HmacAlgo(algorithms) => writer.hmac_algo(algorithms),
            ParameterSpec::EcnCapable => writer.ecn_capable(),
            ParameterSpec::ZeroChecksumAcceptable(method) => {
                writer.zero_checksum_acceptable(ErrorDetectionMethod(*method))
            }
            ParameterSpec::ForwardTsnSupported => writer.forward_tsn_supported(),
            ParameterSpec::SupportedExtensions(types) => writer.supported_extensions(types),
            ParameterSpec::RetransmitBitSupported => writer.retransmit_bit_supported(),
            ParameterSpec::AdaptationLayerIndication(code) => {
                writer.adaptation_layer_indication(*code)
            }
            ParameterSpec::AddIpAddress(request) => writer.add_ip_address(*request),
            ParameterSpec::DeleteIpAddress(request) => writer.delete_ip_address(*request),
            ParameterSpec::SetPrimaryAddress(request) => writer.set_primary_address(*request),
            ParameterSpec::ErrorCauseIndication(correlation, causes) => {
                writer.error_cause_indication(*correlation, &encode_causes(causes))
            }
            ParameterSpec::SuccessIndication(correlation) => {
                writer.success_indication(*correlation)
            }
            ParameterSpec::Unknown(number, value) => writer.raw(ParameterType(*number), value),
        };
    }
    assert_eq!(writer.left_out(), 0);
    writer.finish()
}

fn decode_parameters(parameters: Parameters<'_>) -> Vec<ParameterSpec> {
    let spec = |parsed: Parameter<'_>| match parsed {
        Parameter::HeartbeatInfo(info) => ParameterSpec::HeartbeatInfo(info.to_vec()),
        Parameter::Ipv4Address(address) => ParameterSpec::Ipv4(address),
        Parameter::Ipv6Address(address) => ParameterSpec::Ipv6(address),
        Parameter::StateCookie(cookie) => ParameterSpec::StateCookie(cookie.to_vec()),
        Parameter::UnrecognizedParameter(raw) => ParameterSpec::Unrecognized(raw.bytes.to_vec()),
        Parameter::CookiePreservative { increment_ms } => {
            ParameterSpec::CookiePreservative(increment_ms)
        }
        Parameter::HostName(name) => ParameterSpec::HostName(name.to_vec()),
        Parameter::SupportedAddressTypes(types) => {
            ParameterSpec::SupportedAddressTypes(types.iter().collect())
        }
        Parameter::OutgoingSsnReset(r) => ParameterSpec::OutgoingSsnReset(
            [r.request, r.response],
            r.last_tsn,
            r.streams.iter().collect(),
        ),
        Parameter::IncomingSsnReset(r) => {
            ParameterSpec::IncomingSsnReset(r.request, r.streams.iter().collect())
        }
        Parameter::SsnTsnReset(request) => ParameterSpec::SsnTsnReset(request),
        Parameter::ReconfigurationResponse(r) => ParameterSpec::ReconfigurationResponse(r),
        Parameter::AddOutgoingStreams(add) => ParameterSpec::AddOutgoingStreams(add),
        Parameter::AddIncomingStreams(add) => ParameterSpec::AddIncomingStreams(add),
        Parameter::Random(number) => ParameterSpec::Random(number.to_vec()),
        Parameter::ChunkList(types) => ParameterSpec::ChunkList(types.to_vec()),
        Parameter::HmacAlgo(algorithms) => ParameterSpec::HmacAlgo(algorithms.iter().collect()),
        Parameter::EcnCapable => ParameterSpec::EcnCapable,
        Parameter::ZeroChecksumAcceptable(method) => {
            ParameterSpec::ZeroChecksumAcceptable(method.0)
        }
        Parameter::ForwardTsnSupported => ParameterSpec::ForwardTsnSupported,
        Parameter::SupportedExtensions(types) => ParameterSpec::SupportedExtensions(types.to_vec()),
        Parameter::RetransmitBitSupported => ParameterSpec::RetransmitBitSupported,
        Parameter::AdaptationLayerIndication(code) => {
            ParameterSpec::AdaptationLayerIndication(code)
        }
        Parameter::AddIpAddress(request) => ParameterSpec::AddIpAddress(request),
        Parameter::DeleteIpAddress(request) => ParameterSpec::DeleteIpAddress(request),
        Parameter::SetPrimaryAddress(request) => ParameterSpec::SetPrimaryAddress(request),
        Parameter::ErrorCauseIndication(indication) => ParameterSpec::ErrorCauseIndication(
            indication.correlation,
            decode_causes(indication.causes),
        ),
        Parameter::SuccessIndication(correlation) => ParameterSpec::SuccessIndication(correlation),
        Parameter::Unknown(raw) => ParameterSpec::Unknown(raw.parameter_type.0, raw.value.to_vec()),
    };
    parameters.parsed().map(|parsed| spec(parsed.expect("a sound parameter"))).collect()
}

fn encode_causes(causes: &[CauseSpec]) -> Vec<u8> {
    let mut writer = CauseWriter::new();
    for cause in causes {
        match cause {
            CauseSpec::InvalidStreamIdentifier(stream) => writer.invalid_stream_identifier(*stream),
            CauseSpec::MissingMandatoryParameter(types) => {
                let types: Vec<_> = types.iter().copied().map(ParameterType).collect();
                writer.missing_mandatory_parameter(&types)
            }
            CauseSpec::StaleCookie(us) => writer.stale_cookie(*us),
            CauseSpec::OutOfResource => writer.out_of_resource(),
            CauseSpec::UnresolvableAddress(address) => writer.unresolvable_address(address),
            CauseSpec::UnrecognizedChunkType(chunk) => writer.unrecognized_chunk_type(chunk),
            CauseSpec::InvalidMandatoryParameter => writer.invalid_mandatory_parameter(),
            CauseSpec::UnrecognizedParameters(list) => writer.unrecognized_parameters(list),
            CauseSpec::NoUserData(tsn) => writer.no_user_data(*tsn),
            CauseSpec::CookieReceivedWhileShuttingDown => {
                writer.cookie_received_while_shutting_down()
            }
            CauseSpec::RestartWithNewAddresses(addresses) => {
                writer.restart_with_new_addresses(&encode_parameters(addresses))
            }
            CauseSpec::UserInitiatedAbort(reason) => writer.user_initiated_abort(reason),
            CauseSpec::ProtocolViolation(information) => writer.protocol_violation(information),
            CauseSpec::RequestToDeleteLastAddress(request) => {
                writer.request_to_delete_last_address(request)
            }
            CauseSpec::ResourceShortage(request) => writer.resource_shortage(request),
            CauseSpec::RequestToDeleteSourceAddress(request) => {
                writer.request_to_delete_source_address(request)
            }
            CauseSpec::IllegalAsconfAck => writer.illegal_asconf_ack(),
            CauseSpec::NoAuthorization(request) => writer.no_authorization(request),
            CauseSpec::UnsupportedHmacIdentifier(algorithm) => {
                writer.unsupported_hmac_identifier(*algorithm)
            }
            CauseSpec::Unknown(code, value) => writer.raw(CauseCode(*code), value),
        };
    }
    writer.finish()
}

fn decode_causes(causes: Causes<'_>) -> Vec<CauseSpec> {
    let spec = |parsed: Cause<'_>| match parsed {
        Cause::InvalidStreamIdentifier { stream } => CauseSpec::InvalidStreamIdentifier(stream),
        Cause::MissingMandatoryParameter { types } => {
            CauseSpec::MissingMandatoryParameter(types.iter().collect())
        }
        Cause::StaleCookie { measure_us } => CauseSpec::StaleCookie(measure_us),
        Cause::OutOfResource => CauseSpec::OutOfResource,
        Cause::UnresolvableAddress(address) => CauseSpec::UnresolvableAddress(address.to_vec()),
        Cause::UnrecognizedChunkType(chunk) => CauseSpec::UnrecognizedChunkType(chunk.to_vec()),
        Cause::InvalidMandatoryParameter => CauseSpec::InvalidMandatoryParameter,
        Cause::UnrecognizedParameters(list) => CauseSpec::UnrecognizedParameters(list.to_vec()),
        Cause::NoUserData { tsn } => CauseSpec::NoUserData(tsn),
        Cause::CookieReceivedWhileShuttingDown => CauseSpec::CookieReceivedWhileShuttingDown,
        Cause::RestartWithNewAddresses(addresses) => {
            CauseSpec::RestartWithNewAddresses(decode_parameters(addresses))
        }
        Cause::UserInitiatedAbort(reason) => CauseSpec::UserInitiatedAbort(reason.to_vec()),
        Cause::ProtocolViolation(text) => CauseSpec::ProtocolViolation(text.to_vec()),
        Cause::RequestToDeleteLastAddress(request) => {
            CauseSpec::RequestToDeleteLastAddress(request.to_vec())
        }
        Cause::ResourceShortage(request) => CauseSpec::ResourceShortage(request.to_vec()),
        Cause::RequestToDeleteSourceAddress(request) => {
            CauseSpec::RequestToDeleteSourceAddress(request.to_vec())
        }
        Cause::IllegalAsconfAck => CauseSpec::IllegalAsconfAck,
        Cause::NoAuthorization(request) => CauseSpec::NoAuthorization(request.to_vec()),
        Cause::UnsupportedHmacIdentifier { algorithm } => {
            CauseSpec::UnsupportedHmacIdentifier(algorithm)
        }
        Cause::Unknown(raw) => CauseSpec::Unknown(raw.code.0, raw.value.to_vec()),
    };
    causes.parsed().map(|parsed| spec(parsed.expect("a sound cause"))).collect()
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn tsn() -> impl Strategy<Value = Tsn> {
    any::<u32>().prop_map(Tsn)
}

/// Any common header that a receiver accepts.
pub(crate) fn header() -> impl Strategy<Value = CommonHeader> {
    (1..=u16::MAX, 1..=u16::MAX, any::<u32>()).prop_map(
        |(source_port, destination_port, verification_tag)| CommonHeader {
            source_port,
            destination_port,
            verification_tag: VerificationTag(verification_tag),
        },
    )
}

fn init_fields() -> impl Strategy<Value = InitFields> {
    (any::<(u32, u32, u16, u16)>(), tsn()).prop_map(|((tag, a_rwnd, out, inbound), initial_tsn)| {
        InitFields {
            initiate_tag: VerificationTag(tag),
            a_rwnd,
            outbound_streams: out,
            inbound_streams: inbound,
            initial_tsn,
        }
    })
}

fn number() -> impl Strategy<Value = RequestNumber> {
    any::<u32>().prop_map(RequestNumber)
}

fn add() -> impl Strategy<Value = AddStreams> {
    (number(), any::<u16>()).prop_map(|(request, streams)| AddStreams { request, streams })
}

/// Any parameter of a RE-CONFIG chunk.
fn request() -> impl Strategy<Value = ParameterSpec> {
    let streams = || vec(any::<u16>().prop_map(StreamId), 0..9);
    let tsns = prop::option::of((tsn(), tsn()));
    prop_oneof![
        ([number(), number()], tsn(), streams())
            .prop_map(|(n, tsn, streams)| ParameterSpec::OutgoingSsnReset(n, tsn, streams)),
        (number(), streams()).prop_map(|(n, streams)| ParameterSpec::IncomingSsnReset(n, streams)),
        number().prop_map(ParameterSpec::SsnTsnReset),
        (number(), 0..9u32, tsns).prop_map(|(request, result, next_tsns)| {
            let result = ReconfigurationResult(result);
            let response = ReconfigurationResponse { request, result, next_tsns };
            ParameterSpec::ReconfigurationResponse(response)
        }),
        add().prop_map(ParameterSpec::AddOutgoingStreams),
        add().prop_map(ParameterSpec::AddIncomingStreams),
    ]
}

/// Any address but an IPv4-mapped one.
fn address() -> impl Strategy<Value = IpAddr> {
    let v4 = any::<[u8; 4]>().prop_map(IpAddr::from);
    let v6 = any::<[u8; 16]>().prop_map(IpAddr::from);
    prop_oneof![v4, v6.prop_filter("mapped", |address| address.to_canonical() == *address)]
}

fn asconf_number() -> impl Strategy<Value = AsconfNumber> {
    any::<u32>().prop_map(AsconfNumber)
}

/// Any request of an ASCONF chunk.
fn address_request() -> impl Strategy<Value = ParameterSpec> {
    let request = (any::<u32>(), address())
        .prop_map(|(correlation, address)| AddressRequest { correlation, address });
    let kinds = prop_oneof![
        Just(ParameterSpec::AddIpAddress as fn(_) -> _),
        Just(ParameterSpec::DeleteIpAddress as fn(_) -> _),
        Just(ParameterSpec::SetPrimaryAddress as fn(_) -> _),
    ];
    (kinds, request).prop_map(|(kind, request)| kind(request))
}

/// Any response of an ASCONF-ACK chunk.
fn address_response() -> impl Strategy<Value = ParameterSpec> {
    prop_oneof![
        (any::<u32>(), vec(plain_cause(), 0..4))
            .prop_map(|(id, causes)| ParameterSpec::ErrorCauseIndication(id, causes)),
        any::<u32>().prop_map(ParameterSpec::SuccessIndication),
    ]
}

fn algorithm() -> impl Strategy<Value = HmacIdentifier> {
    prop_oneof![(1..5u16).prop_map(HmacIdentifier), any::<u16>().prop_map(HmacIdentifier)]
}

fn auth() -> impl Strategy<Value = ChunkSpec> {
    (any::<u16>(), algorithm(), vec(any::<u8>(), 40)).prop_map(|(key, algorithm, hmac)| {
        let len = algorithm.hmac_len().unwrap_or(usize::from(key % 41));
        ChunkSpec::Auth(key, algorithm, hmac[..len].to_vec())
    })
}

fn parameter() -> impl Strategy<Value = ParameterSpec> {
    let known = |number: &u16| ParameterType(*number).name().is_some();
    prop_oneof![
        bytes().prop_map(ParameterSpec::HeartbeatInfo),
        any::<[u8; 4]>().prop_map(|octets| ParameterSpec::Ipv4(octets.into())),
        any::<[u8; 16]>()
            .prop_map(Ipv6Addr::from)
            .prop_filter("mapped", |address| address.to_ipv4_mapped().is_none())
            .prop_map(ParameterSpec::Ipv6),
        bytes().prop_map(ParameterSpec::StateCookie),
        (any::<u16>(), bytes()).prop_map(|(number, value)| {
            let list = ParameterWriter::new().raw(ParameterType(number), &value).finish();
            ParameterSpec::Unrecognized(list[..4 + value.len()].to_vec())
        }),
        any::<u32>().prop_map(ParameterSpec::CookiePreservative),
        bytes().prop_map(ParameterSpec::HostName),
        vec(any::<u16>(), 0..5).prop_map(ParameterSpec::SupportedAddressTypes),
        request(),
        bytes().prop_map(ParameterSpec::Random),
        bytes().prop_map(ParameterSpec::ChunkList),
        vec(algorithm(), 0..5).prop_map(ParameterSpec::HmacAlgo),
        Just(ParameterSpec::EcnCapable),
        any::<u32>().prop_map(ParameterSpec::ZeroChecksumAcceptable),
        Just(ParameterSpec::ForwardTsnSupported),
        bytes().prop_map(ParameterSpec::SupportedExtensions),
        Just(ParameterSpec::RetransmitBitSupported),
        any::<u32>().prop_map(ParameterSpec::AdaptationLayerIndication),
        address_request(),
        address_response(),
        (any::<u16>().prop_filter("known", move |number| !known(number)), bytes())
            .prop_map(|(number, value)| ParameterSpec::Unknown(number, value)),
    ]
}

fn cause() -> impl Strategy<Value = CauseSpec> {
    prop_oneof![
        14 => plain_cause(),
        1 => vec(parameter(), 0..3).prop_map(CauseSpec::RestartWithNewAddresses),
    ]
}

/// Any cause that does not hold parameters.
fn plain_cause() -> impl Strategy<Value = CauseSpec> {
    prop_oneof![
        any::<u16>().prop_map(|stream| CauseSpec::InvalidStreamIdentifier(StreamId(stream))),
        vec(any::<u16>(), 0..5).prop_map(CauseSpec::MissingMandatoryParameter),
        any::<u32>().prop_map(CauseSpec::StaleCookie),
        Just(CauseSpec::OutOfResource),
        bytes().prop_map(CauseSpec::UnresolvableAddress),
        bytes().prop_map(CauseSpec::UnrecognizedChunkType),
        Just(CauseSpec::InvalidMandatoryParameter),
        bytes().prop_map(CauseSpec::UnrecognizedParameters),
        tsn().prop_map(CauseSpec::NoUserData),
        Just(CauseSpec::CookieReceivedWhileShuttingDown),
        bytes().prop_map(CauseSpec::RequestToDeleteLastAddress),
        bytes().prop_map(CauseSpec::ResourceShortage),
        bytes().prop_map(CauseSpec::RequestToDeleteSourceAddress),
        Just(CauseSpec::IllegalAsconfAck),
        bytes().prop_map(CauseSpec::NoAuthorization),
        bytes().prop_map(CauseSpec::UserInitiatedAbort),
        bytes().prop_map(CauseSpec::ProtocolViolation),
        algorithm().prop_map(CauseSpec::UnsupportedHmacIdentifier),
        (14..=u16::MAX, bytes())
            .prop_filter("known", |(code, _)| !matches!(*code, 0xa0..=0xa4 | 0x105))
            .prop_map(|(code, value)| CauseSpec::Unknown(code, value)),
    ]
}

fn data() -> impl Strategy<Value = ChunkSpec> {
    (tsn(), any::<(u16, u16, u32, u8)>(), vec(any::<u8>(), 1..1400)).prop_map(
        |(tsn, (stream, ssn, ppid, flags), payload)| {
            let (stream, ssn, ppid) = (StreamId(stream), Ssn(ssn), Ppid(ppid));
            ChunkSpec::Data(tsn, stream, ssn, ppid, DataFlags::from_bits(flags), payload)
        },
    )
}

/// `number` is the PPID of a first fragment, the FSN of another one.
fn i_data_of(
    tsn: Tsn,
    stream: StreamId,
    mid: Mid,
    number: u32,
    flags: DataFlags,
    payload: &[u8],
) -> IData<'_> {
    let (ppid, fsn) = if flags.beginning { (number, 0) } else { (0, number) };
    IData { tsn, stream, mid, ppid: Ppid(ppid), fsn: Fsn(fsn), flags, payload }
}

fn i_data() -> impl Strategy<Value = ChunkSpec> {
    (tsn(), any::<(u16, u32, u32, u8)>(), vec(any::<u8>(), 1..1400)).prop_map(
        |(tsn, (stream, mid, number, flags), payload)| {
            let (stream, mid) = (StreamId(stream), Mid(mid));
            ChunkSpec::IData(tsn, stream, mid, number, DataFlags::from_bits(flags), payload)
        },
    )
}

fn i_forward_tsn() -> impl Strategy<Value = ChunkSpec> {
    let skipped = any::<(u16, bool, u32)>().prop_map(|(stream, unordered, mid)| SkippedMessages {
        stream: StreamId(stream),
        unordered,
        mid: Mid(mid),
    });
    (tsn(), vec(skipped, 0..150)).prop_map(|(tsn, skipped)| ChunkSpec::IForwardTsn(tsn, skipped))
}

fn block() -> impl Strategy<Value = GapAckBlock> {
    any::<(u16, u16)>().prop_map(|(start, end)| GapAckBlock { start, end })
}

fn nr_sack() -> impl Strategy<Value = ChunkSpec> {
    let flags = any::<u8>().prop_map(SackFlags::from_bits);
    let blocks = [vec(block(), 0..150), vec(block(), 0..150)];
    (flags, tsn(), any::<u32>(), blocks, vec(tsn(), 0..20)).prop_map(
        |(flags, cumulative_tsn_ack, a_rwnd, blocks, duplicates)| {
            ChunkSpec::NrSack(flags, cumulative_tsn_ack, a_rwnd, blocks, duplicates)
        },
    )
}

fn forward_tsn() -> impl Strategy<Value = ChunkSpec> {
    let skipped = any::<(u16, u16)>()
        .prop_map(|(stream, ssn)| SkippedStream { stream: StreamId(stream), ssn: Ssn(ssn) });
    (tsn(), vec(skipped, 0..300)).prop_map(|(tsn, skipped)| ChunkSpec::ForwardTsn(tsn, skipped))
}

fn sack() -> impl Strategy<Value = ChunkSpec> {
    let flags = any::<u8>().prop_map(SackFlags::from_bits);
    (flags, tsn(), any::<u32>(), vec(block(), 0..300), vec(tsn(), 0..20)).prop_map(
        |(flags, cumulative_tsn_ack, a_rwnd, gaps, duplicates)| {
            ChunkSpec::Sack(flags, cumulative_tsn_ack, a_rwnd, gaps, duplicates)
        },
    )
}

fn unknown() -> impl Strategy<Value = ChunkSpec> {
    let number = any::<u8>().prop_filter(
        "known",
        |number| !matches!(number, 0..=16 | 64 | 128..=130 | 132 | 160 | 192..=194),
    );
    (number, any::<u8>(), bytes()).prop_map(|(number, flags, value)| {
        let length = u8::try_from(4 + value.len()).expect("short");
        ChunkSpec::Unknown([&[number, flags, 0, length], &value[..]].concat())
    })
}

/// Any chunk.
pub(crate) fn chunk() -> impl Strategy<Value = ChunkSpec> {
    prop_oneof![
        data(),
        (init_fields(), vec(parameter(), 0..6)).prop_map(|(f, p)| ChunkSpec::Init(f, p)),
        (init_fields(), vec(parameter(), 0..6)).prop_map(|(f, p)| ChunkSpec::InitAck(f, p)),
        sack(),
        nr_sack(),
        forward_tsn(),
        i_data(),
        i_forward_tsn(),
        bytes().prop_map(ChunkSpec::Heartbeat),
        bytes().prop_map(ChunkSpec::HeartbeatAck),
        (any::<bool>(), vec(cause(), 0..6)).prop_map(|(t, causes)| ChunkSpec::Abort(t, causes)),
        tsn().prop_map(ChunkSpec::Shutdown),
        Just(ChunkSpec::ShutdownAck),
        vec(cause(), 0..6).prop_map(ChunkSpec::Error),
        bytes().prop_map(ChunkSpec::CookieEcho),
        Just(ChunkSpec::CookieAck),
        (any::<([bool; 2], Option<u16>, [u32; 2])>(), bytes()).prop_map(
            |((flags, length, numbers), packet)| {
                ChunkSpec::PacketDrop(flags, length, numbers, packet)
            }
        ),
        (4..2000usize).prop_map(ChunkSpec::Pad),
        (tsn(), any::<Option<u32>>())
            .prop_map(|(lowest_tsn, packets)| ChunkSpec::Ecne(Ecne { lowest_tsn, packets })),
        (tsn(), any::<(bool, bool)>()).prop_map(|(lowest_tsn, (any_path, same_window))| {
            ChunkSpec::Cwr(Cwr { lowest_tsn, any_path, same_window })
        }),
        any::<bool>().prop_map(ChunkSpec::ShutdownComplete),
        vec(request(), 1..4).prop_map(ChunkSpec::ReConfig),
        (asconf_number(), address(), vec(address_request(), 0..5))
            .prop_map(|(number, address, list)| ChunkSpec::Asconf(number, address, list)),
        (asconf_number(), vec(address_response(), 0..5))
            .prop_map(|(number, list)| ChunkSpec::AsconfAck(number, list)),
        any::<(u32, u32)>().prop_map(|(tsval, tsecr)| ChunkSpec::Timestamp(tsval, tsecr)),
        auth(),
        unknown(),
    ]
}
