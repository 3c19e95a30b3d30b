//! A COOKIE ECHO that is to be authenticated (RFC 4895 §6.3).

use tresse_wire::{Auth, Chunk, ChunkType, Packet};

use super::cookie::Cookie;
use super::desk::Desk;
use crate::association::Association;
use crate::auth::{AuthVerdict, Guard};
use crate::ids::AssociationId;

//= RFC 4895 6.3-8 6.3-9 6.3-10
/// Whether a packet with this COOKIE ECHO is taken, and then whether it was found to be authentic; `None` if it is
/// discarded.
///
/// RFC 4895 §6.3: an association that exists judges with its own keys; where there is none, the cookie has what
/// they are made of. So it is with one that is being set up: whose Random Number counts after a collision, the
/// cookie says, as it does of the tag (§6.1).
pub(super) fn admits_echo(
    cx: &mut Desk<'_>,
    packet: &Packet<'_>,
    cookie: &Cookie,
    known: Option<AssociationId>,
) -> Option<bool> {
    let first = packet.chunks().next()?.ok()?;
    let auth = (first.chunk_type == ChunkType::AUTH).then(|| Chunk::parse(first));
    let auth = match auth {
        None => None,
        Some(Ok(Chunk::Auth(auth))) => Some(auth),
        Some(_) => {
            cx.stats.unauthenticated_cookies += 1;
            return None;
        }
    };
    let association = known.and_then(|id| cx.roll.get_mut(id));
    let judged = match association.filter(|a| a.is_settled()) {
        Some(a) => judge_echo(a, auth.as_ref(), packet),
        None => judge_first_echo(cx, auth.as_ref(), packet, cookie, known),
    };
    if judged.is_none() {
        cx.stats.unauthenticated_cookies += 1;
    }
    judged
}

fn judge_first_echo(
    cx: &Desk<'_>,
    auth: Option<&Auth<'_>>,
    packet: &Packet<'_>,
    cookie: &Cookie,
    known: Option<AssociationId>,
) -> Option<bool> {
    let offers = cookie.offer.as_ref().zip(cookie.peer.offer.as_ref());
    let Some((ours, theirs)) = offers else {
        // RFC 4895 §5: who does not authenticate discards what follows an AUTH chunk.
        return auth.is_none().then_some(false);
    };
    let mut guard = Guard::new(ours, theirs);
    let Some(auth) = auth else {
        return (!guard.requires(ChunkType::COOKIE_ECHO)).then_some(false);
    };
    let own = known.and_then(|id| cx.roll.get(id)?.authenticator().shared_keys());
    let of_port = || Some(&cx.ports.get(cookie.local_port)?.association.authentication.keys);
    let keys = own.or_else(of_port)?;
    let verdict = guard.judge(keys, auth, behind_first(packet));
    (verdict == AuthVerdict::Authentic).then_some(true)
}

/// The bytes behind the first chunk of a packet.
fn behind_first<'a>(packet: &Packet<'a>) -> &'a [u8] {
    let mut chunks = packet.chunks();
    chunks.next();
    chunks.rest()
}

/// As [`admits_echo`], with the keys of an association.
fn judge_echo(
    association: &mut Association,
    auth: Option<&Auth<'_>>,
    packet: &Packet<'_>,
) -> Option<bool> {
    let authenticator = association.authenticator();
    if !authenticator.is_guarded() {
        return auth.is_none().then_some(false);
    }
    match auth {
        None => (!authenticator.requires(ChunkType::COOKIE_ECHO)).then_some(false),
        Some(auth) => (association.judge(auth, behind_first(packet)) == AuthVerdict::Authentic)
            .then_some(true),
    }
}
