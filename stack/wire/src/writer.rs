//! Building packets.

use crate::chunk;
use crate::packet::write_checksum;
use crate::{
    Asconf, AsconfAck, Auth, COMMON_HEADER_LEN, ChunkType, CommonHeader, CookieEcho, Cwr, Data,
    DataFlags, Ecne, GapAckBlock, IData, InitFields, PacketDrop, Pad, Ppid, SackFlags, Shutdown,
    ShutdownComplete, SkippedMessages, SkippedStream, Ssn, StreamId, Timestamp, Tsn,
};

/// Writes one packet into a caller's buffer: common header, chunks, and the checksum at the end.
///
/// How much fits a path is the caller's business ([`len`](Self::len) tells what there is). A chunk
/// of more than [`MAX_CHUNK_LEN`](crate::MAX_CHUNK_LEN) bytes has no Chunk Length: it is not written
/// at all, and with debug assertions the program stops there. Quoting a peer cannot lead to this,
/// because [`CauseWriter`](crate::CauseWriter) and [`ParameterWriter`](crate::ParameterWriter) keep
/// within the limit and [`sack`](Self::sack) shortens its lists.
#[derive(Debug)]
#[must_use = "a packet without `finish` has no checksum"]
pub struct PacketWriter<'b> {
    buffer: &'b mut Vec<u8>,
}

impl<'b> PacketWriter<'b> {
    /// Clears the buffer and writes the common header.
    pub fn new(buffer: &'b mut Vec<u8>, header: CommonHeader) -> Self {
        buffer.clear();
        buffer.extend_from_slice(&header.to_bytes());
        Self { buffer }
    }

