//! What can be wrong with bytes from the network. Every fault of a peer is a value.

use crate::{CauseCode, ChunkType, ParameterType, Tsn};

/// Why a packet is no SCTP packet that may be processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// Shorter than the common header of 12 bytes (RFC 9260 §3.1).
    #[error("packet of {length} bytes is shorter than the common header")]
    TooShort {
        /// Bytes that were there.
        length: usize,
    },
    /// The CRC32c does not match: the packet is discarded (RFC 9260 §6.8).
    #[error("checksum {received:#010x} in the packet, {computed:#010x} computed")]
    Checksum {
        /// The value carried by the packet, as the number CRC32c yields.
        received: u32,
        /// The value computed over the packet.
        computed: u32,
    },
    /// A port number is 0, which RFC 9260 §3.1 forbids.
    #[error("port number 0")]
    ZeroPort,
}

/// Why a chunk, or a parameter or error cause within a chunk, is malformed.
///
/// Lengths are in bytes and include the header of the thing they belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// The packet ends within a chunk header.
    #[error("{available} bytes left, too few for a chunk header")]
    PartialHeader {
        /// Bytes left in the packet: 1 to 3.
        available: usize,
    },
    /// The Chunk Length is smaller than the chunk header.
    #[error("{chunk_type} chunk: length {length} is smaller than its header")]
    LengthTooSmall {
        /// Type of the chunk.
        chunk_type: ChunkType,
        /// Its Chunk Length field: 0 to 3.
        length: u16,
    },
    /// The Chunk Length reaches beyond the end of the packet.
    #[error("{chunk_type} chunk: length {length}, but {available} bytes are left")]
    LengthBeyondEnd {
        /// Type of the chunk.
        chunk_type: ChunkType,
        /// Its Chunk Length field.
        length: u16,
        /// Bytes left in the packet, counted from the start of the chunk.
        available: usize,
    },
    /// The Chunk Length cannot be right for a chunk of this type.
    #[error("{chunk_type} chunk: length {length} is not valid for its type")]
    InvalidLength {
        /// Type of the chunk.
        chunk_type: ChunkType,
        /// Length of the chunk.
        length: usize,
    },
    /// A DATA chunk without user data. RFC 9260 §6.2: answered with an ABORT chunk that carries a
    /// "No User Data" error cause.
    #[error("DATA chunk with TSN {tsn} carries no user data")]
    NoUserData {
        /// TSN of the chunk, to be reported in the error cause.
        tsn: Tsn,
    },
    /// The counts of a SACK chunk do not agree with its length (RFC 9260 §3.3.4).
    #[error(
        "SACK chunk of {length} bytes declares {gap_ack_blocks} Gap Ack Blocks and {duplicates} Duplicate TSNs"
    )]
    SackCounts {
        /// Length of the chunk.
        length: usize,
        /// Number of Gap Ack Blocks field.
        gap_ack_blocks: u16,
        /// Number of Duplicate TSNs field.
        duplicates: u16,
    },
    /// The counts of an NR-SACK chunk do not agree with its length.
    #[error(
        "NR-SACK chunk of {length} bytes declares {gap_ack_blocks} and {nr_gap_ack_blocks} Gap Ack Blocks and {duplicates} Duplicate TSNs"
    )]
    NrSackCounts {
        /// Length of the chunk.
        length: usize,
        /// Number of Gap Ack Blocks field.
        gap_ack_blocks: u16,
        /// Number of NR Gap Ack Blocks field.
        nr_gap_ack_blocks: u16,
        /// Number of Duplicate TSNs field.
        duplicates: u16,
    },
    /// A parameter without which the chunk means nothing is absent.
    #[error("{chunk_type} chunk: {parameter_type} parameter missing")]
    MissingParameter {
        /// Type of the chunk.
        chunk_type: ChunkType,
        /// Type of the absent parameter.
        parameter_type: ParameterType,
    },
    /// The parameter list ends within a parameter header.
    #[error("{available} bytes left, too few for a parameter header")]
    PartialParameter {
        /// Bytes left in the list: 1 to 3.
        available: usize,
    },
    /// A Parameter Length is smaller than the parameter header or reaches beyond the list.
    #[error("{parameter_type} parameter: length {length}, but {available} bytes are left")]
    ParameterLength {
        /// Type of the parameter.
        parameter_type: ParameterType,
        /// Its Parameter Length field.
        length: u16,
        /// Bytes left in the list, counted from the start of the parameter.
        available: usize,
    },
    /// The content of a parameter contradicts its type.
    #[error("{parameter_type} parameter of {length} bytes is not valid for its type")]
    InvalidParameter {
        /// Type of the parameter.
        parameter_type: ParameterType,
        /// Length of the parameter.
        length: usize,
    },
    /// The list of error causes ends within a cause header.
    #[error("{available} bytes left, too few for an error cause header")]
    PartialCause {
        /// Bytes left in the list: 1 to 3.
        available: usize,
    },
    /// A Cause Length is smaller than the cause header or reaches beyond the list.
    #[error("{code} error cause: length {length}, but {available} bytes are left")]
    CauseLength {
        /// Cause Code.
        code: CauseCode,
        /// Its Cause Length field.
        length: u16,
        /// Bytes left in the list, counted from the start of the cause.
        available: usize,
    },
    /// The content of an error cause contradicts its code.
    #[error("{code} error cause of {length} bytes is not valid for its code")]
    InvalidCause {
        /// Cause Code.
        code: CauseCode,
        /// Length of the cause.
        length: usize,
    },
}
