//! An echo server with the extensions that programs in Rust alone can switch on: packet drop reports, and packets without a
//! checksum (which belong into DTLS, or onto a loopback as here). Messages are given up when their first retransmission
//! would be due, if the peer has PR-SCTP.
//!
//! `cargo run -p tresse --example echo -- [SCTP port [UDP port]]`, by default 5000 and 9899. `conformance/attacks` attacks it.

use tresse::{Association, Config, Endpoint, Reliability, SendOptions};

/// Sends back what comes. Who reads none of its answers is let go.
async fn echo(association: Association) {
    let reliability = Some(Reliability::Retransmissions(0));
    let options = SendOptions { reliability, ..SendOptions::default() };
    while let Ok(message) = association.recv().await {
        let unordered = message.unordered;
        let options = SendOptions { unordered, ..options };
        if association.try_send_with(message.stream, message.payload, options).is_err() {
            return association.abort("no room for an answer");
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let sctp_port = arguments.next().map_or(Ok(5000), |port| port.parse())?;
    let udp_port: u16 = arguments.next().map_or(Ok(9899), |port| port.parse())?;
    let mut config = Config::server(([0, 0, 0, 0], udp_port).into(), sctp_port);
    let association = &mut config.sctp.association;
    association.no_delay = true;
    association.extensions.packet_drop_reports = true;
    association.extensions.zero_checksum = true;
    let server = Endpoint::bind(config)?;
    println!("SCTP port {sctp_port} in UDP port {udp_port}");
    loop {
        tokio::spawn(echo(server.accept().await?));
    }
}
