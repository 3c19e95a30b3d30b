//! Errors of the operations an application calls. A peer's fault is never one of these: it is
//! answered or counted as RFC 9260 says, and reported as an [`Event`](crate::Event).

use std::net::IpAddr;

use thiserror::Error;

/// Why this end did not open an association ([`Endpoint::connect`](crate::Endpoint::connect)), or a port
/// ([`Endpoint::open_port`](crate::Endpoint::open_port)): no packet has left.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotOpened {
    /// The list of peer addresses was empty.
    #[error("no peer address was given")]
    NoAddress,
    /// An address of the peer is that of a group, of a whole network or of nobody, such as 224.0.0.1 or 0.0.0.0: what comes
    /// from such is not answered (RFC 9260 §8.4).
    #[error("{0} is no unicast address, and an SCTP peer has no others")]
    NotUnicast(IpAddr),
    /// The peer's SCTP port was 0, which RFC 9260 §3.1 forbids.
    #[error("SCTP port 0 cannot be used")]
    ZeroPort,
    /// An association with one of these addresses and this port exists (RFC 9260 §11.1.2).
    #[error("an association with this peer exists already")]
    Exists,
    /// The endpoint has as many associations as [`max_associations`](crate::EndpointConfig::max_associations) allows.
    #[error("the endpoint has its maximum number of associations")]
    TooManyAssociations,
    /// Seven eighths of the endpoint's memory are used up.
    #[error("the endpoint has no memory for another association")]
    OutOfMemory,
    /// A setting is outside its range.
    #[error("unusable setting: {0}")]
    Config(String),
}

/// The association is unknown or gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no such association")]
pub struct NoAssociation;

/// Why a message was not accepted for sending. `Gone` says why there is no association to send it: of the library `tresse`, how
/// that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendError<Gone = NoAssociation> {
    /// The association has ended.
    #[error(transparent)]
    Closed(#[from] Gone),
    /// The send buffer is full: [`Event::Writable`](crate::Event::Writable) tells when there is room. Of the library `tresse`,
    /// an error of `try_send` only.
    #[error("the send buffer is full")]
    WouldBlock,
    /// The association is shutting down (RFC 9260 §9.2: no new data is accepted).
    #[error("the association is shutting down")]
    ShuttingDown,
    /// The stream number is not below the number of negotiated outbound streams.
    #[error("stream {stream} does not exist: there are {streams} outbound streams")]
    NoStream {
        /// The stream asked for.
        stream: u16,
        /// How many outbound streams there are.
        streams: u16,
    },
    /// The message is empty (RFC 9260 §6.2: a DATA chunk always carries user data).
    #[error("an empty message cannot be sent")]
    Empty,
    /// The message is longer than [`max_message_size`](crate::AssociationConfig::max_message_size), or needs
    /// fragmentation, which is off.
    #[error("the message has {size} bytes; the limit is {limit}")]
    TooLarge {
        /// Bytes of the message.
        size: usize,
        /// The limit that it exceeds.
        limit: usize,
    },
    /// [`SendOptions::key`](crate::SendOptions::key) is not there, or was deactivated.
    #[error("there is no shared key {key} to authenticate with")]
    NoKey {
        /// Its number.
        key: u16,
    },
    /// [`SendOptions::destination`](crate::SendOptions::destination) is no address of the peer.
    #[error("{address} is no address of the peer")]
    NoAddress {
        /// The address.
        address: IpAddr,
    },
}

impl<Gone> SendError<Gone> {
    /// This error, in which `closed` says again why there is no association ([`Closed`](Self::Closed)).
    pub fn map_closed<T>(self, closed: impl FnOnce(Gone) -> T) -> SendError<T> {
        match self {
            SendError::Closed(gone) => SendError::Closed(closed(gone)),
            SendError::WouldBlock => SendError::WouldBlock,
            SendError::ShuttingDown => SendError::ShuttingDown,
            SendError::NoStream { stream, streams } => SendError::NoStream { stream, streams },
            SendError::Empty => SendError::Empty,
            SendError::TooLarge { size, limit } => SendError::TooLarge { size, limit },
            SendError::NoKey { key } => SendError::NoKey { key },
            SendError::NoAddress { address } => SendError::NoAddress { address },
        }
    }
}

