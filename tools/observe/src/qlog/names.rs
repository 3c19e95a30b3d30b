//! The words of `docs/qlog.md` for what the core has types for.

use tresse::{AssociationInfo, CloseReason, Extensions, ReconfigurationOutcome};

/// Why an association ended, and the cause code of the peer's ABORT.
pub(super) fn closed(reason: &CloseReason) -> (&'static str, Option<u16>) {
    match reason {
        CloseReason::Shutdown => ("shutdown", None),
        CloseReason::Aborted => ("aborted", None),
        CloseReason::PeerAborted { cause, .. } => ("peer_aborted", Some(*cause)),
        CloseReason::Unreachable => ("unreachable", None),
        CloseReason::SetupFailed => ("setup_failed", None),
        CloseReason::NoSctp => ("no_sctp", None),
        CloseReason::Crossed => ("crossed", None),
        CloseReason::ShutdownTimeout => ("shutdown_timeout", None),
        CloseReason::OutOfMemory => ("out_of_memory", None),
        CloseReason::ProtocolViolation(_) => ("protocol_violation", None),
        _ => ("unknown", None),
    }
}

/// What became of a request to change streams (RFC 6525 §4.4).
pub(super) const fn outcome_name(outcome: ReconfigurationOutcome) -> &'static str {
    match outcome {
        ReconfigurationOutcome::Performed => "performed",
        ReconfigurationOutcome::NothingToDo => "nothing-to-do",
        ReconfigurationOutcome::Denied => "denied",
        ReconfigurationOutcome::Failed => "failed",
    }
}

/// Extensions that were agreed on.
pub(super) fn agreed(info: &AssociationInfo) -> Vec<&'static str> {
    let Extensions {
        partial_reliability,
        stream_reconfiguration,
        authentication,
        interleaving,
        zero_checksum,
        address_reconfiguration,
        ecn,
        packet_drop_reports,
    } = info.extensions;
    let names = [
        (partial_reliability, "partial-reliability"),
        (stream_reconfiguration, "stream-reconfiguration"),
        (authentication, "authentication"),
        (interleaving, "interleaving"),
        (zero_checksum, "zero-checksum"),
        (address_reconfiguration, "address-reconfiguration"),
        (ecn, "ecn"),
        (packet_drop_reports, "packet-drop-reports"),
        (info.nr_sack, "nr-sack"),
    ];
    names.into_iter().filter_map(|(is_on, name)| is_on.then_some(name)).collect()
}
