//! Two endpoints of Tresse with a NAT between them (RFC 6951): it forgets, and the host behind it moves (RFC 5061).
#![cfg(target_os = "linux")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tresse::{
    AddressChange, AddressOutcome, Association, AssociationConfig, Authentication, Carrier, Config,
    Endpoint, Event, Ppid, SendOptions, StreamId,
};
use tresse_peers::traffic::{BULK, receive_all, run};
use tresse_peers::{Namespace, Nat, Payload, Unavailable, command, drop_packets, skipped};

const PORT: u16 = 5001;
const UDP: u16 = 9899;
/// Addresses behind the NAT; to those outside the last one is behind another.
const HERE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const BESIDE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 3);
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 1);

/// A host behind a NAT, and one in the world.
struct Internet {
    inside: Namespace,
    router: Namespace,
    outside: Namespace,
    nat: Nat,
}

impl Internet {
    /// `None`, and a word on stderr, without the permission.
    fn new() -> Option<Internet> {
        Internet::try_new().inspect_err(skipped).ok()
    }

    fn try_new() -> Result<Internet, Unavailable> {
        let (inside, router, outside) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
        inside.join(&router, 1);
        router.join(&outside, 2);
        command(&format!("ip addr add {}/24 dev to2", Nat::FAR));
        router.enter();
        let nat = Nat::start("to2")?;
        command("ip addr add 10.3.0.2/24 dev to1");
        nat.second("10.3.0.0/24");
        inside.enter();
        command("ip route add default via 10.1.0.2");
        Ok(Internet { inside, router, outside, nat })
    }

    fn at_nat<R>(&self, work: impl FnOnce(&Nat) -> R) -> R {
        self.router.enter();
        work(&self.nat)
    }

    /// Endpoints inside and outside, and an association that the one inside opens, or the other one: that of each.
    async fn associate(&self, opens: bool) -> ([Endpoint; 2], [Association; 2]) {
        let open = |host: &Namespace, address: Ipv4Addr| {
            host.enter();
            let carrier = Carrier::Udp { local: vec![SocketAddr::new(address.into(), UDP)] };
            let mut config = Config::server_over(carrier, PORT);
            config.sctp.association = settings();
            Endpoint::bind(config).unwrap()
        };
        let inside = open(&self.inside, Ipv4Addr::UNSPECIFIED);
        let outside = open(&self.outside, Nat::FAR);
        let at = |address: Ipv4Addr| (SocketAddr::new(address.into(), UDP), PORT);
        // Who calls looks up the way in the namespace of this thread.
        let (ours, theirs) = if opens {
            self.inside.enter();
            tokio::join!(inside.connect_with(at(Nat::FAR), settings()), async {
                outside.accept().await.unwrap()
            })
        } else {
            self.at_nat(|nat| nat.expose(HERE));
            self.outside.enter();
            let (theirs, ours) =
                tokio::join!(outside.connect_with(at(Nat::ADDRESS), settings()), inside.accept());
            (Ok(ours.unwrap()), theirs.unwrap())
        };
        ([inside, outside], [ours.unwrap(), theirs])
    }
}

fn settings() -> AssociationConfig {
    let mut config = AssociationConfig { outbound_streams: 4, ..AssociationConfig::default() };
    config.extensions.authentication = true;
    config.extensions.address_reconfiguration = true;
    config.authentication = Arc::new(Authentication::default());
    config
}

/// All of this goes both ways, in two seconds.
const PAYLOAD: Payload = Payload { messages: 2_000, streams: 4, ..BULK };

async fn beside_data(associations: &[Association; 2], changes: impl Future<Output = ()>) {
    let [ours, theirs] = associations;
    let changes = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        changes.await;
        let come = [ours, theirs].map(|association| association.stats().messages_received);
        assert!(come.iter().all(|come| *come < PAYLOAD.messages), "too late: {come:?}");
    };
    let both = async {
        tokio::join!(
            send(ours),
            receive_all(ours, PAYLOAD),
            send(theirs),
            receive_all(theirs, PAYLOAD)
        );
    };
    tokio::join!(changes, both);
    ours.shutdown().await.unwrap();
    assert!(theirs.closed().await.is_graceful());
    for stats in [ours.stats(), theirs.stats()] {
        assert_eq!((stats.wrong_tag, stats.auth_chunks_forged), (0, 0));
    }
}

async fn send(association: &Association) {
    for index in 0..PAYLOAD.messages {
        if index % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let options = SendOptions { ppid: Ppid(PAYLOAD.ppid(index)), ..SendOptions::default() };
        let stream = StreamId(PAYLOAD.stream(index));
        association.send_with(stream, PAYLOAD.message(index), options).await.unwrap();
    }
}

/// Addresses and UDP ports of the peer.
fn places(association: &Association) -> Vec<(IpAddr, u16)> {
    let paths = association.path_stats();
    paths.iter().map(|path| (path.remote, path.encapsulation.unwrap())).collect()
}

