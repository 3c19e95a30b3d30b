//! Address Configuration Change (ASCONF, 193) and its acknowledgement (ASCONF-ACK, 128), RFC 5061 §4.1.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Type = 0xC1   |  Chunk Flags  |      Chunk Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Sequence Number                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                    Address Parameter                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                     ASCONF Parameters                         /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! | Type = 0x80   |  Chunk Flags  |      Chunk Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                     Sequence Number                           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                 ASCONF Parameter Responses                    /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use std::net::IpAddr;

use crate::parameter::address_configuration::{address, push_address};
use crate::tlv::without_final_padding;
use crate::{AsconfNumber, ChunkError, ChunkType, ParameterType, Parameters, RawChunk};

/// An ASCONF chunk: asks the peer to change what it knows of the sender's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asconf<'a> {
    /// Sequence Number.
    pub number: AsconfNumber,
    /// Address Parameter: an address of the sender that belongs to the association, by which a receiver may find it;
    /// 0.0.0.0 or :: says nothing.
    pub address: IpAddr,
    /// The requests, each as long as it says. What cannot be read, is not known, or is not allowed here is left to the
    /// association, which answers it.
    pub requests: Parameters<'a>,
}

impl<'a> Asconf<'a> {
    //= RFC 5061 4.1.1-5 4.1.1-6
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let Some((number, list)) = raw.value.split_first_chunk() else {
            return Err(raw.invalid_length());
        };
        let number = AsconfNumber(u32::from_be_bytes(*number));
        let mut parameters = Parameters::new(list).iter();
        // RFC 5061 §4.1.1: "This parameter MUST be present in every ASCONF message, i.e. it is a mandatory TLV
        // parameter." A host name "MUST be ignored", so it is none.
        let Some(address) = parameters.next().transpose()?.and_then(address) else {
            return Err(ChunkError::MissingParameter {
                chunk_type: raw.chunk_type,
                parameter_type: ParameterType::IPV4_ADDRESS,
            });
        };
        let length = if address.is_ipv4() { 8 } else { 20 };
        let requests = Parameters::new(list.get(length..).unwrap_or_default());
        requests.iter().try_for_each(|raw| raw.map(drop))?;
        Ok(Self { number, address, requests })
    }

    /// Appends the chunk; the padding of the last parameter is not counted in the Chunk Length.
    pub(crate) fn emit(&self, buffer: &mut Vec<u8>) {
        let mut fixed = self.number.0.to_be_bytes().to_vec();
        push_address(&mut fixed, self.address);
        let requests = without_final_padding(self.requests.as_bytes());
        super::emit(buffer, ChunkType::ASCONF, 0, &fixed, requests);
    }
}

/// An ASCONF-ACK chunk: what became of the requests of an ASCONF chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AsconfAck<'a> {
    /// Sequence Number of the ASCONF chunk that it answers.
    pub number: AsconfNumber,
    /// Responses, each of them sound; none if all requests were granted.
    pub responses: Parameters<'a>,
}

