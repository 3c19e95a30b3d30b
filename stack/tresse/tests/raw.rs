//! Several SCTP ports behind one UDP port.

use std::time::Duration;

use tresse::{AssociationConfig, CloseReason, Config, Event, Events, PortConfig, RawEndpoint};

fn open() -> (RawEndpoint, Events) {
    let mut config = Config::client("127.0.0.1:0".parse().unwrap());
    config.sctp.local_port = 0;
    let (endpoint, events, driver) = RawEndpoint::open(config).unwrap();
    tokio::spawn(driver);
    (endpoint, events)
}

async fn next(events: &mut Events) -> Event {
    tokio::time::timeout(Duration::from_secs(20), events.recv()).await.unwrap().unwrap().1
}

#[tokio::test]
async fn an_endpoint_talks_to_its_own_ports_and_to_none_that_is_closed() {
    let (endpoint, mut events) = open();
    let to = AssociationConfig {
        encapsulation: Some(endpoint.local_addr().port()),
        ..AssociationConfig::default()
    };
    let peer = [endpoint.local_addr().ip()];
    endpoint.act(|core, now| {
        core.open_port(7, PortConfig { accept: true, ..PortConfig::default() }).unwrap();
        core.open_port(8, PortConfig::default()).unwrap();
        core.open_port(10, PortConfig::default()).unwrap();
        core.connect_from(now, 8, &peer, 7, to.clone()).unwrap();
    });
    let mut connected = Vec::new();
    while connected.len() < 2 {
        if let Event::Connected { accepted, .. } = next(&mut events).await {
            connected.push(accepted);
        }
    }
    connected.sort_unstable();
    assert_eq!(connected, [false, true]);
    for port in [8, 9] {
        // 8 does not listen, 9 is not open.
        endpoint.act(|core, now| core.connect_from(now, 10, &peer, port, to.clone()).unwrap());
        let event = next(&mut events).await;
        assert!(matches!(event, Event::Closed(CloseReason::PeerAborted { .. })), "{event:?}");
    }
}
