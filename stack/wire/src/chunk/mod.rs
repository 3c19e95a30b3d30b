//! Chunks (RFC 9260 §3.2, §3.3): one file for each type, with its diagram, parser and emitter.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Chunk Type   |  Chunk Flags  |         Chunk Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                          Chunk Value                          /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

pub(crate) mod abort;
pub(crate) mod asconf;
pub(crate) mod auth;
pub(crate) mod cookie_ack;
pub(crate) mod cookie_echo;
pub(crate) mod cwr;
pub(crate) mod data;
pub(crate) mod ecne;
pub(crate) mod error;
pub(crate) mod forward_tsn;
pub(crate) mod heartbeat;
pub(crate) mod heartbeat_ack;
pub(crate) mod i_data;
pub(crate) mod i_forward_tsn;
pub(crate) mod init;
pub(crate) mod init_ack;
pub(crate) mod nr_sack;
pub(crate) mod packet_drop;
pub(crate) mod pad;
pub(crate) mod re_config;
pub(crate) mod sack;
pub(crate) mod shutdown;
pub(crate) mod shutdown_ack;
pub(crate) mod shutdown_complete;
pub(crate) mod timestamp;

mod chunk_type;
mod raw;

pub use chunk_type::{ChunkType, UnknownAction};
pub use raw::{CHUNK_HEADER_LEN, MAX_CHUNK_LEN, RawChunk};
pub(crate) use raw::{T_BIT, emit, pad};

use crate::{
    Abort, Asconf, AsconfAck, Auth, ChunkError, CookieEcho, Cwr, Data, Ecne, ErrorChunk,
    ForwardTsn, Heartbeat, HeartbeatAck, IData, IForwardTsn, Init, InitAck, NrSack, PacketDrop,
    Pad, ReConfig, Sack, Shutdown, ShutdownComplete, Timestamp,
};

