//! Authenticated chunks (RFC 4895): an AUTH chunk shows that what follows it in its packet comes from somebody who
//! knows the association shared key.
//!
//! Each end says in INIT or INIT ACK what it asks for ([`offer`]). From both offers and a secret that both know, if
//! there is one ([`keys`]), comes the key of an association, and with it HMACs ([`mac`]). The [`guard`] of an
//! association writes AUTH chunks and judges those of the peer; what follows from that is `association/authentication.rs`.

mod chunk_set;
mod guard;
mod keys;
mod mac;
mod offer;
mod settings;

pub use keys::SharedKeys;
pub use settings::Authentication;

pub(crate) use guard::{AuthVerdict, Guard};
pub(crate) use offer::{Offer, OfferReader};
