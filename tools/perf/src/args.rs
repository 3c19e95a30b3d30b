//! The command line.

use std::time::Duration;

use super::flow::{self, Flow};
use super::payload::HEADER_LEN;
use super::payload::{MAX_SIZE, MAX_STREAMS};
use super::test::{Pace, Test};
use tresse_console::observe::ObserveArgs;
use tresse_console::units;

/// What both sides have.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Common {
    #[arg(long, value_name = "NAME", default_value = "tresse", help = profile_help())]
    pub(crate) profile: String,
    /// Change a parameter of the profile, such as rto.min_ms=100 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Send buffer and receive window
    #[arg(long, value_name = "BYTES", default_value = "1Mi", value_parser = window)]
    pub(crate) window: u32,
    /// Largest IP packet to send, headers included
    #[arg(long, value_name = "BYTES", default_value = "1500")]
    pub(crate) mtu: u16,
    /// Look for larger packets that get through, up to this many bytes, by probes that need no ICMP (RFC 8899);
    /// it begins when packets are full, or lost for their size
    #[arg(long, value_name = "BYTES")]
    pub(crate) mtu_search: Option<u16>,
    /// How packets travel: in UDP datagrams, or directly on IP (Linux, needs CAP_NET_RAW)
    #[arg(long, value_enum, value_name = "CARRIER", default_value = "udp")]
    pub(crate) carrier: CarrierKind,
    /// With several addresses of the peer: send over one at a time, or over all at once (concurrent
    /// multipath transfer)
    #[arg(long, value_enum, value_name = "PATHS", default_value = "one")]
    pub(crate) paths: PathUse,
    /// Let messages of other streams in between the parts of a large one (I-DATA, RFC 8260), if both sides say so and
    /// the profile has a stream scheduler other than first come, first served
    #[arg(long, alias = "interleaved")]
    pub(crate) interleaving: bool,
    /// Let routers mark packets instead of dropping them (ECN, RFC 3168), if both sides say so
    #[arg(long)]
    pub(crate) ecn: bool,
    /// Hold small messages while data is outstanding (Nagle) instead of sending them at once
    #[arg(long)]
    pub(crate) nagle: bool,
    /// Give up when the peer made no progress for this long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = positive_duration)]
    pub(crate) timeout: Duration,
    /// Time between two lines of figures
    #[arg(long, short, value_name = "TIME", default_value = "1s", value_parser = positive_duration)]
    pub(crate) interval: Duration,
    /// Print one JSON document for each test instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
}

/// The argument of `--carrier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CarrierKind {
    Udp,
    Raw,
}

/// The argument of `--paths`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PathUse {
    One,
    All,
}

