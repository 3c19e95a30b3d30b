//! Worlds that are harmed today, and those that once were.

/// A world, how it is harmed, and what makes the difference.
type Known = (u64, &'static str, &'static str);

/// Of worlds 0 to 1999: told, but no failure as long as nothing else happens to them.
pub(crate) const KNOWN: [Known; 4] = [
    (102, "given up", GIVEN_UP),
    (159, "late", CHANCE),
    (1646, "slow", SSTHRESH),
    (1799, "slow", SSTHRESH),
];

/// Of worlds 0 to 59 over UDP and IPv6.
pub(crate) const CARRIED: [Known; 1] = [(47, "late", WHOLE)];

/// Of worlds 0 to 599 with data both ways, AUTH and I-DATA.
pub(crate) const DRESSED: [Known; 5] = [
    (0, "late", CHANCE),
    (110, "late", CHANCE),
    (368, "given up", SMALL),
    (373, "given up", SMALL),
    (516, "given up", GIVEN_UP),
];

/// Of worlds with data both ways, AUTH and I-DATA.
pub(crate) const MENDED_DRESSED: [(u64, &str); 2] = [
    (
        129,
        "the window that a large packet's loss had closed hid for half a minute that it was too large",
    ),
    (174, LOWERED),
];

const LOWERED: &str = "T3-rtx lowered ssthresh where packets were lost for their size";

const CHANCE: &str = "T3-rtx expired, by chance";

const WHOLE: &str = "nobody fragments UDP datagrams over IPv6 (RFC 8200 section 4.5): what was made for a larger path MTU passes as soon as \
     the path takes it again";

const SMALL: &str =
    "windows that count in MTUs begin at 1280, and a message takes one round trip more";

const GIVEN_UP: &str = "what is given up in flight does not open the window (RFC 3758 section 3.5 A2), and all that waits is old";

const SSTHRESH: &str = "fast recovery lowered ssthresh at the beginning, where packets were lost for their size, and T3-rtx after others had \
     arrived";

/// What was wrong in them.
pub(crate) const MENDED: [(u64, &str); 15] = [
    (36, "the answer to a probe did not bring what waited for a doubled timer"),
    (89, "what had become too large waited for a doubled timer"),
    (155, LOWERED),
    (
        257,
        "packets smaller than the base were not doubted while larger ones were known to get through",
    ),
    (
        318,
        "SACKs were larger than the path, which had become narrow since the peer had searched it",
    ),
    (320, "with another source what was lost was forgotten, at each expiration of T3-rtx"),
    (369, "bundles were lost, and smaller packets got through"),
    (
        440,
        "what was found to be too large waited behind F-RTO, which waited for an answer to it, for half a minute",
    ),
    (552, "sources alternated faster than probes were counted"),
    (591, LOWERED),
    (738, "what was given up in flight, again and again, was never doubted"),
    (774, "the same"),
    (1156, "SACKs were larger than the path, which only the peer knew to be narrow"),
    (1205, "bundles that ICMP told to be too large waited for T3-rtx"),
    (1286, "what was found to be too large had just left, and waited for a doubled timer"),
];