/// Why an operation on an association was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AssociationError {
    /// The association is unknown or gone.
    #[error("no such association")]
    NoAssociation,
    /// The path number is unknown.
    #[error("no such path")]
    NoPath,
    /// The operation does not fit the state (for example a path not yet confirmed, RFC 9260 §5.4).
    #[error("not possible in this state: {0}")]
    WrongState(&'static str),
    /// The stream number is not below the number of outbound streams.
    #[error("there is no such outbound stream")]
    NoStream,
    /// A setting is outside its range.
    #[error("{0}")]
    Config(String),
}

/// Why streams cannot be changed (RFC 6525).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReconfigurationError {
    /// The association is unknown or gone.
    #[error("no such association")]
    NoAssociation,
    /// It is being set up.
    #[error("the association is not established yet")]
    NotEstablished,
    /// It is shutting down.
    #[error("the association is shutting down")]
    ShuttingDown,
    /// The peer, or this end, does not offer the extension.
    #[error("stream reconfiguration is not supported by the peer, or switched off here")]
    NotSupported,
    /// Another request is under way, of this end or of the peer; its event tells when to try again.
    #[error("another change of streams is in progress")]
    InProgress,
    /// A stream does not exist.
    #[error("stream {stream} does not exist: there are {streams} in this direction")]
    NoStream {
        /// The stream asked for.
        stream: u16,
        /// How many there are.
        streams: u16,
    },
    /// The list does not fit one packet, or there would be more streams than 65 535, or more incoming ones than
    /// [`inbound_streams`](crate::AssociationConfig::inbound_streams).
    #[error("at most {limit} streams are possible")]
    TooManyStreams {
        /// How many are possible.
        limit: usize,
    },
    /// No streams were asked for.
    #[error("no streams are to be added")]
    Nothing,
    /// That was asked for less than 30 seconds ago, whatever the answer was (RFC 6525 §5.1.4).
    #[error("the reset of an association may be asked for once in 30 seconds")]
    TooSoon,
}

/// Why the peer is not asked to change an address of ours (RFC 5061).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The association is unknown or gone.
    #[error("no such association")]
    NoAssociation,
    /// It is being set up.
    #[error("the association is not established yet")]
    NotEstablished,
    /// It is shutting down.
    #[error("the association is shutting down")]
    ShuttingDown,
    /// The peer, or this end, does not offer the extension, or the peer has shown that it does not know the request.
    #[error("address reconfiguration is not supported by the peer, or switched off here")]
    NotSupported,
    /// Nothing can be sent from it to any address of the peer.
    #[error("{address} is no address that the peer could be reached from")]
    Unusable {
        /// The address.
        address: IpAddr,
    },
    /// It is part of the association, or was asked for already.
    #[error("{address} is part of the association already")]
    Known {
        /// The address.
        address: IpAddr,
    },
    /// It is not part of the association.
    #[error("{address} is not part of the association")]
    Unknown {
        /// The address.
        address: IpAddr,
    },
    /// An association has one address at least (RFC 5061 §5.3 F5).
    #[error("the last address of an association cannot be removed; add another one first")]
    Last,
    /// The peer knows it as the address of a NAT: it cannot be named, and others are to stay (RFC 6951 §5.7).
    #[error("{address} is translated by a NAT and cannot be removed while several others stay")]
    Hidden {
        /// The address.
        address: IpAddr,
    },
    /// Too many changes wait for the peer.
    #[error("too many changes of addresses wait for the peer; wait for their events")]
    TooMany,
}

/// Why a shared key was not set or changed (RFC 4895, RFC 6458 §8.3).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The association is unknown or gone.
    #[error("no such association")]
    NoAssociation,
    /// This end does not authenticate chunks, or the peer does not.
    #[error("chunks are not authenticated: switched off here, or not supported by the peer")]
    NotSupported,
    /// There is no key with this number.
    #[error("there is no shared key with number {key}")]
    Unknown {
        /// The number.
        key: u16,
    },
    /// Chunks are authenticated with it; activate another one first.
    #[error("shared key {key} is in use; activate another one first")]
    Active {
        /// Its number.
        key: u16,
    },
    /// It was deactivated: it can be deleted, or set again.
    #[error("shared key {key} was deactivated; set it again first")]
    Deactivated {
        /// Its number.
        key: u16,
    },
}