impl<'a> AsconfAck<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let Some((number, list)) = raw.value.split_first_chunk() else {
            return Err(raw.invalid_length());
        };
        let responses = Parameters::new(list);
        responses.parsed().try_for_each(|parsed| parsed.map(drop))?;
        Ok(Self { number: AsconfNumber(u32::from_be_bytes(*number)), responses })
    }

    /// Appends the chunk; the padding of the last parameter is not counted in the Chunk Length.
    pub(crate) fn emit(&self, buffer: &mut Vec<u8>) {
        let responses = without_final_padding(self.responses.as_bytes());
        super::emit(buffer, ChunkType::ASCONF_ACK, 0, &self.number.0.to_be_bytes(), responses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{AddressRequest, Chunk, Parameter, ParameterWriter, UnknownAction};

    /// Sequence number 7, from 192.0.2.9: add 192.0.2.1, the example of RFC 5061 §4.2.1.
    const BYTES: [u8; 32] = [
        0xc1, 0, 0, 32, 0, 0, 0, 7, 0, 5, 0, 8, 192, 0, 2, 9, // lookup
        0xc0, 1, 0, 16, 1, 2, 0x34, 0x74, 0, 5, 0, 8, 192, 0, 2, 1,
    ];

    fn request(address: &str) -> AddressRequest {
        AddressRequest { correlation: 0x0102_3474, address: address.parse().unwrap() }
    }

    #[test]
    fn reads_and_writes_its_bytes() {
        let Ok(Chunk::Asconf(chunk)) = parse(&BYTES) else { panic!("an ASCONF chunk") };
        assert_eq!(chunk.number, AsconfNumber(7));
        assert_eq!(chunk.address, "192.0.2.9".parse::<IpAddr>().unwrap());
        let parsed: Vec<_> = chunk.requests.parsed().map(Result::unwrap).collect();
        assert_eq!(parsed, [Parameter::AddIpAddress(request("192.0.2.1"))]);
        let list = ParameterWriter::new().add_ip_address(request("192.0.2.1")).finish();
        assert_eq!(list, BYTES[16..]);
        let again = Asconf { requests: Parameters::new(&list), ..chunk };
        assert_eq!(emitted(|w| w.asconf(&again)), BYTES);

        let v6 = Asconf { address: "2001:db8::1".parse().unwrap(), ..again };
        let written = emitted(|w| w.asconf(&v6));
        assert_eq!(written.len(), 44);
        assert_eq!(parse(&written), Ok(Chunk::Asconf(v6)));
    }

    #[test]
    fn an_acknowledgement_reads_and_writes_its_bytes() {
        // RFC 5061 §4.1.2: success of all is "returning only the Chunk Type, Chunk Flags, Chunk Length (set to 8), and
        // the Sequence Number".
        let bytes = [0x80, 0, 0, 8, 0, 0, 0, 7];
        let ack = AsconfAck { number: AsconfNumber(7), responses: Parameters::default() };
        assert_eq!(parse(&bytes), Ok(Chunk::AsconfAck(ack)));
        assert_eq!(emitted(|w| w.asconf_ack(&ack)), bytes);

        let list = ParameterWriter::new().success_indication(9).finish();
        let ack = AsconfAck { responses: Parameters::new(&list), ..ack };
        let bytes = [0x80, 0, 0, 16, 0, 0, 0, 7, 0xc0, 5, 0, 8, 0, 0, 0, 9];
        assert_eq!(emitted(|w| w.asconf_ack(&ack)), bytes);
        assert_eq!(parse(&bytes), Ok(Chunk::AsconfAck(ack)));
    }

    /// RFC 5061 §4.1.1: who does not know ASCONF "MUST skip the chunk and continue processing, and report in an Operation
    /// Error Chunk"; an acknowledgement that nobody waits for goes unnoticed.
    #[test]
    fn who_does_not_know_it_reports_it() {
        assert_eq!(ChunkType::ASCONF.unknown_action(), UnknownAction::SkipAndReport);
        assert_eq!(ChunkType::ASCONF_ACK.unknown_action(), UnknownAction::Skip);
    }

    //= RFC 5061 4.1.1-5 4.1.1-6
    #[test]
    fn without_an_address_it_is_malformed() {
        let missing =
            |bytes: &[u8]| matches!(parse(bytes), Err(ChunkError::MissingParameter { .. }));
        assert!(missing(&[0xc1, 0, 0, 8, 0, 0, 0, 7]));
        // A host name, or a request, is no address.
        assert!(missing(&[0xc1, 0, 0, 14, 0, 0, 0, 7, 0, 11, 0, 6, b'x', 0]));
        assert!(missing(&[&[0xc1, 0, 0, 24, 0, 0, 0, 7], &BYTES[16..]].concat()));
        for short in [&[0xc1, 0, 0, 4][..], &[0xc1, 0, 0, 7, 0, 0, 0], &[0x80, 0, 0, 6, 0, 0]] {
            assert!(matches!(parse(short), Err(ChunkError::InvalidLength { .. })), "{short:?}");
        }
    }

    #[test]
    fn a_request_that_cannot_be_read_is_left_to_who_answers_it() {
        for (at, value) in [(19, 15), (25, 6), (25, 11), (27, 7), (27, 9)] {
            let mut bytes = BYTES;
            bytes[at] = value;
            let Ok(Chunk::Asconf(chunk)) = parse(&bytes) else { panic!("{at} {value}") };
            assert!(chunk.requests.parsed().next().unwrap().is_err(), "{at} {value}");
        }
        let mut bytes = BYTES;
        bytes[19] = 200;
        assert!(parse(&bytes).is_err(), "longer than the chunk");
    }
}
