//! Parameters of ASCONF and ASCONF-ACK chunks (RFC 5061 §4.2): requests to change addresses, and responses.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Type = 0xC001          |    Length = Variable          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |               ASCONF-Request Correlation ID                   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       Address Parameter                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! Type = 0xC002 and 0xC004: the same
//! Type = 0xC003: ASCONF-Response Correlation ID, Error Causes
//! Type = 0xC005: ASCONF-Response Correlation ID
//! ```

use std::net::IpAddr;

use crate::{Causes, ParameterType, Parameters, RawParameter};

/// A request of an ASCONF chunk: to add (RFC 5061 §4.2.1) or delete (§4.2.2) an address of the sender, or to make one
/// the primary destination (§4.2.4). With 0.0.0.0 or :: it is about the source address of the packet: that is added or
/// made the primary one, or all others are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressRequest {
    /// ASCONF-Request Correlation ID: a response has the same.
    pub correlation: u32,
    /// The address.
    pub address: IpAddr,
}

impl AddressRequest {
    /// `None` if there is anything but a correlation and one address.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let (correlation, list) = value.split_first_chunk()?;
        let mut parameters = Parameters::new(list).iter();
        let address = address(parameters.next()?.ok()?)?;
        let correlation = u32::from_be_bytes(*correlation);
        parameters.next().is_none().then_some(Self { correlation, address })
    }

    pub(super) fn value(&self) -> Vec<u8> {
        let mut value = self.correlation.to_be_bytes().to_vec();
        push_address(&mut value, self.address);
        value
    }
}

/// Error Cause Indication (RFC 5061 §4.2.3): why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorIndication<'a> {
    /// ASCONF-Response Correlation ID: that of the request.
    pub correlation: u32,
    /// The causes, each of them framed soundly.
    pub causes: Causes<'a>,
}

impl<'a> ErrorIndication<'a> {
    pub(super) fn parse(value: &'a [u8]) -> Option<Self> {
        let (correlation, list) = value.split_first_chunk()?;
        let causes = Causes::new(list);
        causes.check().ok()?;
        Some(Self { correlation: u32::from_be_bytes(*correlation), causes })
    }
}

/// The address of an address parameter (RFC 9260 §3.3.2.1), `None` if it is anything else. Other types are not even looked
/// at: one request inside another, again and again, is not followed.
pub(crate) fn address(raw: RawParameter<'_>) -> Option<IpAddr> {
    match raw.parameter_type {
        ParameterType::IPV4_ADDRESS => <[u8; 4]>::try_from(raw.value).ok().map(IpAddr::from),
        ParameterType::IPV6_ADDRESS => <[u8; 16]>::try_from(raw.value).ok().map(IpAddr::from),
        _ => None,
    }
}

