//! Tells the presets, or the scenario of a file (JSON), in text: what differs between two commits can be compared.
//!
//!     cargo run -p tresse-playground --example tell [FILE]

use tresse_playground::{Scenario, play, presets};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenarios = match std::env::args().nth(1) {
        Some(path) => vec![(path.clone(), Scenario::from_json(&std::fs::read_to_string(path)?)?)],
        None => presets().into_iter().map(|p| (p.name.to_owned(), p.scenario)).collect(),
    };
    for (name, scenario) in scenarios {
        println!("== {name}");
        for side in play(&scenario)?.sides {
            println!("-- {}: {:?}", side.profile, side.summary);
            for packet in side.packets.iter().filter(|p| p.again.is_some() || p.lost_by.is_some()) {
                let lost = packet.lost_by.map_or_else(String::new, |by| format!(" lost by {by:?}"));
                let again = packet.again.unwrap_or("");
                let chunks: Vec<String> = packet
                    .chunks
                    .iter()
                    .map(|c| format!("{} {:?} {}", c.name, c.tsn, c.text))
                    .collect();
                println!(
                    "{:9.1} {}{lost} {again} {}",
                    packet.sent_ms,
                    packet.number,
                    chunks.join(", ")
                );
            }
            for d in &side.decisions {
                println!("{:9.1}     {}: {}", d.at_ms, d.what, d.why);
            }
        }
    }
    Ok(())
}
