//! Reading what an endpoint sent.

use tresse_wire::{Cause, Causes, Chunk, Data, Packet, Parameter, RawChunk, Sack};

use super::*;

/// A packet that an endpoint sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) from: Side,
    pub(crate) at: Time,
    pub(crate) to: Transmit,
    /// Counted from 1 in its direction.
    pub(crate) number: u64,
    pub(crate) bytes: Bytes,
}

impl Sent {
    fn packet(&self) -> Packet<'_> {
        Packet::parse_zero_checksum(&self.bytes).unwrap()
    }

    fn raw(&self) -> impl Iterator<Item = RawChunk<'_>> {
        self.packet().chunks().map(Result::unwrap)
    }

    pub(crate) fn chunks(&self) -> impl Iterator<Item = Chunk<'_>> {
        self.raw().map(|raw| Chunk::parse(raw).unwrap())
    }

    pub(crate) fn types(&self) -> Vec<ChunkType> {
        self.raw().map(|raw| raw.chunk_type).collect()
    }

    pub(crate) fn carries(&self, kind: ChunkType) -> bool {
        self.raw().any(|raw| raw.chunk_type == kind)
    }

    /// Flags and value of the first chunk of a kind.
    pub(crate) fn find(&self, kind: ChunkType) -> Option<RawChunk<'_>> {
        self.raw().find(|raw| raw.chunk_type == kind)
    }

    pub(crate) fn tag(&self) -> VerificationTag {
        self.packet().header().verification_tag
    }

    /// The T bit of the ABORT or SHUTDOWN COMPLETE in it.
    pub(crate) fn reflected(&self) -> bool {
        self.raw().next().unwrap().flags & 1 == 1
    }

    pub(crate) fn data(&self) -> Vec<Data<'_>> {
        let data =
            self.chunks().filter_map(|c| if let Chunk::Data(d) = c { Some(d) } else { None });
        data.collect()
    }

    pub(crate) fn tsns(&self) -> Vec<u32> {
        self.data().iter().map(|d| d.tsn.0).collect()
    }

    pub(crate) fn sack(&self) -> Option<Sack<'_>> {
        self.chunks().find_map(|c| if let Chunk::Sack(s) = c { Some(s) } else { None })
    }

    /// The error causes of its ERROR and ABORT chunks.
    pub(crate) fn causes(&self) -> Vec<(CauseCode, Vec<u8>)> {
        let lists = self.chunks().filter_map(|c| match c {
            Chunk::Abort(abort) => Some(abort.causes),
            Chunk::Error(error) => Some(error.causes),
            _ => None,
        });
        lists
            .flat_map(Causes::into_iter)
            .map(|raw| {
                let raw = raw.unwrap();
                assert!(Cause::parse(raw).is_ok());
                (raw.code, raw.value.to_vec())
            })
            .collect()
    }

    pub(crate) fn cause_codes(&self) -> Vec<CauseCode> {
        self.causes().into_iter().map(|(code, _)| code).collect()
    }

    /// Fixed fields and parameters of an INIT or INIT ACK.
    pub(crate) fn init(&self) -> (InitFields, Vec<Parameter<'_>>) {
        let (fields, list) = match self.chunks().next() {
            Some(Chunk::Init(init)) => (init.fields(), init.parameters),
            Some(Chunk::InitAck(ack)) => (ack.fields(), ack.parameters),
            other => panic!("neither INIT nor INIT ACK: {other:?}"),
        };
        (fields, list.parsed().map(Result::unwrap).collect())
    }

    pub(crate) fn cookie(&self) -> Vec<u8> {
        let find = |p: &Parameter<'_>| match p {
            Parameter::StateCookie(cookie) => Some(cookie.to_vec()),
            _ => None,
        };
        self.init().1.iter().find_map(find).unwrap()
    }
}

/// The chunk types of several packets.
pub(crate) fn types(packets: &[Sent]) -> Vec<Vec<ChunkType>> {
    packets.iter().map(Sent::types).collect()
}

/// The only packet.
#[track_caller]
pub(crate) fn only(packets: &[Sent]) -> &Sent {
    assert_eq!(packets.len(), 1, "{:?}", types(packets));
    &packets[0]
}
