//! What an experiment may have if one of its senders is TCP.

use super::{Flow, Workload};
use crate::common::{AssociationSettings, ProfileEntry};
use crate::mistake::{Checked, require};
use crate::schema::Experiment;

/// Checks that the TCP of the simulator has all that the experiment asks for.
pub(super) fn check(e: &Experiment<Flow>) -> Checked {
    let Some(index) = e.common.profiles.iter().position(ProfileEntry::is_tcp) else {
        return Ok(());
    };
    let Flow { topology, workload, changes, observe, processor, .. } = &e.kind;
    let association = &e.common.association;
    let plain = AssociationSettings::default();
    let sent_plainly = match workload {
        Workload::Periodic(p) => p.burst == 1 && p.service.is_default() && p.beside.is_none(),
        Workload::Bulk(b) => !b.unordered && b.warmup_s == 0.0,
        Workload::Given(_) => false,
    };
    let other = [
        ("topology.second", topology.second.is_some()),
        ("topology.shared", topology.shared.is_some()),
        ("topology.mtu", topology.mtu.is_some()),
        ("topology.moves", !topology.moves.is_empty()),
        ("change", !changes.is_empty()),
        ("processor", processor.is_some()),
        ("observe.alone", observe.alone),
        ("association.mtu", association.mtu != plain.mtu || association.mtu_search != 0),
        ("association.concurrent_transfer", association.concurrent_transfer),
        ("association.interleaving", association.interleaving),
        ("association.ecn", association.ecn),
        ("association.asconf", association.asconf),
        ("association.extensions", !association.extensions.is_empty()),
    ];
    let name = &e.common.profiles[index].name;
    for (key, is_given) in other {
        require(!is_given, key, format!("is not for TCP ({name})"))?;
    }
    let message = format!("is not for TCP ({name}): one message at a time, or bulk, in order");
    require(sent_plainly, "workload", message)
}
