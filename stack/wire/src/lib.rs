//! SCTP on the wire: packets, chunks, parameters and error causes of RFC 9260, the TIMESTAMP chunk
//! and retransmit bits by which a sender recognises spurious retransmissions, the NR-SACK chunk,
//! the RE-CONFIG chunk of RFC 6525, the AUTH chunk of RFC 4895, the ASCONF chunks of RFC 5061,
//! the ECNE and CWR chunks of RFC 4960, Appendix A, and the PKTDROP chunk of draft-stewart-sctp-pktdrprep.
//!
//! There are two levels. A *borrowed view* ([`Packet`], [`RawChunk`], [`RawParameter`], [`RawCause`])
//! checks framing only and cannot panic on any bytes; a *representation* ([`Chunk`], [`Parameter`],
//! [`Cause`]) has been validated in full, so whoever holds one never checks a length again.
//! Every rule is checked in exactly one place: the `parse` function beside the diagram it belongs to.
//!
//! Parsing neither allocates nor copies: payloads, cookies and parameter lists are slices of the
//! packet. Building goes the other way, through [`PacketWriter`], [`ParameterWriter`] and
//! [`CauseWriter`], which append to a `Vec<u8>`.
//!
//! ```
//! use tresse_wire::{
//!     Chunk, CommonHeader, DataFlags, Packet, PacketWriter, Ppid, Ssn, StreamId, Tsn, VerificationTag,
//! };
//!
//! let header = CommonHeader {
//!     source_port: 5000,
//!     destination_port: 9899,
//!     verification_tag: VerificationTag(0x1234_5678),
//! };
//! let mut buffer = Vec::new();
//! let mut writer = PacketWriter::new(&mut buffer, header);
//! writer.data(Tsn(7), StreamId(1), Ssn(0), Ppid(51), DataFlags::UNFRAGMENTED, b"hello");
//! let length = writer.finish();
//!
//! let packet = Packet::parse(&buffer[..length])?;
//! assert_eq!(packet.header(), header);
//! for raw in packet.chunks() {
//!     if let Chunk::Data(data) = Chunk::parse(raw?)? {
//!         assert_eq!(data.payload, b"hello");
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod cause;
mod chunk;
mod code_points;
mod error;
mod hmac;
mod icmp;
mod ip;
mod list;
mod packet;
mod packet_id;
mod parameter;
mod quote;
mod reader;
mod text;
mod tlv;
mod types;
mod writer;

pub use cause::{Cause, CauseCode, CauseWriter, Causes, ParsedCauses, RawCause, RawCauses};
pub use chunk::abort::Abort;
pub use chunk::asconf::{Asconf, AsconfAck};
pub use chunk::auth::{AUTH_HEADER_LEN, Auth, auth_chunk_len, authenticate};
pub use chunk::cookie_echo::CookieEcho;
pub use chunk::cwr::{CWR_CHUNK_LEN, Cwr};
pub use chunk::data::{DATA_HEADER_LEN, Data, DataFlags, data_chunk_len};
pub use chunk::ecne::{ECNE_CHUNK_LEN, Ecne};
pub use chunk::error::ErrorChunk;
pub use chunk::forward_tsn::{FORWARD_TSN_HEADER_LEN, ForwardTsn, SkippedStream};
pub use chunk::heartbeat::Heartbeat;
pub use chunk::heartbeat_ack::HeartbeatAck;
pub use chunk::i_data::{I_DATA_HEADER_LEN, IData};
pub use chunk::i_forward_tsn::{IForwardTsn, SKIPPED_MESSAGES_LEN, SkippedMessages};
pub use chunk::init::{Init, InitFields};
pub use chunk::init_ack::InitAck;
pub use chunk::nr_sack::NrSack;
pub use chunk::packet_drop::{PACKET_DROP_HEADER_LEN, PacketDrop};
pub use chunk::pad::Pad;
pub use chunk::re_config::ReConfig;
pub use chunk::sack::{DuplicateTsns, GapAckBlock, GapAckBlocks, Sack, SackFlags};
pub use chunk::shutdown::Shutdown;
pub use chunk::shutdown_complete::ShutdownComplete;
pub use chunk::timestamp::{TIMESTAMP_CHUNK_LEN, Timestamp};
pub use chunk::{CHUNK_HEADER_LEN, Chunk, ChunkType, MAX_CHUNK_LEN, RawChunk, UnknownAction};
pub use error::{ChunkError, PacketError};
pub use hmac::{HmacIdentifier, HmacIdentifiers};
pub use icmp::IcmpKind;
pub use ip::{Dscp, Ecn, FlowLabel, IpFragments, IpHeaders, IpLabels};
pub use list::List;
pub use packet::{
    COMMON_HEADER_LEN, Chunks, CommonHeader, MAX_PACKET_LEN, Packet, checksum, write_checksum,
};
pub use packet_id::add_packet_id;
pub use parameter::address_configuration::{AddressRequest, ErrorIndication};
pub use parameter::reconfiguration::{
    AddStreams, IncomingSsnReset, OutgoingSsnReset, ReconfigurationResponse, ReconfigurationResult,
    StreamIds,
};
pub use parameter::{
    ErrorDetectionMethod, Parameter, ParameterType, ParameterTypes, ParameterWriter, Parameters,
    ParsedParameters, RawParameter, RawParameters,
};
pub use quote::{Quote, QuotedChunk};
pub use text::{printable, printable_lines};
pub use tlv::padded;
pub use types::{AsconfNumber, Fsn, Mid, Ppid, RequestNumber, Ssn, StreamId, Tsn, VerificationTag};
pub use writer::PacketWriter;
