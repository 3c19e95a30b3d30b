//! What an end says of authentication in INIT or INIT ACK (RFC 4895 §3, §6.1).

use tresse_wire::{
    ChunkType, HmacIdentifier, Parameter, ParameterType, ParameterWriter, RawParameter,
};

use super::chunk_set::{ChunkSet, NEVER};
use super::mac::HmacAlgorithm;
use super::settings::Authentication;
use crate::rng::Rng;

//= RFC 4895 3.1-4 6.1-2
/// Bytes of a Random Number.
const RANDOM_LEN: usize = 32;
/// A Chunk List parameter has 260 bytes at most (RFC 4895 §3.2).
const MAX_CHUNKS: usize = 256;
/// Algorithms in a list at most; RFC 4895 §3.3 defines two. A longer list is refused.
const MAX_ALGORITHMS: usize = 16;

/// The three parameters of an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    random: [u8; RANDOM_LEN],
    /// The Chunk List as it stands in the chunk, for it is a part of the key.
    chunks: Option<Vec<u8>>,
    algorithms: Vec<HmacIdentifier>,
}

impl Offer {
    //= RFC 4895 3.2-5 6.1-2 6.1-7 6.1-8
    /// What an end with these settings says.
    pub(crate) fn new(settings: &Authentication, rng: &mut Rng) -> Offer {
        let mut random = [0; RANDOM_LEN];
        rng.fill(&mut random);
        let mut chunks: Vec<u8> = Vec::new();
        for kind in settings.chunks.iter().filter(|kind| !NEVER.contains(kind)) {
            if !chunks.contains(&kind.0) {
                chunks.push(kind.0);
            }
        }
        // §6.1: the list "MAY be omitted if it is empty".
        let chunks = Some(chunks).filter(|chunks| !chunks.is_empty());
        let known = |one: &&HmacIdentifier| HmacAlgorithm::of(**one).is_some();
        let mut algorithms: Vec<_> = settings.algorithms.iter().filter(known).copied().collect();
        algorithms.truncate(MAX_ALGORITHMS - 1);
        if !algorithms.contains(&HmacIdentifier::SHA_1) {
            algorithms.push(HmacIdentifier::SHA_1);
        }
        Offer { random, chunks, algorithms }
    }

    //= RFC 4895 3.1-4 3.2-4 3.3-5 6.1-1 6.1-5
    /// Writes the parameters into INIT or INIT ACK.
    pub(crate) fn write(&self, writer: &mut ParameterWriter) {
        writer.random(&self.random);
        if let Some(chunks) = &self.chunks {
            writer.chunk_list(chunks);
        }
        writer.hmac_algo(&self.algorithms);
    }

    //= RFC 4895 6.1-9
    /// The key vector: the parameters one after the other, "but padding is omitted".
    fn vector(&self) -> Vec<u8> {
        let mut vector = Vec::with_capacity(64);
        let mut add = |kind: ParameterType, value: &[u8]| {
            let length = (4 + value.len()) as u16;
            vector.extend(kind.0.to_be_bytes());
            vector.extend(length.to_be_bytes());
            vector.extend(value);
        };
        add(ParameterType::RANDOM, &self.random);
        if let Some(chunks) = &self.chunks {
            add(ParameterType::CHUNK_LIST, chunks);
        }
        let algorithms: Vec<u8> =
            self.algorithms.iter().flat_map(|one| one.0.to_be_bytes()).collect();
        add(ParameterType::HMAC_ALGO, &algorithms);
        vector
    }

