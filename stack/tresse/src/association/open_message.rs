//! A message that is given in pieces (SCTP_EXPLICIT_EOR).

use bytes::Bytes;
use tresse_core::SendOptions;
use tresse_wire::StreamId;

use super::Association;
use crate::error::{Closed, SendError};

/// A message to which pieces are appended until it is sent (SCTP_EXPLICIT_EOR, RFC 6458 §8.1.26): see
/// [`Association::begin_message`]. It holds its association open as a clone of it does. Dropped, nothing of it is sent.
#[derive(Debug)]
pub struct OpenMessage {
    association: Association,
    stream: StreamId,
    options: SendOptions,
    gathered: Vec<u8>,
}

impl Association {
    /// Begins a message whose data come in pieces: it is queued as one by [`send`](OpenMessage::send) or
    /// [`try_send`](OpenMessage::try_send). A message that is there as a whole is better given to
    /// [`send_with`](Self::send_with), which copies none of it. Any number may be begun at a time, also on one stream: their
    /// order is that in which they end.
    ///
    /// The pieces are gathered here, and nothing leaves before the end, as with the sockets API. On the wire a message that has
    /// begun holds up all others of its stream, and with DATA chunks those of every stream, since its TSNs follow each
    /// other (RFC 9260 §6.9): they would wait for this program. And the send buffer takes a message, or has no room for it; it
    /// never holds half of one, which would have to be abandoned at the peer if the end never came. The price is
    /// memory beside the send buffer: of each message what there is of it, and as much again while it grows, up to
    /// [`max_message_size`](crate::AssociationConfig::max_message_size).
    ///
    /// ```
    /// use tresse::{Config, Endpoint, Ppid, SendOptions};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = Endpoint::bind(Config::server("127.0.0.1:0".parse()?, 5001))?;
    /// # let client = Endpoint::bind(Config::client("127.0.0.1:0".parse()?))?;
    /// # let (ours, theirs) = tokio::join!(client.connect((server.local_addr(), 5001)), server.accept());
    /// # let (association, peer) = (ours?, theirs?);
    /// let options = SendOptions { ppid: Ppid(51), ..SendOptions::default() };
    /// let mut message = association.begin_message(0, options);
    /// message.append("one, ")?;
    /// message.append(b"two")?;
    /// message.send().await?;
    /// assert_eq!(peer.recv().await?.payload, "one, two");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn begin_message(&self, stream: impl Into<StreamId>, options: SendOptions) -> OpenMessage {
        let (association, stream) = (self.clone(), stream.into());
        OpenMessage { association, stream, options, gathered: Vec::new() }
    }

    /// The longest message that may be sent, in bytes.
    fn max_message_size(&self) -> Result<usize, SendError> {
        let (id, state) = (self.inner.id, self.inner.shared.lock());
        if let Some(closed) = state.closed(id) {
            return Err(SendError::Closed(closed));
        }
        let config = state.core.config(id).ok_or_else(|| SendError::Closed(Closed::unknown()))?;
        Ok(config.max_message_size)
    }
}

impl OpenMessage {
    /// Appends a piece, which may be empty.
    ///
    /// # Errors
    /// Nothing of the piece is taken then. [`SendError::TooLarge`] if the message would be longer than
    /// [`max_message_size`](crate::AssociationConfig::max_message_size) of the association: what was appended before
    /// may still be sent. [`SendError::Closed`] when the association has ended.
    pub fn append(&mut self, piece: impl AsRef<[u8]>) -> Result<(), SendError> {
        let (piece, limit) = (piece.as_ref(), self.association.max_message_size()?);
        let size = self.gathered.len() + piece.len();
        if size > limit {
            return Err(SendError::TooLarge { size, limit });
        }
        self.gathered.extend_from_slice(piece);
        Ok(())
    }

    /// Bytes appended so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.gathered.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gathered.is_empty()
    }

    /// Ends the message and sends it, as [`Association::send_with`] does.
    ///
    /// # Errors
    /// As there: also [`SendError::Empty`] if nothing was appended.
    pub async fn send(mut self) -> Result<(), SendError> {
        let payload = self.whole();
        self.association.send_with(self.stream, payload, self.options).await
    }

    /// Ends the message and sends it if there is room now. Then this is empty, and what is appended is another message, of
    /// the same stream and options.
    ///
    /// # Errors
    /// As [`Association::try_send_with`]; all is here as before, to be tried again.
    pub fn try_send(&mut self) -> Result<(), SendError> {
        let payload = self.whole();
        let sent = self.association.try_send_with(self.stream, payload.clone(), self.options);
        if sent.is_err() {
            self.gathered = payload.into();
        }
        sent
    }

    /// Takes what was gathered, without unused memory behind it, which no send buffer would count.
    fn whole(&mut self) -> Bytes {
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.shrink_to_fit();
        gathered.into()
    }
}
