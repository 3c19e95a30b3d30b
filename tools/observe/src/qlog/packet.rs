//! A packet with its chunks.

use std::net::IpAddr;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use tresse::{Ecn, ObservedPacket};
use tresse_wire::{
    AddressRequest, Chunk, GapAckBlocks, InitFields, NrSack, Packet, Parameter, Parameters, Sack,
    StreamIds,
};

/// The `data` of a packet event.
#[derive(Debug, Serialize)]
pub(super) struct PacketData<'a> {
    remote: std::net::SocketAddr,
    verification_tag: u32,
    raw: Raw,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<&'static str>,
    chunks: ChunkList<'a>,
}

#[derive(Debug, Serialize)]
struct Raw {
    length: usize,
}

/// Chunks, described while they are written.
#[derive(Debug)]
struct ChunkList<'a>(Packet<'a>);

impl<'a> PacketData<'a> {
    pub(super) fn new(observed: &ObservedPacket<'_>, packet: &Packet<'a>) -> PacketData<'a> {
        PacketData {
            remote: observed.remote,
            verification_tag: packet.header().verification_tag.0,
            raw: Raw { length: observed.packet.len() },
            ecn: match observed.ecn {
                Ecn::NotEct => None,
                Ecn::Ect0 => Some("ECT(0)"),
                Ecn::Ect1 => Some("ECT(1)"),
                Ecn::Ce => Some("CE"),
            },
            chunks: ChunkList(*packet),
        }
    }
}

/// One chunk: its type and length, and what matters of it.
#[derive(Serialize)]
struct Description<'a> {
    chunk_type: &'a str,
    length: usize,
    #[serde(flatten)]
    fields: Fields,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Fields {
    Data {
        tsn: u32,
        stream_id: u16,
        stream_sequence_number: u16,
        ppid: u32,
        unordered: bool,
        beginning: bool,
        ending: bool,
        user_data_length: usize,
    },
    IData {
        tsn: u32,
        stream_id: u16,
        message_identifier: u32,
        /// Of a first fragment.
        #[serde(skip_serializing_if = "Option::is_none")]
        ppid: Option<u32>,
        /// Of another one.
        #[serde(skip_serializing_if = "Option::is_none")]
        fragment_sequence_number: Option<u32>,
        unordered: bool,
        beginning: bool,
        ending: bool,
        user_data_length: usize,
    },
    Init {
        initiate_tag: u32,
        a_rwnd: u32,
        outbound_streams: u16,
        inbound_streams: u16,
        initial_tsn: u32,
    },
    Sack {
        cumulative_tsn_ack: u32,
        a_rwnd: u32,
        /// Offsets from the Cumulative TSN Ack, as in the chunk.
        gap_ack_blocks: Vec<(u16, u16)>,
        duplicate_tsns: Vec<u32>,
    },
    NrSack {
        cumulative_tsn_ack: u32,
        a_rwnd: u32,
        /// What may still be discarded.
        gap_ack_blocks: Vec<(u16, u16)>,
        /// What never will be.
        nr_gap_ack_blocks: Vec<(u16, u16)>,
        duplicate_tsns: Vec<u32>,
    },
    Shutdown {
        cumulative_tsn_ack: u32,
    },
    Ecne {
        lowest_tsn: u32,
        /// `None`: the chunk of RFC 4960.
        #[serde(skip_serializing_if = "Option::is_none")]
        packets: Option<u32>,
    },
    Cwr {
        lowest_tsn: u32,
        any_path: bool,
        same_window: bool,
    },
    PacketDrop {
        from_middle_box: bool,
        bad_checksum: bool,
        bandwidth: u32,
        queued: u32,
        /// Bytes of the packet, if not all are quoted.
        #[serde(skip_serializing_if = "Option::is_none")]
        truncated_length: Option<u16>,
        quoted_length: usize,
    },
    ForwardTsn {
        new_cumulative_tsn: u32,
        /// Streams, and the last Stream Sequence Number that is passed over in each.
        skipped_streams: Vec<(u16, u16)>,
    },
    IForwardTsn {
        new_cumulative_tsn: u32,
        /// Streams, whether it is about their unordered messages, and the last Message Identifier that is passed over.
        skipped_messages: Vec<(u16, bool, u32)>,
    },
    ReConfig {
        parameters: Vec<Change>,
    },
    Asconf {
        serial_number: u32,
        /// By which the peer finds the association.
        address: IpAddr,
        requests: Vec<AddressChange>,
    },
    AsconfAck {
        serial_number: u32,
        responses: Vec<AddressResponse>,
    },
    Auth {
        shared_key_identifier: u16,
        hmac_identifier: u16,
    },
    Plain {},
}