    /// The association shared key of the end with this offer and one with `other`, from an endpoint pair shared key.
    ///
    /// RFC 4895 §6.1: that key, the numerically smaller key vector, and the larger one; of equal numbers the shorter vector
    /// comes first.
    pub(super) fn association_key(&self, other: &Offer, secret: &[u8]) -> Vec<u8> {
        let (ours, theirs) = (self.vector(), other.vector());
        let is_first = {
            let significant = |vector: &[u8]| vector.iter().take_while(|byte| **byte == 0).count();
            let (a, b) = (&ours[significant(&ours)..], &theirs[significant(&theirs)..]);
            (a.len(), a, ours.len()) <= (b.len(), b, theirs.len())
        };
        let [first, second] = if is_first { [&ours, &theirs] } else { [&theirs, &ours] };
        [secret, first, second].concat()
    }

    /// The offer, with these chunks on its list as well.
    pub(crate) fn listing(mut self, kinds: &[ChunkType]) -> Offer {
        let chunks = self.chunks.get_or_insert_default();
        for kind in kinds.iter().filter(|kind| !NEVER.contains(kind)) {
            if !chunks.contains(&kind.0) {
                chunks.push(kind.0);
            }
        }
        self
    }

    /// Whether all of these are to be authenticated when sent to this end.
    pub(crate) fn wants(&self, kinds: &[ChunkType]) -> bool {
        kinds.iter().all(|kind| self.wanted().contains(*kind))
    }

    /// The chunks that are to be authenticated when sent to this end.
    pub(super) fn wanted(&self) -> ChunkSet {
        ChunkSet::of(self.chunks.as_deref().unwrap_or_default())
    }

    /// Whether this end takes HMACs of that kind.
    pub(super) fn takes(&self, algorithm: HmacIdentifier) -> bool {
        self.algorithms.contains(&algorithm)
    }

    //= RFC 4895 3.3-1 6.1-6
    /// The algorithm that the peer of this end authenticates with: "the first listed algorithm it supports".
    pub(super) fn preferred(&self) -> HmacAlgorithm {
        self.algorithms
            .iter()
            .find_map(|one| HmacAlgorithm::of(*one))
            .unwrap_or(HmacAlgorithm::Sha1)
    }

    /// Appends itself to a State Cookie.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.random);
        let chunks = self.chunks.as_deref();
        let count = chunks.map_or(u16::MAX, |chunks| chunks.len() as u16);
        bytes.extend(count.to_be_bytes());
        bytes.extend(chunks.unwrap_or_default());
        bytes.push(self.algorithms.len() as u8);
        bytes.extend(self.algorithms.iter().flat_map(|one| one.0.to_be_bytes()));
    }

    /// The inverse of [`encode`](Self::encode); also what follows.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Offer, &[u8])> {
        let (random, rest) = bytes.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let (chunks, rest) = match u16::from_be_bytes(*count) {
            u16::MAX => (None, rest),
            count => {
                let (chunks, rest) = rest.split_at_checked(count.into())?;
                (Some(chunks.to_vec()), rest)
            }
        };
        let (count, rest) = rest.split_first()?;
        let (list, rest) = rest.split_at_checked(2 * usize::from(*count))?;
        let (numbers, _) = list.as_chunks();
        let algorithms = numbers.iter().map(|n| HmacIdentifier(u16::from_be_bytes(*n))).collect();
        Some((Offer { random: *random, chunks, algorithms }, rest))
    }

    /// Bytes of memory beside its own.
    pub(super) fn memory(&self) -> usize {
        self.chunks.as_ref().map_or(0, Vec::len) + 2 * self.algorithms.len()
    }
}

/// Reads the offer of a peer, parameter by parameter. What is wrong is only told once it is known that this end
/// authenticates: otherwise the parameters are as good as unknown.
#[derive(Debug, Default)]
pub(crate) struct OfferReader {
    random: Option<[u8; RANDOM_LEN]>,
    chunks: Option<Vec<u8>>,
    algorithms: Option<Vec<HmacIdentifier>>,
    wrong: Option<&'static str>,
}