    /// Bytes so far, common header and padding included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether no chunk has been written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.len() <= COMMON_HEADER_LEN
    }

    /// Appends a DATA chunk (RFC 9260 §3.3.1). It takes [`data_chunk_len`](crate::data_chunk_len)
    /// bytes. The payload must not be empty.
    pub fn data(
        &mut self,
        tsn: Tsn,
        stream: StreamId,
        ssn: Ssn,
        ppid: Ppid,
        flags: DataFlags,
        payload: &[u8],
    ) {
        Data { tsn, stream, ssn, ppid, flags, payload }.emit(self.buffer);
    }

    /// Appends an I-DATA chunk (RFC 8260 §2.1) of 20 bytes, its user data, which must not be empty, and padding.
    pub fn i_data(&mut self, data: &IData<'_>) {
        data.emit(self.buffer);
    }

    /// Appends an INIT chunk (RFC 9260 §3.3.2) with a list of encoded parameters, see
    /// [`ParameterWriter`](crate::ParameterWriter). RFC 9260 §6.10: it must be the only chunk.
    pub fn init(&mut self, fields: &InitFields, params: &[u8]) {
        fields.emit(self.buffer, ChunkType::INIT, params);
    }

    /// Appends an INIT ACK chunk (RFC 9260 §3.3.3) with a list of encoded parameters, see
    /// [`ParameterWriter`](crate::ParameterWriter). RFC 9260 §6.10: it must be the only chunk.
    pub fn init_ack(&mut self, fields: &InitFields, params: &[u8]) {
        fields.emit(self.buffer, ChunkType::INIT_ACK, params);
    }

    /// Appends a SACK chunk (RFC 9260 §3.3.4) of `16 + 4 * (gaps + duplicates)` bytes, without flags.
    ///
    /// A chunk holds 16379 Gap Ack Blocks and Duplicate TSNs together; what is beyond that is left
    /// out, duplicates first.
    pub fn sack(
        &mut self,
        cumulative_tsn_ack: Tsn,
        a_rwnd: u32,
        gaps: impl ExactSizeIterator<Item = GapAckBlock>,
        duplicates: impl ExactSizeIterator<Item = Tsn>,
    ) {
        let flags = SackFlags::default();
        self.sack_with_flags(flags, cumulative_tsn_ack, a_rwnd, gaps, duplicates);
    }

    /// Appends a SACK chunk as [`sack`](Self::sack) does, with these flags.
    pub fn sack_with_flags(
        &mut self,
        flags: SackFlags,
        cumulative_tsn_ack: Tsn,
        a_rwnd: u32,
        gaps: impl ExactSizeIterator<Item = GapAckBlock>,
        duplicates: impl ExactSizeIterator<Item = Tsn>,
    ) {
        chunk::sack::emit(self.buffer, flags, cumulative_tsn_ack, a_rwnd, gaps, duplicates);
    }

    /// Appends an NR-SACK chunk of `20 + 4 * (gaps + nr_gaps + duplicates)` bytes, see
    /// [`NrSack`](crate::NrSack).
    ///
    /// A chunk holds 16378 entries of all lists together; what is beyond that is left out, the last
    /// ones first.
    pub fn nr_sack(
        &mut self,
        flags: SackFlags,
        cumulative_tsn_ack: Tsn,
        a_rwnd: u32,
        gaps: impl ExactSizeIterator<Item = GapAckBlock>,
        nr_gaps: impl ExactSizeIterator<Item = GapAckBlock>,
        duplicates: impl ExactSizeIterator<Item = Tsn>,
    ) {
        let buffer = &mut *self.buffer;
        chunk::nr_sack::emit(buffer, flags, cumulative_tsn_ack, a_rwnd, gaps, nr_gaps, duplicates);
    }

    /// Appends a TIMESTAMP chunk of [`TIMESTAMP_CHUNK_LEN`](crate::TIMESTAMP_CHUNK_LEN) bytes, see
    /// [`Timestamp`](crate::Timestamp).
    pub fn timestamp(&mut self, tsval: u32, tsecr: u32) {
        Timestamp { tsval, tsecr }.emit(self.buffer);
    }

    /// Appends a FORWARD TSN chunk (RFC 3758 §3.2) of `8 + 4 * skipped` bytes.
    ///
    /// A chunk holds 16381 streams; what is beyond that is left out.
    pub fn forward_tsn(
        &mut self,
        new_cumulative_tsn: Tsn,
        skipped: impl Iterator<Item = SkippedStream>,
    ) {
        chunk::forward_tsn::emit(self.buffer, new_cumulative_tsn, skipped);
    }

    /// Appends an I-FORWARD-TSN chunk (RFC 8260 §2.3.1) of `8 + 8 * skipped` bytes.
    ///
    /// A chunk holds 8190 entries; what is beyond that is left out.
    pub fn i_forward_tsn(
        &mut self,
        new_cumulative_tsn: Tsn,
        skipped: impl Iterator<Item = SkippedMessages>,
    ) {
        chunk::i_forward_tsn::emit(self.buffer, new_cumulative_tsn, skipped);
    }

    /// Appends a HEARTBEAT chunk (RFC 9260 §3.3.5) with this Heartbeat Info.
    pub fn heartbeat(&mut self, info: &[u8]) {
        chunk::heartbeat::emit(self.buffer, info);
    }

    /// Appends a HEARTBEAT ACK chunk (RFC 9260 §3.3.6) that returns
    /// [`Heartbeat::parameters`](crate::Heartbeat::parameters) unchanged.
    pub fn heartbeat_ack(&mut self, parameters: &[u8]) {
        chunk::heartbeat_ack::emit(self.buffer, parameters);
    }

    /// Appends an ABORT chunk (RFC 9260 §3.3.7) with a list of encoded causes, see
    /// [`CauseWriter`](crate::CauseWriter); `tag_reflected` sets the T bit.
    pub fn abort(&mut self, tag_reflected: bool, causes: &[u8]) {
        chunk::abort::emit(self.buffer, tag_reflected, causes);
    }

    /// Appends an ERROR chunk (RFC 9260 §3.3.10) with a list of encoded causes, see
    /// [`CauseWriter`](crate::CauseWriter).
    pub fn error(&mut self, causes: &[u8]) {
        chunk::error::emit(self.buffer, causes);
    }

    /// Appends a SHUTDOWN chunk (RFC 9260 §3.3.8).
    pub fn shutdown(&mut self, cumulative_tsn_ack: Tsn) {
        Shutdown { cumulative_tsn_ack }.emit(self.buffer);
    }

    /// Appends a SHUTDOWN ACK chunk (RFC 9260 §3.3.9).
    pub fn shutdown_ack(&mut self) {
        chunk::shutdown_ack::emit(self.buffer);
    }

    /// Appends a SHUTDOWN COMPLETE chunk (RFC 9260 §3.3.13); `tag_reflected` sets the T bit.
    pub fn shutdown_complete(&mut self, tag_reflected: bool) {
        ShutdownComplete { tag_reflected }.emit(self.buffer);
    }

    /// Appends a COOKIE ECHO chunk (RFC 9260 §3.3.11), which must be the first of its packet.
    pub fn cookie_echo(&mut self, cookie: &[u8]) {
        CookieEcho { cookie }.emit(self.buffer);
    }

    /// Appends a COOKIE ACK chunk (RFC 9260 §3.3.12).
    pub fn cookie_ack(&mut self) {
        chunk::cookie_ack::emit(self.buffer);
    }

    /// Appends an ECNE chunk (RFC 4960 Appendix A) of [`ECNE_CHUNK_LEN`](crate::ECNE_CHUNK_LEN) bytes, or 8 without a number.
    pub fn ecne(&mut self, ecne: Ecne) {
        ecne.emit(self.buffer);
    }

    /// Appends a CWR chunk (RFC 4960 Appendix A) of [`CWR_CHUNK_LEN`](crate::CWR_CHUNK_LEN) bytes.
    pub fn cwr(&mut self, cwr: Cwr) {
        cwr.emit(self.buffer);
    }

    /// Appends a RE-CONFIG chunk (RFC 6525 §3.1) with a list of one or two encoded parameters, see
    /// [`ParameterWriter`](crate::ParameterWriter).
    pub fn re_config(&mut self, parameters: &[u8]) {
        chunk::re_config::emit(self.buffer, parameters);
    }

    /// Appends an ASCONF chunk (RFC 5061 §4.1.1) with a list of encoded requests, see
    /// [`ParameterWriter`](crate::ParameterWriter).
    pub fn asconf(&mut self, asconf: &Asconf<'_>) {
        asconf.emit(self.buffer);
    }

    /// Appends an ASCONF-ACK chunk (RFC 5061 §4.1.2) with a list of encoded responses.
    pub fn asconf_ack(&mut self, ack: &AsconfAck<'_>) {
        ack.emit(self.buffer);
    }

    /// Appends an AUTH chunk (RFC 4895 §5.1) as it is; [`authenticate`](crate::authenticate) makes one for a packet.
    pub fn auth(&mut self, auth: &Auth<'_>) {
        auth.emit(self.buffer);
    }

    /// Appends a PKTDROP chunk (draft-stewart-sctp-pktdrprep) of
    /// [`PACKET_DROP_HEADER_LEN`](crate::PACKET_DROP_HEADER_LEN) bytes, the quoted packet, and padding.
    pub fn packet_drop(&mut self, report: &PacketDrop<'_>) {
        report.emit(self.buffer);
    }

    /// Appends a PAD chunk (RFC 4820 §3) of `len` bytes, its header included: no less than 4, no more than a Chunk Length can
    /// say.
    pub fn pad(&mut self, len: usize) {
        Pad { len }.emit(self.buffer);
    }

    /// Appends an already encoded chunk and pads it. The bytes are taken as they are, even if they
    /// are no chunk: this is also how tests send malformed ones.
    pub fn raw(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
        chunk::pad(self.buffer);
    }

    //= RFC 6951 5.3-3
    /// Writes the CRC32c (RFC 9260 §6.8) and returns the length of the packet in bytes.
    #[expect(clippy::must_use_candidate, reason = "the buffer knows its length as well")]
    pub fn finish(self) -> usize {
        write_checksum(self.buffer);
        self.buffer.len()
    }

    /// Leaves the checksum zero, for those who write it later ([`write_checksum`](crate::write_checksum)) or not at all (RFC 9653).
    /// The length of the packet in bytes.
    #[expect(clippy::must_use_candidate, reason = "the buffer knows its length as well")]
    pub fn finish_without_checksum(self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests;