/// A parameter of a RE-CONFIG chunk (RFC 6525 §4).
#[derive(Serialize)]
#[serde(tag = "parameter_type", rename_all = "snake_case")]
enum Change {
    OutgoingSsnReset {
        request: u32,
        response: u32,
        last_assigned_tsn: u32,
        /// None: all of them.
        stream_ids: Vec<u16>,
    },
    IncomingSsnReset {
        request: u32,
        stream_ids: Vec<u16>,
    },
    SsnTsnReset {
        request: u32,
    },
    Response {
        request: u32,
        result: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        senders_next_tsn: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        receivers_next_tsn: Option<u32>,
    },
    AddOutgoingStreams {
        request: u32,
        new_streams: u16,
    },
    AddIncomingStreams {
        request: u32,
        new_streams: u16,
    },
    Other {},
}

/// A request of an ASCONF chunk (RFC 5061 §4.2).
#[derive(Serialize)]
#[serde(tag = "parameter_type", rename_all = "snake_case")]
enum AddressChange {
    AddIpAddress { correlation_id: u32, address: IpAddr },
    DeleteIpAddress { correlation_id: u32, address: IpAddr },
    SetPrimaryAddress { correlation_id: u32, address: IpAddr },
    Other {},
}

impl AddressChange {
    fn of(parameter: &Parameter<'_>) -> AddressChange {
        match *parameter {
            Parameter::AddIpAddress(AddressRequest { correlation, address }) => {
                AddressChange::AddIpAddress { correlation_id: correlation, address }
            }
            Parameter::DeleteIpAddress(AddressRequest { correlation, address }) => {
                AddressChange::DeleteIpAddress { correlation_id: correlation, address }
            }
            Parameter::SetPrimaryAddress(AddressRequest { correlation, address }) => {
                AddressChange::SetPrimaryAddress { correlation_id: correlation, address }
            }
            _ => AddressChange::Other {},
        }
    }
}

/// What an ASCONF-ACK chunk says of one of them (RFC 5061 §4.2.3, §4.2.5).
#[derive(Serialize)]
#[serde(tag = "parameter_type", rename_all = "snake_case")]
enum AddressResponse {
    SuccessIndication {
        correlation_id: u32,
    },
    ErrorCauseIndication {
        correlation_id: u32,
        /// The first one.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_cause: Option<u16>,
    },
    Other {},
}

impl AddressResponse {
    fn of(parameter: &Parameter<'_>) -> AddressResponse {
        match parameter {
            Parameter::SuccessIndication(correlation) => {
                AddressResponse::SuccessIndication { correlation_id: *correlation }
            }
            Parameter::ErrorCauseIndication(refused) => {
                let cause = refused.causes.iter().next().and_then(Result::ok);
                AddressResponse::ErrorCauseIndication {
                    correlation_id: refused.correlation,
                    error_cause: cause.map(|cause| cause.code.0),
                }
            }
            _ => AddressResponse::Other {},
        }
    }
}

impl Change {
    fn of(parameter: &Parameter<'_>) -> Change {
        let ids = |streams: StreamIds<'_>| streams.iter().map(|stream| stream.0).collect();
        match *parameter {
            Parameter::OutgoingSsnReset(reset) => Change::OutgoingSsnReset {
                request: reset.request.0,
                response: reset.response.0,
                last_assigned_tsn: reset.last_tsn.0,
                stream_ids: ids(reset.streams),
            },
            Parameter::IncomingSsnReset(reset) => Change::IncomingSsnReset {
                request: reset.request.0,
                stream_ids: ids(reset.streams),
            },
            Parameter::SsnTsnReset(request) => Change::SsnTsnReset { request: request.0 },
            Parameter::ReconfigurationResponse(response) => Change::Response {
                request: response.request.0,
                result: response.result.0,
                senders_next_tsn: response.next_tsns.map(|(senders, _)| senders.0),
                receivers_next_tsn: response.next_tsns.map(|(_, receivers)| receivers.0),
            },
            Parameter::AddOutgoingStreams(add) => {
                Change::AddOutgoingStreams { request: add.request.0, new_streams: add.streams }
            }
            Parameter::AddIncomingStreams(add) => {
                Change::AddIncomingStreams { request: add.request.0, new_streams: add.streams }
            }
            _ => Change::Other {},
        }
    }
}

fn offsets(blocks: GapAckBlocks<'_>) -> Vec<(u16, u16)> {
    blocks.map(|block| (block.start, block.end)).collect()
}

fn listed<T>(parameters: &Parameters<'_>, of: fn(&Parameter<'_>) -> T) -> Vec<T> {
    parameters.parsed().map_while(Result::ok).map(|parameter| of(&parameter)).collect()
}

