//! Set Primary Address in INIT and INIT ACK (RFC 5061 §4.2.4): "an initial preference of primary address".

use super::*;
use crate::auth::{Authentication, Offer};
use crate::rng::Rng;
use tresse_wire::ParameterType;

/// What a peer with two addresses says of itself that would like data to come to `wish`.
fn parameters(wish: IpAddr) -> ParameterWriter {
    let settings = Authentication { chunks: BOTH.to_vec(), ..Authentication::default() };
    let offer = Offer::new(&settings, &mut Rng::from_seed([5; 32]));
    let mut parameters = ParameterWriter::new();
    parameters.supported_extensions(&BOTH.map(|kind| kind.0));
    script::write_addresses(&mut parameters, &[z(1)]);
    parameters.set_primary_address(AddressRequest { correlation: 0, address: wish });
    offer.write(&mut parameters);
    parameters
}

fn primary(script: &Script) -> IpAddr {
    let paths = script.end.path_stats(script.id);
    paths.iter().find(|path| path.primary).unwrap().remote
}

/// The endpoint has called two addresses, and its peer answers with this wish.
fn called(config: &AssociationConfig, wish: IpAddr) -> Script {
    let mut script = Script::listening(config);
    script.connect(config, &addresses(Side::Z, 2));
    let mut parameters = parameters(wish);
    parameters.state_cookie(b"cookie");
    script.init_ack_with(&script::peer_fields(), &mut parameters);
    script.cookie_ack();
    assert_eq!(script.state(), State::Established);
    script
}

#[test]
fn an_init_ack_says_where_data_is_to_go() {
    let mut script = called(&config(), z(1));
    assert_eq!(primary(&script), z(1));
    // It is told of, behind what it belongs to.
    let told = |event: &Event| match event {
        Event::Connected { .. } => Some(0),
        Event::PrimaryChanged { address, .. } if *address == z(1) => Some(1),
        _ => None,
    };
    assert_eq!(script.events.iter().filter_map(told).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(script.send(10)[0].to.destination, z(1));
    // A wildcard is the address that it comes from, and one that is not listed is none.
    for wish in [[0; 4].into(), z(7), a(0)] {
        assert_eq!(primary(&called(&config(), wish)), z(0), "{wish}");
    }
}

/// What an INIT lists may be the address of somebody else: it waits until that has answered.
#[test]
fn an_init_says_it_and_the_address_is_verified_first() {
    let mut script = Script::listening(&config());
    let sent = script.join(&script::peer_fields(), &parameters(z(1)).finish());
    assert_eq!(script.state(), State::Established);
    assert_eq!(primary(&script), z(0));
    assert_eq!(script.send(10)[0].to.destination, z(0));
    let mut beats = sent;
    beats.extend(script.wait(secs(5)));
    let to_it = |p: &&Sent| p.to.destination == z(1) && p.carries(ChunkType::HEARTBEAT);
    let info = beats.iter().find(to_it).unwrap().find(ChunkType::HEARTBEAT).unwrap().value.to_vec();
    let ack = script::packet(script.tag, |w| w.heartbeat_ack(&info));
    script.give_from(z(1), ack);
    assert_eq!(primary(&script), z(1));
}

/// Who does not change addresses does not know the parameter, and says so.
#[test]
fn without_the_extension_it_is_reported() {
    let extensions = Extensions { address_reconfiguration: false, ..config().extensions };
    let off = AssociationConfig { extensions, ..config() };
    let mut script = Script::listening(&off);
    let list = parameters(z(1)).finish();
    let sent = script.give_bytes(script::init_packet(&script::peer_fields(), &list));
    let reported = |parameter: &Parameter<'_>| match parameter {
        Parameter::UnrecognizedParameter(raw) => {
            raw.parameter_type == ParameterType::SET_PRIMARY_ADDRESS
        }
        _ => false,
    };
    assert!(sent[0].init().1.iter().any(reported));
    let mut again = Script::listening(&config());
    let sent = again.give_bytes(script::init_packet(&script::peer_fields(), &list));
    assert!(!sent[0].init().1.iter().any(reported));
    assert_eq!(primary(&called(&off, z(1))), z(0));
}

fn preferring(address: IpAddr) -> AssociationConfig {
    AssociationConfig { preferred_address: Some(address), ..config() }
}

/// What is preferred in an INIT or INIT ACK.
fn preferred(sent: &Sent) -> Vec<IpAddr> {
    let (_, parameters) = sent.init();
    let wish = |parameter: &Parameter<'_>| match parameter {
        Parameter::SetPrimaryAddress(request) => Some(request.address),
        _ => None,
    };
    parameters.iter().filter_map(wish).collect()
}

#[test]
fn both_ends_say_which_of_their_addresses_they_prefer() {
    let mut pair = Pair::new(&preferring(z(1)), 2);
    let (called, answered) = pair.connect(&preferring(a(1)));
    assert_eq!(preferred(pair.sent(Side::A, ChunkType::INIT)[0]), [a(1)]);
    assert_eq!(preferred(pair.sent(Side::Z, ChunkType::INIT_ACK)[0]), [z(1)]);
    pair.run(secs(10));
    for (side, id, wish) in [(Side::A, called, z(1)), (Side::Z, answered, a(1))] {
        let paths = pair.end(side).path_stats(id);
        assert_eq!(paths.iter().find(|path| path.primary).unwrap().remote, wish);
    }
}

/// What the peer is not told of cannot be preferred, and who does not change addresses asks for nothing.
#[test]
fn no_other_address_is_preferred() {
    let off = AssociationConfig { extensions: Extensions::NONE, ..preferring(a(1)) };
    for (config, addresses) in [(preferring(a(7)), 2), (preferring(a(0)), 1), (off, 2)] {
        let mut pair = Pair::new(&config, addresses);
        pair.connect(&config);
        assert!(preferred(pair.sent(Side::A, ChunkType::INIT)[0]).is_empty());
        assert!(preferred(pair.sent(Side::Z, ChunkType::INIT_ACK)[0]).is_empty());
    }
}