/// `tresse perf server`
#[derive(Debug, clap::Args)]
pub(crate) struct ServerArgs {
    /// Local address and UDP port (repeatable; several make the server multihomed) [default: all
    /// addresses, IPv6 and IPv4, port 9899; on raw IP those of IPv4]
    #[arg(long, visible_alias = "local", alias = "bind", value_name = "ADDR[:PORT]")]
    pub(crate) listen: Vec<String>,
    /// SCTP port
    #[arg(long, value_name = "PORT", default_value = "5001", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) sctp_port: u16,
    /// End after one test, with its result as exit code
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// `tresse perf client`
#[derive(Debug, clap::Args)]
pub(crate) struct ClientArgs {
    /// Name or address of the server, optionally with its UDP port
    #[arg(value_name = "HOST[:PORT]")]
    pub(crate) host: String,
    /// The server's UDP port, if HOST does not say
    #[arg(long, value_name = "PORT", default_value = "9899", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) udp_port: u16,
    /// The server's SCTP port
    #[arg(long, value_name = "PORT", default_value = "5001", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) sctp_port: u16,
    /// Another address of the server, of the same UDP port (repeatable). Those that the server offers
    /// are used without it
    #[arg(long, value_name = "ADDR")]
    pub(crate) peer: Vec<std::net::IpAddr>,
    /// Local address and UDP port (repeatable; several make the client multihomed) [default: the
    /// address that routes to the server, any port]
    #[arg(long, visible_alias = "local", value_name = "ADDR[:PORT]")]
    pub(crate) bind: Vec<String>,
    /// Give up connecting after this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = positive_duration)]
    pub(crate) connect_timeout: Duration,
    #[command(flatten)]
    pub(crate) load: Load,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What is to be sent.
#[derive(Debug, clap::Args)]
pub(crate) struct Load {
    /// Bytes of each message [default: 1200]
    #[arg(long, short = 'l', value_name = "BYTES", value_parser = message_size)]
    pub(crate) size: Option<u64>,
    /// Send for this long [default: 10s if nothing else ends the test]
    #[arg(long, short = 't', value_name = "TIME", value_parser = positive_duration)]
    pub(crate) duration: Option<Duration>,
    /// Send this many bytes, rounded up to whole messages
    #[arg(long, short = 'n', value_name = "BYTES", value_parser = units::parse_bytes)]
    pub(crate) bytes: Option<u64>,
    /// Send this many messages
    #[arg(long, value_name = "N", value_parser = units::parse_count)]
    pub(crate) messages: Option<u64>,
    /// Send this many bits of user data a second instead of as many as possible
    #[arg(long, short = 'b', value_name = "BIT/S", value_parser = units::parse_rate)]
    pub(crate) rate: Option<u64>,
    /// Send one message of SIZE bytes every INTERVAL_MS milliseconds, as thin streams do
    #[arg(long, value_name = "SIZE:INTERVAL_MS", value_parser = thin, conflicts_with_all = ["size", "rate"])]
    pub(crate) thin: Option<Thin>,
    /// Streams, used in turn
    #[arg(long, short = 'P', value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_STREAMS)))]
    pub(crate) streams: u16,
    /// Send unordered messages
    #[arg(long)]
    pub(crate) unordered: bool,
    /// Let the server send
    #[arg(long, short = 'R')]
    pub(crate) reverse: bool,
    /// Send a flow, in NetPerfMeter's notation:
    /// OUT_RATE:OUT_SIZE[:IN_RATE:IN_SIZE][:OPTION=VALUE]... (repeatable, all at once; see
    /// docs/observability.md)
    #[arg(long, value_name = "FLOW", conflicts_with_all = [
        "size", "bytes", "messages", "rate", "thin", "streams", "unordered", "reverse"])]
    pub(crate) flow: Vec<Flow>,
    /// Seed of the random numbers of flows [default: random]
    #[arg(long, value_name = "N", requires = "flow")]
    pub(crate) seed: Option<u64>,
    /// Measure delays by echoes, also where both sides share a clock
    #[arg(long)]
    pub(crate) round_trip: bool,
}

/// The argument of `--thin`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thin {
    size: u64,
    interval: Duration,
}

impl Load {
    pub(crate) fn test(&self) -> Result<Test, String> {
        let mut flows = self.flow.clone();
        flow::number(&mut flows).map_err(|error| format!("--flow: {error}"))?;
        let seed = self.seed.unwrap_or_else(flow::any_seed);
        let size = self.thin.map_or(self.size.unwrap_or(1200), |thin| thin.size);
        let pace = match (self.thin, self.rate) {
            (Some(thin), _) => {
                Pace::EveryMicros(u64::try_from(thin.interval.as_micros()).unwrap_or(u64::MAX))
            }
            (None, Some(rate)) => Pace::BitsPerSecond(rate),
            (None, None) => Pace::Bulk,
        };
        let by_bytes = self.bytes.map(|bytes| bytes.div_ceil(size));
        let messages = [self.messages, by_bytes].into_iter().flatten().min();
        let default = messages.is_none().then_some(Duration::from_secs(10));
        let duration = self.duration.or(default);
        Ok(Test {
            size: usize::try_from(size).unwrap_or(usize::MAX),
            streams: self.streams,
            unordered: self.unordered,
            reverse: self.reverse,
            pace,
            messages,
            duration_ms: duration.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
            round_trip: self.round_trip,
            seed: (!flows.is_empty()).then_some(seed),
            flows,
        })
    }
}