/// A validated chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// User data (RFC 9260 §3.3.1).
    Data(Data<'a>),
    /// Opens an association (RFC 9260 §3.3.2).
    Init(Init<'a>),
    /// Answers an INIT (RFC 9260 §3.3.3).
    InitAck(InitAck<'a>),
    /// Acknowledges DATA chunks (RFC 9260 §3.3.4).
    Sack(Sack<'a>),
    /// Probes the reachability of a destination address (RFC 9260 §3.3.5).
    Heartbeat(Heartbeat<'a>),
    /// Answers a HEARTBEAT (RFC 9260 §3.3.6).
    HeartbeatAck(HeartbeatAck<'a>),
    /// Ends the association at once (RFC 9260 §3.3.7).
    Abort(Abort<'a>),
    /// Begins a graceful close (RFC 9260 §3.3.8).
    Shutdown(Shutdown),
    /// Answers a SHUTDOWN (RFC 9260 §3.3.9).
    ShutdownAck,
    /// Reports errors (RFC 9260 §3.3.10).
    Error(ErrorChunk<'a>),
    /// Returns the State Cookie (RFC 9260 §3.3.11).
    CookieEcho(CookieEcho<'a>),
    /// Answers a COOKIE ECHO (RFC 9260 §3.3.12).
    CookieAck,
    /// Packets arrived with the mark of congestion (RFC 4960 Appendix A).
    Ecne(Ecne),
    /// A congestion window was reduced for such a mark (RFC 4960 Appendix A).
    Cwr(Cwr),
    /// Ends the graceful close (RFC 9260 §3.3.13).
    ShutdownComplete(ShutdownComplete),
    /// Authenticates the chunks behind it (RFC 4895 §5.1).
    Auth(Auth<'a>),
    /// Acknowledges DATA chunks, some for good (draft-natarajan-tsvwg-sctp-nrsack).
    NrSack(NrSack<'a>),
    /// User data that may be interleaved (RFC 8260 §2.1).
    IData(IData<'a>),
    /// Acknowledges ASCONF (RFC 5061 §4.1.2).
    AsconfAck(AsconfAck<'a>),
    /// Quotes a packet that was dropped (draft-stewart-sctp-pktdrprep).
    PacketDrop(PacketDrop<'a>),
    /// Asks to change streams, or answers that (RFC 6525 §3.1).
    ReConfig(ReConfig<'a>),
    /// Passes over DATA chunks that are not sent any more (RFC 3758 §3.2).
    ForwardTsn(ForwardTsn<'a>),
    /// Asks to change addresses (RFC 5061 §4.1.1).
    Asconf(Asconf<'a>),
    /// Passes over I-DATA chunks that are not sent any more (RFC 8260 §2.3.1).
    IForwardTsn(IForwardTsn<'a>),
    /// Makes the packet longer (RFC 4820 §3).
    Pad(Pad),
    /// When the packet was sent and what it answers (Ladha et al., for the Eifel algorithm).
    Timestamp(Timestamp),
    /// Any other type; [`ChunkType::unknown_action`] tells what to do with it.
    Unknown(RawChunk<'a>),
}

impl<'a> Chunk<'a> {
    /// Validates a chunk.
    ///
    /// Values that are well formed but not allowed where the protocol says what to answer (an
    /// Initiate Tag of zero, zero streams, a missing State Cookie) are left to the association.
    /// Flags that are "ignored on receipt" are ignored.
    ///
    /// # Errors
    /// Any [`ChunkError`] that concerns the content of one chunk.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        Ok(match raw.chunk_type {
            ChunkType::DATA => Self::Data(Data::parse(raw)?),
            ChunkType::INIT => Self::Init(Init::parse(raw)?),
            ChunkType::INIT_ACK => Self::InitAck(InitAck::parse(raw)?),
            ChunkType::SACK => Self::Sack(Sack::parse(raw)?),
            ChunkType::HEARTBEAT => Self::Heartbeat(Heartbeat::parse(raw)?),
            ChunkType::HEARTBEAT_ACK => Self::HeartbeatAck(HeartbeatAck::parse(raw)?),
            ChunkType::ABORT => Self::Abort(Abort::parse(raw)?),
            ChunkType::SHUTDOWN => Self::Shutdown(Shutdown::parse(raw)?),
            ChunkType::SHUTDOWN_ACK => {
                shutdown_ack::parse(raw)?;
                Self::ShutdownAck
            }
            ChunkType::ERROR => Self::Error(ErrorChunk::parse(raw)?),
            ChunkType::COOKIE_ECHO => Self::CookieEcho(CookieEcho::parse(raw)?),
            ChunkType::COOKIE_ACK => {
                cookie_ack::parse(raw)?;
                Self::CookieAck
            }
            ChunkType::ECNE => Self::Ecne(Ecne::parse(raw)?),
            ChunkType::CWR => Self::Cwr(Cwr::parse(raw)?),
            ChunkType::SHUTDOWN_COMPLETE => Self::ShutdownComplete(ShutdownComplete::parse(raw)?),
            ChunkType::AUTH => Self::Auth(Auth::parse(raw)?),
            ChunkType::NR_SACK => Self::NrSack(NrSack::parse(raw)?),
            ChunkType::I_DATA => Self::IData(IData::parse(raw)?),
            ChunkType::ASCONF_ACK => Self::AsconfAck(AsconfAck::parse(raw)?),
            ChunkType::PACKET_DROP => Self::PacketDrop(PacketDrop::parse(raw)?),
            ChunkType::RE_CONFIG => Self::ReConfig(ReConfig::parse(raw)?),
            ChunkType::FORWARD_TSN => Self::ForwardTsn(ForwardTsn::parse(raw)?),
            ChunkType::ASCONF => Self::Asconf(Asconf::parse(raw)?),
            ChunkType::I_FORWARD_TSN => Self::IForwardTsn(IForwardTsn::parse(raw)?),
            ChunkType::PAD => Self::Pad(Pad::parse(raw)),
            ChunkType::TIMESTAMP => Self::Timestamp(Timestamp::parse(raw)?),
            _ => Self::Unknown(raw),
        })
    }

    /// The Chunk Type this representation stands for.
    #[must_use]
    pub const fn chunk_type(&self) -> ChunkType {
        match self {
            Self::Data(_) => ChunkType::DATA,
            Self::Init(_) => ChunkType::INIT,
            Self::InitAck(_) => ChunkType::INIT_ACK,
            Self::Sack(_) => ChunkType::SACK,
            Self::Heartbeat(_) => ChunkType::HEARTBEAT,
            Self::HeartbeatAck(_) => ChunkType::HEARTBEAT_ACK,
            Self::Abort(_) => ChunkType::ABORT,
            Self::Shutdown(_) => ChunkType::SHUTDOWN,
            Self::ShutdownAck => ChunkType::SHUTDOWN_ACK,
            Self::Error(_) => ChunkType::ERROR,
            Self::CookieEcho(_) => ChunkType::COOKIE_ECHO,
            Self::CookieAck => ChunkType::COOKIE_ACK,
            Self::Ecne(_) => ChunkType::ECNE,
            Self::Cwr(_) => ChunkType::CWR,
            Self::ShutdownComplete(_) => ChunkType::SHUTDOWN_COMPLETE,
            Self::Auth(_) => ChunkType::AUTH,
            Self::NrSack(_) => ChunkType::NR_SACK,
            Self::IData(_) => ChunkType::I_DATA,
            Self::AsconfAck(_) => ChunkType::ASCONF_ACK,
            Self::PacketDrop(_) => ChunkType::PACKET_DROP,
            Self::ReConfig(_) => ChunkType::RE_CONFIG,
            Self::ForwardTsn(_) => ChunkType::FORWARD_TSN,
            Self::Asconf(_) => ChunkType::ASCONF,
            Self::IForwardTsn(_) => ChunkType::I_FORWARD_TSN,
            Self::Pad(_) => ChunkType::PAD,
            Self::Timestamp(_) => ChunkType::TIMESTAMP,
            Self::Unknown(raw) => raw.chunk_type,
        }
    }
}

/// Helpers for the byte-vector test of each chunk.
#[cfg(test)]
pub(crate) mod test_support {
    use super::Chunk;
    use crate::packet::Chunks;
    use crate::{ChunkError, CommonHeader, PacketWriter, VerificationTag};

    /// Parses the first of the chunks in `bytes`.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Chunk<'_>, ChunkError> {
        Chunk::parse(Chunks::new(bytes).next().expect("a chunk")?)
    }

    /// What `write` appends behind the common header.
    pub(crate) fn emitted(write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
        let header = CommonHeader {
            source_port: 1,
            destination_port: 2,
            verification_tag: VerificationTag(3),
        };
        let mut buffer = Vec::new();
        let mut writer = PacketWriter::new(&mut buffer, header);
        write(&mut writer);
        writer.finish();
        buffer.split_off(crate::COMMON_HEADER_LEN)
    }
}