/// Appends an address parameter (RFC 9260 §3.3.2.1). An IPv4-mapped address, which is forbidden there, is written as the
/// IPv4 address that it stands for.
pub(crate) fn push_address(list: &mut Vec<u8>, address: IpAddr) {
    let ([k0, k1], length) = match address.to_canonical() {
        IpAddr::V4(_) => (ParameterType::IPV4_ADDRESS.0.to_be_bytes(), 8),
        IpAddr::V6(_) => (ParameterType::IPV6_ADDRESS.0.to_be_bytes(), 20),
    };
    list.extend([k0, k1, 0, length]);
    match address.to_canonical() {
        IpAddr::V4(address) => list.extend(address.octets()),
        IpAddr::V6(address) => list.extend(address.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CauseWriter, Parameter, ParameterWriter, UnknownAction};

    #[test]
    fn requests_read_and_write_their_bytes() {
        let v4 = AddressRequest { correlation: 0x0102_3476, address: [192, 0, 2, 1].into() };
        let v6 = AddressRequest { address: "2001:db8::7".parse().unwrap(), ..v4 };
        let list = ParameterWriter::new()
            .add_ip_address(v6)
            .delete_ip_address(v4)
            .set_primary_address(v4)
            .finish();
        assert_eq!(list[..8], [0xc0, 1, 0, 28, 1, 2, 0x34, 0x76]);
        assert_eq!(list[28..36], [0xc0, 2, 0, 16, 1, 2, 0x34, 0x76]);
        assert_eq!(list[36..44], [0, 5, 0, 8, 192, 0, 2, 1]);
        assert_eq!(list[44..46], [0xc0, 4]);
        let parsed: Result<Vec<_>, _> = Parameters::new(&list).parsed().collect();
        let expected = vec![
            Parameter::AddIpAddress(v6),
            Parameter::DeleteIpAddress(v4),
            Parameter::SetPrimaryAddress(v4),
        ];
        assert_eq!(parsed, Ok(expected));
    }

    #[test]
    fn responses_read_and_write_their_bytes() {
        // The example of RFC 5061 §4.3.1.
        let request = [0xc0, 2, 0, 16, 1, 2, 0x34, 0x76, 0, 5, 0, 8, 192, 0, 2, 1];
        let causes = CauseWriter::new().request_to_delete_last_address(&request).finish();
        let list = ParameterWriter::new()
            .error_cause_indication(0x0102_3476, &causes)
            .success_indication(5)
            .finish();
        assert_eq!(list[..12], [0xc0, 3, 0, 28, 1, 2, 0x34, 0x76, 0, 0xa0, 0, 20]);
        assert_eq!(list[12..28], request);
        assert_eq!(list[28..], [0xc0, 5, 0, 8, 0, 0, 0, 5]);
        let parsed: Result<Vec<_>, _> = Parameters::new(&list).parsed().collect();
        let refused = ErrorIndication { correlation: 0x0102_3476, causes: Causes::new(&causes) };
        let expected =
            vec![Parameter::ErrorCauseIndication(refused), Parameter::SuccessIndication(5)];
        assert_eq!(parsed, Ok(expected));
    }

    #[test]
    fn one_address_and_nothing_else() {
        let address = [0, 5, 0, 8, 192, 0, 2, 1];
        let value = |tail: &[u8]| [&[0, 0, 0, 9], tail].concat();
        assert!(AddressRequest::parse(&value(&address)).is_some());
        for bad in [&[][..], &address[..7], &[0, 11, 0, 6, b'x', 0, 0, 0], &[address; 2].concat()] {
            assert_eq!(AddressRequest::parse(&value(bad)), None, "{bad:?}");
        }
        assert_eq!(AddressRequest::parse(&[0, 0, 0]), None);
        assert_eq!(ErrorIndication::parse(&[0, 0, 0]), None);
        assert_eq!(ErrorIndication::parse(&[0, 0, 0, 1, 0, 0xa0, 0, 9]), None);
    }

    #[test]
    fn a_request_within_a_request_is_not_followed() {
        let mut nested = vec![0, 5, 0, 8, 192, 0, 2, 1];
        while nested.len() + 8 < usize::from(u16::MAX) {
            let [l0, l1] = u16::try_from(nested.len() + 8).unwrap().to_be_bytes();
            nested.splice(0..0, [0xc0, 1, l0, l1, 0, 0, 0, 1]);
        }
        let parsed: Vec<_> = Parameters::new(&nested).parsed().collect();
        assert!(matches!(parsed[..], [Err(_)]));
    }

    #[test]
    fn a_mapped_address_is_written_as_ipv4() {
        let mapped =
            AddressRequest { correlation: 1, address: "::ffff:192.0.2.1".parse().unwrap() };
        let list = ParameterWriter::new().add_ip_address(mapped).finish();
        assert_eq!(list[8..], [0, 5, 0, 8, 192, 0, 2, 1]);
    }

    /// RFC 5061 §5.2 V2: an error "as specified in the Parameter type bits".
    #[test]
    fn who_does_not_know_them_reports_them() {
        for number in 0xc001..=0xc006 {
            assert_eq!(ParameterType(number).unknown_action(), UnknownAction::SkipAndReport);
        }
    }
}
