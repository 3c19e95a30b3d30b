//! Lists of parameters whose values have not been looked at (RFC 9260 §3.2.1).

use super::ParameterType;
use crate::ChunkError;
use crate::list::List;
use crate::tlv::tlv_list;

tlv_list! {
    "parameter": Parameters, RawParameter { parameter_type: ParameterType }, RawParameters,
    PartialParameter, ParameterLength
}

/// A parameter whose framing is sound; its value has not been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawParameter<'a> {
    /// Parameter Type.
    pub parameter_type: ParameterType,
    /// Parameter Value, without header and padding.
    pub value: &'a [u8],
    /// The whole parameter with its header, without padding: what is reported if it is unknown.
    pub bytes: &'a [u8],
}

impl RawParameter<'_> {
    pub(super) const fn invalid(&self) -> ChunkError {
        ChunkError::InvalidParameter {
            parameter_type: self.parameter_type,
            length: self.bytes.len(),
        }
    }
}

/// Parameter types: the value of a Supported Address Types parameter and of a Missing Mandatory Parameter error
/// cause.
pub type ParameterTypes<'a> = List<'a, u16>;
