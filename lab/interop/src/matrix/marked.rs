//! Data that the network marks instead of dropping it, both ways (ECN: RFC 3168, RFC 4960 Appendix A).

use tresse::Direction;
use tresse_wire::{Chunk, ParameterType, Parameters};

use super::ends::{exchange, on_runtime, suited};
use super::scene::{Plan, Scene};
use super::{Role, Stack};
use tresse_peers::{Payload, Unsupported, command};

const PAYLOAD: Payload = Payload { messages: 3_000, size: 1_000, ..Payload::PLAIN };
/// Of this many packets that may be marked one is.
const ONE_OF: u32 = 50;

/// All arrives, both ends echo the marks that they get, and both say that they have reduced their window. The kernel and usrsctp
/// travel directly on IP, unless in UDP.
pub(super) fn play(scene: &Scene<'_>, udp: bool) {
    let plan = Plan {
        udp,
        raw: !udp && scene.cell.peer == Stack::Usrsctp,
        // usrsctp has a network of its own so, in which marks are set.
        two_paths: scene.cell.peer == Stack::Usrsctp,
        ecn: true,
        ..suited(scene, &Plan::new(PAYLOAD, "--duplex --with ecn --close wait"))
    };
    on_runtime(scene, async {
        if matches!(scene.cell.peer, Stack::Linux | Stack::Usrsctp) {
            mark(scene, udp);
        }
        let stats = exchange(scene, &plan).await;
        let name = scene.cell.peer.name();
        if !is_offered(scene) {
            Unsupported(format!("{name} does not offer ECN")).raise();
        }
        assert!(stats.ect_packets_sent > u64::from(ONE_OF), "Tresse sends what may be marked");
        if udp
            && scene.cell.peer == Stack::Usrsctp
            && (stats.ecn_echoes_received, stats.ce_packets_received) == (0, 0)
        {
            Unsupported(format!(
                "{name} offers ECN, echoes no mark and sends nothing that may be marked: over UDP it neither reads nor sets \
                 the ECN field"
            ))
            .raise();
        }
        let ours = (stats.ecn_echoes_received, stats.cuts_by_marks, stats.cwrs_sent);
        assert!(ours.0 > 0 && ours.1 > 0 && ours.2 > 0, "what Tresse sends: {ours:?}");
        let theirs = (stats.ce_packets_received, stats.ecn_echoes_sent, stats.cwrs_received);
        assert!(theirs.0 > 0 && theirs.1 > 0 && theirs.2 > 0, "what the peer sends: {theirs:?}");
    });
}

/// Marks some packets of either direction.
fn mark(scene: &Scene<'_>, udp: bool) {
    let protocol = if udp { 17 } else { 132 };
    // usrsctp may call from either of its addresses.
    let interface = if scene.is_guest() { "peer0" } else { "{to1,to2}" };
    command("nft add table ip marks");
    for (hook, way) in [("output", "oifname"), ("prerouting", "iifname")] {
        command(&format!(
            "nft add chain ip marks {hook} {{ type filter hook {hook} priority 0 ; }}"
        ));
        command(&format!(
            "nft add rule ip marks {hook} {way} {interface} ip protocol {protocol} ip ecn ect0 \
             numgen inc mod {ONE_OF} == 0 ip ecn set ce"
        ));
    }
}

/// The INIT or INIT ACK of the peer says that it is capable of ECN.
fn is_offered(scene: &Scene<'_>) -> bool {
    let mut offered = false;
    let says = |parameters: Parameters<'_>| {
        let mut kinds = parameters.iter().map_while(Result::ok).map(|raw| raw.parameter_type);
        kinds.any(|kind| kind == ParameterType::ECN_CAPABLE)
    };
    scene.recorder.chunks(|direction, chunk| match chunk {
        Chunk::Init(init) if direction == Direction::In && scene.cell.role == Role::Server => {
            offered |= says(init.parameters);
        }
        Chunk::InitAck(ack) if direction == Direction::In => offered |= says(ack.parameters),
        _ => {}
    });
    offered
}