/// What becomes of these requests.
async fn done(association: &Association, changes: &[(AddressChange, Ipv4Addr)]) {
    for (change, address) in changes {
        let outcome = loop {
            let event = association.next_event().await.expect("it lives");
            if let Event::AddressChanged { change, address, outcome } = event {
                break (change, address, outcome);
            }
        };
        assert_eq!(outcome, (*change, IpAddr::from(*address), AddressOutcome::Done));
    }
}

/// Addresses that the peer has had added (`true`) and removed, now that all is over.
async fn told(association: &Association) -> Vec<(bool, IpAddr)> {
    let mut told = Vec::new();
    while let Some(event) = association.next_event().await {
        match event {
            Event::PeerAddressAdded(_, address) => told.push((true, address)),
            Event::PeerAddressRemoved(_, address) => told.push((false, address)),
            _ => {}
        }
    }
    told
}

/// The peer follows to each of the new ports (RFC 6951 §5.4).
#[test]
fn a_nat_that_forgets_is_followed() {
    let Some(internet) = Internet::new() else { return };
    run(async {
        let (_endpoints, associations) = internet.associate(true).await;
        let theirs = &associations[1];
        let losses = || {
            let places = places(theirs);
            assert!(matches!(places[..], [(ip, _)] if ip == Nat::ADDRESS), "{places:?}");
            Nat::losses_before(places[0].1)
        };
        let changes = async {
            for time in 0..4 {
                while losses() != Some(time) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                internet.at_nat(Nat::forget);
            }
        };
        beside_data(&associations, changes).await;
        assert_eq!(losses(), Some(4));
    });
}

/// The host inside loses its address and gets another one, of its network or of one whose NAT the peer does not know yet, and says so
/// without a name (RFC 6951 §5.7).
#[test]
fn a_host_moves_behind_a_nat() {
    for (opens, next) in [(true, BESIDE), (false, BESIDE), (true, ELSEWHERE), (false, ELSEWHERE)] {
        let Some(internet) = Internet::new() else { return };
        run(async {
            let (_endpoints, associations) = internet.associate(opens).await;
            let [ours, theirs] = &associations;
            let before = places(theirs);
            let gateway = Ipv4Addr::from([10, next.octets()[1], 0, 2]);
            let changes = async {
                internet.inside.enter();
                command(&format!("ip addr del {HERE}/24 dev to1"));
                tokio::time::sleep(Duration::from_millis(50)).await;
                internet.inside.enter();
                command(&format!("ip addr add {next}/24 dev to1"));
                command(&format!("ip route add default via {gateway}"));
                done(ours, &[(AddressChange::Add, next), (AddressChange::Delete, HERE)]).await;
                assert_eq!(ours.local_addresses(), [IpAddr::from(next)]);
            };
            beside_data(&associations, changes).await;
            let after = places(theirs);
            let [(first, port), (second, other)] = [before[0], after[0]];
            assert_eq!((before.len(), after.len(), first), (1, 1, Nat::ADDRESS.into()));
            if next == BESIDE {
                assert!(second == first && port != other, "{before:?}, {after:?}");
                assert_eq!(told(theirs).await, []);
            } else {
                assert_eq!(second, IpAddr::from(Nat::SECOND));
                assert_eq!(told(theirs).await, [(true, second), (false, first)]);
            }
        });
    }
}

/// A second network, behind another NAT, is added to an association that was set up with one (RFC 6951 §5.7); data goes over that as the
/// first one fails, which is then deleted.
#[test]
fn a_second_nat_is_added() {
    use AddressChange::{Add, Delete, SetPrimary};
    for opens in [true, false] {
        let Some(internet) = Internet::new() else { return };
        run(async {
            let (_endpoints, associations) = internet.associate(opens).await;
            let [ours, theirs] = &associations;
            let changes = async {
                internet.inside.enter();
                command(&format!("ip addr add {ELSEWHERE}/24 dev to1"));
                ours.add_address(ELSEWHERE.into()).unwrap();
                done(ours, &[(Add, ELSEWHERE)]).await;
                let here = IpAddr::from;
                assert_eq!(ours.local_addresses(), [here(HERE), here(ELSEWHERE)]);
                let places: Vec<IpAddr> = places(theirs).iter().map(|(ip, _)| *ip).collect();
                assert_eq!(places, [Nat::ADDRESS, Nat::SECOND].map(IpAddr::from));
                ours.set_peer_primary(ELSEWHERE.into()).unwrap();
                done(ours, &[(SetPrimary, ELSEWHERE)]).await;
                internet.router.enter();
                drop_packets("forward", &format!("ip saddr {HERE}"));
                drop_packets("forward", &format!("ip daddr {HERE}"));
                ours.remove_address(HERE.into()).unwrap();
                done(ours, &[(Delete, HERE)]).await;
                assert_eq!(ours.local_addresses(), [here(ELSEWHERE)]);
            };
            beside_data(&associations, changes).await;
            let [first, second] = [Nat::ADDRESS, Nat::SECOND].map(IpAddr::from);
            assert_eq!(told(theirs).await, [(true, second), (false, first)]);
            let places: Vec<IpAddr> = places(theirs).iter().map(|(ip, _)| *ip).collect();
            assert_eq!(places, [second]);
        });
    }
}