fn profile_help() -> String {
    let known: Vec<&str> = tresse::Profile::names().collect();
    format!("Protocol behaviour of this side: {}; join parts with +", known.join(", "))
}

fn message_size(text: &str) -> Result<u64, String> {
    let size = units::parse_bytes(text)?;
    let smallest = HEADER_LEN as u64;
    if (smallest..=MAX_SIZE).contains(&size) {
        Ok(size)
    } else {
        Err(format!("messages have {smallest} bytes (index, time, checksum) to 16Mi"))
    }
}

fn window(text: &str) -> Result<u32, String> {
    match u32::try_from(units::parse_bytes(text)?) {
        Ok(window @ 4096..=0x7fff_ffff) => Ok(window),
        _ => Err("a window has 4096 bytes to 2Gi".into()),
    }
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    match units::parse_duration(text)? {
        d if d < Duration::from_millis(1) => Err("at least 1ms".into()),
        d => Ok(d),
    }
}

fn thin(text: &str) -> Result<Thin, String> {
    let (size, interval) = text.split_once(':').ok_or("write SIZE:INTERVAL_MS, such as 100:20")?;
    let ms: f64 = interval.parse().map_err(|_| format!("\"{interval}\" is no interval in ms"))?;
    if !(0.001..=86_400_000.0).contains(&ms) {
        return Err("intervals have 0.001 ms to a day".into());
    }
    Ok(Thin { size: message_size(size)?, interval: Duration::from_secs_f64(ms / 1e3) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(subcommand)]
        command: crate::Command,
    }

    fn test(line: &str) -> Result<Test, clap::Error> {
        let words = ["perf", "client", "host"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words)?.command {
            crate::Command::Client(args) => Ok(args.load.test().unwrap()),
            crate::Command::Server(_) => panic!("not a client"),
        }
    }

    #[test]
    fn loads_are_understood() {
        let bulk = test("").unwrap();
        assert_eq!((bulk.size, bulk.pace), (1200, Pace::Bulk));
        assert_eq!((bulk.duration_ms, bulk.messages), (Some(10_000), None));
        let sized = test("--bytes 1G --size 64Ki").unwrap();
        assert_eq!((sized.messages, sized.duration_ms), (Some(15_259), None));
        let both = test("--bytes 2400 --messages 1 --duration 5").unwrap();
        assert_eq!((both.messages, both.duration_ms), (Some(1), Some(5_000)));
        let thin = test("--thin 100:2.5").unwrap();
        assert_eq!((thin.size, thin.pace), (100, Pace::EveryMicros(2_500)));
        assert_eq!(test("--rate 10M").unwrap().pace, Pace::BitsPerSecond(10_000_000));
        let flows =
            test("--flow const5:exp1000 --flow const0:const0:const0:const90 --seed 3").unwrap();
        assert_eq!(
            flows.flows.iter().map(|f| (f.id, f.stream)).collect::<Vec<_>>(),
            [(0, 1), (1, 2)]
        );
        assert_eq!((flows.seed, flows.duration_ms), (Some(3), Some(10_000)));
        for test in [bulk, sized, both, thin, flows] {
            assert_eq!(test.check(), Ok(()));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--size 23",
            "--size 17Mi",
            "--size many",
            "--thin 100",
            "--thin 100:0",
            "--thin 5:5",
            "--thin 100:5 --rate 1M",
            "--streams 0",
            "--streams 1001",
            "--rate 0",
            "--duration 0",
            "--window 1",
            "--mtu 99999",
            "--flow const5",
            "--flow const5:const100 --rate 1M",
            "--flow const5:const100 --streams 2",
            "--seed 3",
        ] {
            assert!(test(line).is_err(), "{line}");
        }
    }
}
