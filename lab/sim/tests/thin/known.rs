//! Worlds that are harmed today, and by what: played and told, but no failure (`docs/harm.md`).

/// Of worlds 0 to 2499, each with what makes the difference.
const KNOWN: [(u64, &str); 18] = [
    (2, "RACK"),
    (292, "a queue that the peer's delay of a SACK may explain"),
    (422, "not found"),
    (424, "not found"),
    (538, "the response to spurious timeouts"),
    (656, "timers"),
    (758, "timers"),
    (1004, "SACKs that are asked for"),
    (1071, "not found"),
    (1076, "the response to spurious timeouts"),
    (1282, "the window after a retransmission is lost"),
    (1503, "SACKs that are asked for"),
    (1738, "not found"),
    (2216, "in part the window after a retransmission is lost"),
    (2365, "timers"),
    (2374, "not found"),
    (2428, "not found"),
    (2464, "not found"),
];

/// What harms a world, if that is known.
pub(crate) fn cause(seed: u64) -> Option<&'static str> {
    KNOWN.iter().find(|(known, _)| *known == seed).map(|(_, cause)| *cause)
}

/// The same of strange worlds 0 to 599.
const KNOWN_STRANGE: [(u64, &str); 10] = [
    (18, "data leaves a path at its first timeout"),
    (203, "RACK waits for what is late"),
    (354, "not found"),
    (375, "not found"),
    (385, "not found"),
    (451, "not found"),
    (468, "not found"),
    (580, "not found"),
    (596, "not found"),
    (598, "not found"),
];

/// What harms a strange world, if that is known.
pub(crate) fn strange_cause(seed: u64) -> Option<&'static str> {
    KNOWN_STRANGE.iter().find(|(known, _)| *known == seed).map(|(_, cause)| *cause)
}