impl Fields {
    fn of(chunk: &Chunk<'_>) -> Fields {
        match chunk {
            Chunk::Data(data) => Fields::Data {
                tsn: data.tsn.0,
                stream_id: data.stream.0,
                stream_sequence_number: data.ssn.0,
                ppid: data.ppid.0,
                unordered: data.flags.unordered,
                beginning: data.flags.beginning,
                ending: data.flags.ending,
                user_data_length: data.payload.len(),
            },
            Chunk::IData(data) => Fields::IData {
                tsn: data.tsn.0,
                stream_id: data.stream.0,
                message_identifier: data.mid.0,
                ppid: data.flags.beginning.then_some(data.ppid.0),
                fragment_sequence_number: (!data.flags.beginning).then_some(data.fsn.0),
                unordered: data.flags.unordered,
                beginning: data.flags.beginning,
                ending: data.flags.ending,
                user_data_length: data.payload.len(),
            },
            Chunk::Init(init) => Fields::init(&init.fields()),
            Chunk::InitAck(init) => Fields::init(&init.fields()),
            Chunk::Sack(sack) => Fields::sack(sack),
            Chunk::NrSack(nr_sack) => Fields::nr_sack(nr_sack),
            Chunk::Shutdown(shutdown) => {
                Fields::Shutdown { cumulative_tsn_ack: shutdown.cumulative_tsn_ack.0 }
            }
            Chunk::Ecne(ecne) => {
                Fields::Ecne { lowest_tsn: ecne.lowest_tsn.0, packets: ecne.packets }
            }
            Chunk::Cwr(cwr) => Fields::Cwr {
                lowest_tsn: cwr.lowest_tsn.0,
                any_path: cwr.any_path,
                same_window: cwr.same_window,
            },
            Chunk::PacketDrop(report) => Fields::PacketDrop {
                from_middle_box: report.from_middle_box,
                bad_checksum: report.bad_checksum,
                bandwidth: report.bandwidth,
                queued: report.queued,
                truncated_length: report.truncated_from,
                quoted_length: report.packet.len(),
            },
            Chunk::ForwardTsn(chunk) => Fields::ForwardTsn {
                new_cumulative_tsn: chunk.new_cumulative_tsn.0,
                skipped_streams: chunk.skipped().map(|s| (s.stream.0, s.ssn.0)).collect(),
            },
            Chunk::IForwardTsn(chunk) => {
                let skipped = chunk.skipped().map(|s| (s.stream.0, s.unordered, s.mid.0));
                Fields::IForwardTsn {
                    new_cumulative_tsn: chunk.new_cumulative_tsn.0,
                    skipped_messages: skipped.collect(),
                }
            }
            Chunk::ReConfig(chunk) => {
                Fields::ReConfig { parameters: listed(&chunk.parameters, Change::of) }
            }
            Chunk::Asconf(asconf) => Fields::Asconf {
                serial_number: asconf.number.0,
                address: asconf.address,
                requests: listed(&asconf.requests, AddressChange::of),
            },
            Chunk::AsconfAck(ack) => Fields::AsconfAck {
                serial_number: ack.number.0,
                responses: listed(&ack.responses, AddressResponse::of),
            },
            Chunk::Auth(auth) => {
                Fields::Auth { shared_key_identifier: auth.key, hmac_identifier: auth.algorithm.0 }
            }
            _ => Fields::Plain {},
        }
    }

    fn init(init: &InitFields) -> Fields {
        Fields::Init {
            initiate_tag: init.initiate_tag.0,
            a_rwnd: init.a_rwnd,
            outbound_streams: init.outbound_streams,
            inbound_streams: init.inbound_streams,
            initial_tsn: init.initial_tsn.0,
        }
    }

    fn sack(sack: &Sack<'_>) -> Fields {
        Fields::Sack {
            cumulative_tsn_ack: sack.cumulative_tsn_ack.0,
            a_rwnd: sack.a_rwnd,
            gap_ack_blocks: offsets(sack.gap_blocks()),
            duplicate_tsns: sack.duplicates().map(|tsn| tsn.0).collect(),
        }
    }

    fn nr_sack(nr_sack: &NrSack<'_>) -> Fields {
        let sack = &nr_sack.sack;
        Fields::NrSack {
            cumulative_tsn_ack: sack.cumulative_tsn_ack.0,
            a_rwnd: sack.a_rwnd,
            gap_ack_blocks: offsets(sack.gap_blocks()),
            nr_gap_ack_blocks: offsets(nr_sack.nr_gap_blocks()),
            duplicate_tsns: sack.duplicates().map(|tsn| tsn.0).collect(),
        }
    }
}

impl Serialize for ChunkList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        // Where the framing breaks the rest cannot be told apart.
        for raw in self.0.chunks().map_while(Result::ok) {
            let fields = Chunk::parse(raw).map_or(Fields::Plain {}, |chunk| Fields::of(&chunk));
            let number;
            let chunk_type = match raw.chunk_type.name() {
                Some(name) => name,
                None => {
                    number = format!("0x{:02x}", raw.chunk_type.0);
                    &number
                }
            };
            let length = raw.bytes.len();
            list.serialize_element(&Description { chunk_type, length, fields })?;
        }
        list.end()
    }
}
