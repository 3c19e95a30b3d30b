//! An association in two: for a task that sends and one that receives.

use bytes::Bytes;
use tresse_core::{ReceivedMessage, SendOptions};
use tresse_wire::StreamId;

use super::Association;
use crate::error::{Closed, SendError};

/// What sends, of [`Association::split`].
#[derive(Debug)]
pub struct SendHalf(pub(crate) Association);

/// What receives, of [`Association::split`].
#[derive(Debug)]
pub struct RecvHalf(pub(crate) Association);

impl Association {
    /// A half that sends and one that receives, for two tasks. They are the same association: it is shut down when
    /// both are gone, and every clone of it.
    #[must_use]
    pub fn split(self) -> (SendHalf, RecvHalf) {
        (SendHalf(self.clone()), RecvHalf(self))
    }
}

impl SendHalf {
    /// See [`Association::send`].
    ///
    /// # Errors
    /// As there.
    pub async fn send(
        &self,
        stream: impl Into<StreamId>,
        data: impl Into<Bytes>,
    ) -> Result<(), SendError> {
        self.0.send(stream, data).await
    }

    /// See [`Association::send_with`].
    ///
    /// # Errors
    /// As there.
    pub async fn send_with(
        &self,
        stream: impl Into<StreamId>,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<(), SendError> {
        self.0.send_with(stream, data, options).await
    }

    /// See [`Association::shutdown`]. It ends the association, not this direction alone: SCTP has no half-closed state
    /// (RFC 9260 §1.3). Until it is over the other half receives what the peer had sent.
    ///
    /// # Errors
    /// As there.
    pub async fn shutdown(self) -> Result<(), Closed> {
        self.0.shutdown().await
    }

    /// The association, for all else.
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.0
    }
}

impl RecvHalf {
    /// See [`Association::recv`].
    ///
    /// # Errors
    /// As there.
    pub async fn recv(&mut self) -> Result<ReceivedMessage, Closed> {
        self.0.recv().await
    }

    /// See [`Association::try_recv`].
    ///
    /// # Errors
    /// As there.
    pub fn try_recv(&mut self) -> Result<Option<ReceivedMessage>, Closed> {
        self.0.try_recv()
    }

    /// The association, for all else.
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.0
    }
}