impl OfferReader {
    /// Takes a parameter; `false` if it is none of these.
    pub(crate) fn take(&mut self, raw: RawParameter<'_>) -> bool {
        use ParameterType as P;
        if !matches!(raw.parameter_type, P::RANDOM | P::CHUNK_LIST | P::HMAC_ALGO) {
            return false;
        }
        if let Err(wrong) = self.read(raw) {
            self.wrong.get_or_insert(wrong);
        }
        true
    }

    //= RFC 4895 6.1-3
    fn read(&mut self, raw: RawParameter<'_>) -> Result<(), &'static str> {
        let again = match Parameter::parse(raw) {
            Ok(Parameter::Random(number)) => {
                // §6.1: "If the Random Number is not 32 bytes, the association MUST be aborted."
                let number = number.try_into().map_err(|_| "RANDOM is not of 32 bytes")?;
                self.random.replace(number).is_some()
            }
            Ok(Parameter::ChunkList(types)) => {
                if types.len() > MAX_CHUNKS {
                    return Err("CHUNKS is too long");
                }
                self.chunks.replace(types.to_vec()).is_some()
            }
            Ok(Parameter::HmacAlgo(list)) => {
                if !list.contains(&HmacIdentifier::SHA_1) {
                    return Err("HMAC-ALGO is without SHA-1");
                }
                if list.len() > MAX_ALGORITHMS {
                    return Err("HMAC-ALGO is too long");
                }
                self.algorithms.replace(list.iter().collect()).is_some()
            }
            _ => return Err("HMAC-ALGO is malformed"),
        };
        if again { Err("a parameter of authentication came twice") } else { Ok(()) }
    }

    /// The offer; `None` if there was none or not all of it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn finish(self) -> Result<Option<Offer>, &'static str> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let OfferReader { random, chunks, algorithms, .. } = self;
        Ok(random.zip(algorithms).map(|(random, algorithms)| Offer { random, chunks, algorithms }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_wire::{ChunkType, Parameters};

    fn offer(chunks: &[u8], first: u8) -> Offer {
        let mut random = [7; RANDOM_LEN];
        random[0] = first;
        let chunks = Some(chunks.to_vec()).filter(|chunks| !chunks.is_empty());
        Offer { random, chunks, algorithms: vec![HmacIdentifier::SHA_256, HmacIdentifier::SHA_1] }
    }

    fn read(list: &[u8]) -> Result<Option<Offer>, &'static str> {
        let mut reader = OfferReader::default();
        for raw in Parameters::new(list).iter() {
            reader.take(raw.unwrap());
        }
        reader.finish()
    }

    //= RFC 4895 3.1-4 3.2-4 3.3-5 6.1-1 6.1-2 6.1-5
    #[test]
    fn an_offer_is_written_and_read() {
        for chunks in [&[][..], &[0], &[0, 0xc1, 0x80]] {
            let offer = offer(chunks, 1);
            let mut writer = ParameterWriter::new();
            offer.write(&mut writer);
            let list = writer.finish();
            let types: Vec<_> =
                Parameters::new(&list).iter().map(|raw| raw.unwrap().parameter_type).collect();
            let expected =
                [ParameterType::RANDOM, ParameterType::CHUNK_LIST, ParameterType::HMAC_ALGO];
            let expected: Vec<_> = expected
                .into_iter()
                .filter(|kind| !chunks.is_empty() || *kind != ParameterType::CHUNK_LIST)
                .collect();
            assert_eq!(types, expected);
            assert_eq!(read(&list), Ok(Some(offer.clone())));
            let mut bytes = Vec::new();
            offer.encode(&mut bytes);
            bytes.push(99);
            assert_eq!(Offer::decode(&bytes), Some((offer, &[99][..])));
            for cut in 0..bytes.len() - 1 {
                assert_eq!(Offer::decode(&bytes[..cut]), None);
            }
        }
    }

    //= RFC 4895 3.2-5 3.3-1 6.1-2 6.1-6 6.1-7
    #[test]
    fn an_offer_has_what_it_must_have_whatever_is_set() {
        let settings = Authentication {
            chunks: vec![ChunkType::INIT, ChunkType::DATA, ChunkType::AUTH, ChunkType::DATA],
            algorithms: vec![HmacIdentifier(2), HmacIdentifier::SHA_256],
            ..Authentication::default()
        };
        let mut rng = Rng::from_seed([1; 32]);
        let offer = Offer::new(&settings, &mut rng);
        assert_eq!(offer.chunks, Some(vec![0]));
        assert_eq!(offer.algorithms, [HmacIdentifier::SHA_256, HmacIdentifier::SHA_1]);
        assert_ne!(offer.random, Offer::new(&settings, &mut rng).random);
        assert_eq!(offer.preferred(), HmacAlgorithm::Sha256);
    }

    //= RFC 4895 6.1-3
    #[test]
    fn a_wrong_offer_is_refused() {
        let with = |write: fn(&mut ParameterWriter)| {
            let mut writer = ParameterWriter::new();
            write(&mut writer);
            read(&writer.finish())
        };
        let both = [HmacIdentifier::SHA_1, HmacIdentifier::SHA_256];
        assert_eq!(with(|_| {}), Ok(None));
        assert_eq!(with(|w| drop(w.random(&[0; 32]).finish())), Ok(None));
        assert!(with(|w| _ = w.random(&[0; 31])).unwrap_err().contains("32 bytes"));
        assert!(with(|w| _ = w.random(&[0; 64])).unwrap_err().contains("32 bytes"));
        assert!(with(|w| _ = w.random(&[0; 32]).random(&[1; 32])).unwrap_err().contains("twice"));
        assert!(with(|w| _ = w.chunk_list(&[0]).chunk_list(&[0])).unwrap_err().contains("twice"));
        assert!(with(|w| _ = w.chunk_list(&[0; 257])).unwrap_err().contains("too long"));
        assert_eq!(with(|w| _ = w.chunk_list(&[0; 256])), Ok(None));
        let without = with(|w| _ = w.hmac_algo(&[HmacIdentifier::SHA_256]));
        assert!(without.unwrap_err().contains("without SHA-1"));
        assert!(with(|w| _ = w.hmac_algo(&[])).unwrap_err().contains("without SHA-1"));
        assert!(with(|w| _ = w.hmac_algo(&[HmacIdentifier::SHA_1; 17])).is_err());
        assert!(with(|w| _ = w.raw(ParameterType::HMAC_ALGO, &[0, 1, 0])).is_err());
        let mut writer = ParameterWriter::new();
        writer.hmac_algo(&both).random(&[3; 32]);
        let read = read(&writer.finish()).unwrap().unwrap();
        assert_eq!((read.preferred(), read.chunks), (HmacAlgorithm::Sha1, None));
    }

    //= RFC 4895 6.1-9
    #[test]
    fn keys_are_made_of_both_vectors_in_their_numerical_order() {
        let (small, large) = (offer(&[0], 1), offer(&[0], 2));
        let vector = |first: u8| {
            let mut vector = vec![0x80, 2, 0, 36, first];
            vector.extend([7; 31]);
            vector.extend([0x80, 3, 0, 5, 0, 0x80, 4, 0, 8, 0, 3, 0, 1]);
            vector
        };
        let expected = [&b"key"[..], &vector(1), &vector(2)].concat();
        assert_eq!(small.association_key(&large, b"key"), expected);
        assert_eq!(large.association_key(&small, b"key"), expected);
        // A longer vector is the larger number, for each begins with the same bit set.
        let (longer, shorter) = (offer(&[0, 1], 1), offer(&[0], 9));
        let key = longer.association_key(&shorter, b"");
        assert_eq!(key, shorter.association_key(&longer, b""));
        assert_eq!(key, [shorter.vector(), longer.vector()].concat());
        assert_eq!(small.association_key(&small, b""), [vector(1), vector(1)].concat());
    }
}
