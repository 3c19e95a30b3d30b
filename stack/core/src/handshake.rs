//! What INIT and INIT ACK carry, both ways (RFC 9260 §3.3.2, §3.3.3, §5.1.1, §5.1.2).

use std::net::IpAddr;

use tresse_wire::{
    AddressRequest, CauseWriter, ChunkType, ErrorDetectionMethod, InitFields, Parameter,
    ParameterType, ParameterTypes, ParameterWriter, Parameters, RawParameter, Tsn, UnknownAction,
    VerificationTag,
};

use crate::asconf::AUTHENTICATED;
use crate::auth::{Offer, OfferReader};
use crate::config::{AssociationConfig, Families};
use crate::extensions;
use crate::path::MAX_PATHS;
use crate::path::source::is_usable;
use crate::profile::NrSackMode;
use crate::recovery::Recovery;

/// The smallest window that INIT may advertise (RFC 9260 §3.3.2).
const MIN_RWND: u32 = 1500;
/// This many addresses of a peer are looked at. How many get a path is up to the association.
const MAX_ADDRESSES: usize = 4 * MAX_PATHS;
/// Bytes of unrecognised parameters that are reported at most; a reply must stay small.
const MAX_REPORT: usize = 256;

/// What a peer said of itself in INIT or INIT ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerParameters {
    pub(crate) tag: VerificationTag,
    pub(crate) initial_tsn: Tsn,
    pub(crate) a_rwnd: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    /// The source address of the packet first, then those listed, without repetition.
    pub(crate) addresses: Vec<IpAddr>,
    /// It has more addresses than those.
    pub(crate) omitted: bool,
    pub(crate) extensions: Capabilities,
    /// Adaptation Layer Indication.
    pub(crate) adaptation: Option<u32>,
    /// One of its addresses that it would like data to come to.
    pub(crate) primary: Option<IpAddr>,
    /// What it says of authenticated chunks, if this end authenticates, too.
    pub(crate) offer: Option<Box<Offer>>,
}

/// What an endpoint is capable of beyond RFC 9260 and offers, or what both ends have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// TIMESTAMP chunks (Ladha et al. §4).
    pub(crate) timestamp: bool,
    /// R bits of DATA and SACK (draft-proshin-tsvwg-sctp-rtx-bit-03).
    pub(crate) retransmit_bit: bool,
    /// NR-SACK chunks (draft-natarajan-tsvwg-sctp-nrsack).
    pub(crate) nr_sack: bool,
    /// I-FORWARD-TSN chunks, which partial reliability needs where messages are interleaved (RFC 8260 §2.3.1).
    pub(crate) i_forward_tsn: bool,
    /// What is the application's choice.
    pub(crate) chosen: extensions::Extensions,
}

impl Capabilities {
    /// None at all.
    pub(crate) const NONE: Capabilities = Capabilities {
        timestamp: false,
        retransmit_bit: false,
        nr_sack: false,
        i_forward_tsn: false,
        chosen: extensions::Extensions::NONE,
    };

    /// What an end with these settings offers.
    pub(crate) fn of(config: &AssociationConfig) -> Capabilities {
        let profile = &config.profile;
        let wanted = Recovery::wants(profile);
        Capabilities {
            timestamp: wanted.timestamps,
            retransmit_bit: wanted.retransmit_bit,
            nr_sack: profile.sack.nr_sack != NrSackMode::Off,
            i_forward_tsn: config.extensions.interleaving && config.extensions.partial_reliability,
            chosen: config.extensions,
        }
    }

    //= RFC 3168 6.1.1-2 6.1.1-3 6.1.1-7
    /// What both ends offer; the rest is silently off.
    pub(crate) fn and(self, other: Capabilities) -> Capabilities {
        let i_forward_tsn = self.i_forward_tsn && other.i_forward_tsn;
        let mut chosen = self.chosen.and(other.chosen);
        // RFC 8260 §2.3.1: "The partial reliability extension [...] can be used in combination with user message interleaving
        // only if both endpoints indicated their support of user message interleaving and the I-FORWARD-TSN chunk."
        if chosen.interleaving {
            chosen.partial_reliability = i_forward_tsn;
        }
        Capabilities {
            timestamp: self.timestamp && other.timestamp,
            retransmit_bit: self.retransmit_bit && other.retransmit_bit,
            nr_sack: self.nr_sack && other.nr_sack,
            i_forward_tsn,
            chosen,
        }
    }

    //= RFC 5061 4.2.7-1 4.2.7-2 4.2.7-3 4.2.7-4 4.2.7-5
    //= RFC 6525 5.1.1-1
    //= RFC 8260 2.2.1-5 2.2.1-6 2.2.1-7
    /// Writes the offer into INIT or INIT ACK.
    fn write(self, writer: &mut ParameterWriter) {
        let partial_reliability = self.chosen.partial_reliability;
        let types = [
            (self.nr_sack, ChunkType::NR_SACK),
            (self.timestamp, ChunkType::TIMESTAMP),
            (partial_reliability, ChunkType::FORWARD_TSN),
            (self.chosen.stream_reconfiguration, ChunkType::RE_CONFIG),
            (self.chosen.interleaving, ChunkType::I_DATA),
            (self.i_forward_tsn, ChunkType::I_FORWARD_TSN),
            (self.chosen.address_reconfiguration, ChunkType::ASCONF),
            (self.chosen.address_reconfiguration, ChunkType::ASCONF_ACK),
            (self.chosen.packet_drop_reports, ChunkType::PACKET_DROP),
            // Linux looks at nothing else.
            (self.chosen.authentication, ChunkType::AUTH),
        ];
        let types: Vec<u8> = types.iter().filter(|(on, _)| *on).map(|(_, t)| t.0).collect();
        if !types.is_empty() {
            writer.supported_extensions(&types);
        }
        if self.retransmit_bit {
            writer.retransmit_bit_supported();
        }
        if partial_reliability {
            writer.forward_tsn_supported();
        }
        //= RFC 3168 6.1.1-6
        // RFC 4960 Appendix A: "To indicate that an endpoint is ECN capable, an endpoint SHOULD add to the INIT and or INIT
        // ACK chunk the TLV reserved for ECN."
        if self.chosen.ecn {
            writer.ecn_capable();
        }
        //= RFC 9653 4-2 4-3 5.1-1
        if self.chosen.zero_checksum {
            writer.zero_checksum_acceptable(ErrorDetectionMethod::DTLS);
        }
    }

    /// One byte for the State Cookie.
    pub(crate) fn to_bits(self) -> u8 {
        let recovery = u8::from(self.timestamp) | u8::from(self.retransmit_bit) << 1;
        let chosen = u8::from(self.chosen.partial_reliability) << 3
            | u8::from(self.chosen.stream_reconfiguration) << 4
            | u8::from(self.chosen.interleaving) << 5
            | u8::from(self.i_forward_tsn) << 6
            | u8::from(self.chosen.zero_checksum) << 7;
        recovery | u8::from(self.nr_sack) << 2 | chosen
    }

    /// The inverse of [`to_bits`](Self::to_bits).
    pub(crate) fn from_bits(bits: u8) -> Capabilities {
        Capabilities {
            timestamp: bits & 1 != 0,
            retransmit_bit: bits & 2 != 0,
            nr_sack: bits & 4 != 0,
            i_forward_tsn: bits & 64 != 0,
            chosen: extensions::Extensions {
                partial_reliability: bits & 8 != 0,
                stream_reconfiguration: bits & 16 != 0,
                // The cookie has the offer itself.
                authentication: false,
                interleaving: bits & 32 != 0,
                zero_checksum: bits & 128 != 0,
                // The cookie has it beside these.
                address_reconfiguration: false,
                ecn: false,
                packet_drop_reports: false,
            },
        }
    }
}

//= RFC 9260 3.3.2.1.5-1 5.1.2-8 5.1.2-9 5.1.2-10 5.1.2-11
/// Families of addresses that a peer can use: those of its parameter Supported Address Types, and those of
/// `addresses`, which it uses: §5.1.2 has what "is not listed ... also be considered as supported".
fn supported_families(listed: ParameterTypes<'_>, addresses: &[IpAddr]) -> Families {
    let v4 = listed.contains(&ParameterType::IPV4_ADDRESS.0);
    let v6 = listed.contains(&ParameterType::IPV6_ADDRESS.0);
    Families::of(
        v4 || addresses.iter().any(IpAddr::is_ipv4),
        v6 || addresses.iter().any(IpAddr::is_ipv6),
    )
}

/// A peer's INIT or INIT ACK, read.
#[derive(Debug)]
pub(crate) struct PeerInit<'a> {
    pub(crate) peer: PeerParameters,
    /// State Cookie (INIT ACK only).
    pub(crate) cookie: Option<&'a [u8]>,
    /// Cookie Preservative in milliseconds (INIT only).
    pub(crate) preservative_ms: u32,
    /// Of which families addresses may be that it can use. RFC 9260 §3.3.2, note 4: who lists none supports all.
    pub(crate) families: Families,
    /// It has the parameter Forward-TSN-Supported.
    pub(crate) names_forward_tsn: bool,
    /// Its Set Primary Address parameter, as encoded.
    pub(crate) asks_primary: Option<&'a [u8]>,
    /// What it says of authenticated chunks, before this end's settings are known.
    pub(crate) offer: OfferReader,
    /// Unrecognised parameters that must be reported, as encoded TLVs.
    pub(crate) report: Vec<u8>,
}

/// Why an INIT or INIT ACK is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InitRefusal {
    /// The Initiate Tag is 0.
    ZeroTag,
    /// a_rwnd is less than 1500 bytes: Invalid Mandatory Parameter.
    SmallWindow,
    /// Answer with ABORT and these error causes.
    Abort(Vec<u8>),
}

//= RFC 5061 4.2.6-2 4.2.6-3 6-6
/// Reads the parameters of an INIT or INIT ACK that came from `source`.
pub(crate) fn read_init<'a>(
    fields: InitFields,
    parameters: Parameters<'a>,
    source: IpAddr,
) -> Result<PeerInit<'a>, InitRefusal> {
    if fields.initiate_tag.0 == 0 {
        return Err(InitRefusal::ZeroTag);
    }
    //= RFC 9260 3.3.2-9
    if fields.a_rwnd < MIN_RWND {
        return Err(InitRefusal::SmallWindow);
    }
    //= RFC 9260 3.3.2-12 3.3.2-14 3.3.3-12 3.3.3-15
    // RFC 9260 §3.3.2, §3.3.3: OS = 0 and MIS = 0 are answered with ABORT.
    if fields.outbound_streams == 0 || fields.inbound_streams == 0 {
        return Err(InitRefusal::Abort(CauseWriter::new().invalid_mandatory_parameter().finish()));
    }
    let mut init = PeerInit {
        peer: PeerParameters {
            tag: fields.initiate_tag,
            initial_tsn: fields.initial_tsn,
            a_rwnd: fields.a_rwnd,
            outbound_streams: fields.outbound_streams,
            inbound_streams: fields.inbound_streams,
            //= RFC 9260 3.3.2.1.2-2 3.3.3-20 5.1.2-1
            addresses: vec![source],
            omitted: false,
            extensions: Capabilities::NONE,
            adaptation: None,
            primary: None,
            offer: None,
        },
        cookie: None,
        preservative_ms: 0,
        families: Families::Both,
        names_forward_tsn: false,
        asks_primary: None,
        offer: OfferReader::default(),
        report: Vec::new(),
    };
    let mut types = None;
    for raw in parameters.iter() {
        if raw.is_ok_and(|raw| init.offer.take(raw) || is_no_method(raw) || is_no_request(raw)) {
            continue;
        }
        let parsed = raw.and_then(|raw| Ok((raw, Parameter::parse(raw)?)));
        let Ok((raw, parameter)) = parsed else {
            let causes = CauseWriter::new().protocol_violation(b"malformed parameter").finish();
            return Err(InitRefusal::Abort(causes));
        };
        match parameter {
            Parameter::Ipv4Address(a) => init.add_address(a.into(), source),
            Parameter::Ipv6Address(a) => init.add_address(a.into(), source),
            Parameter::StateCookie(cookie) => init.cookie = Some(cookie),
            Parameter::CookiePreservative { increment_ms } => init.preservative_ms = increment_ms,
            //= RFC 9260 3.3.2-3 3.3.2.1.4-2 3.3.3-2 5.1.2-2 5.1.2-3 12.2.4.1-1
            // §5.1.2 B: a Host Name Address MUST be answered with ABORT.
            Parameter::HostName(_) => {
                let causes = CauseWriter::new().unresolvable_address(raw.bytes).finish();
                return Err(InitRefusal::Abort(causes));
            }
            Parameter::SupportedExtensions(types) => {
                let extensions = &mut init.peer.extensions;
                extensions.timestamp |= types.contains(&ChunkType::TIMESTAMP.0);
                extensions.nr_sack |= types.contains(&ChunkType::NR_SACK.0);
                extensions.chosen.packet_drop_reports |= types.contains(&ChunkType::PACKET_DROP.0);
                extensions.chosen.interleaving |= types.contains(&ChunkType::I_DATA.0);
                extensions.i_forward_tsn |= types.contains(&ChunkType::I_FORWARD_TSN.0);
                let both = AUTHENTICATED.iter().all(|kind| types.contains(&kind.0));
                extensions.chosen.address_reconfiguration |= both;
                extensions.chosen.stream_reconfiguration |= types.contains(&ChunkType::RE_CONFIG.0);
                // RFC 5061 §4.2.7: "The sender MUST support both the sending and the receiving of any chunk types listed
                // within". Stacks for WebRTC offer FORWARD TSN in this way alone.
                extensions.chosen.partial_reliability |= types.contains(&ChunkType::FORWARD_TSN.0);
            }
            Parameter::AdaptationLayerIndication(code) => init.peer.adaptation = Some(code),
            // RFC 5061 §4.2.4: "The inclusion of this parameter in the INIT or INIT-ACK can be used to indicate an initial
            // preference of primary address." A wildcard means where it comes from.
            Parameter::SetPrimaryAddress(request) => {
                let nowhere = request.address.is_unspecified();
                init.peer.primary = Some(if nowhere { source } else { request.address });
                init.asks_primary = Some(raw.bytes);
            }
            Parameter::ZeroChecksumAcceptable(method) => {
                init.peer.extensions.chosen.zero_checksum |= method == ErrorDetectionMethod::DTLS;
            }
            Parameter::RetransmitBitSupported => init.peer.extensions.retransmit_bit = true,
            Parameter::ForwardTsnSupported => {
                init.peer.extensions.chosen.partial_reliability = true;
                init.names_forward_tsn = true;
            }
            Parameter::SupportedAddressTypes(listed) => types = Some(listed),
            Parameter::EcnCapable => init.peer.extensions.chosen.ecn = true,
            Parameter::HeartbeatInfo(_) | Parameter::UnrecognizedParameter(_) => {}
            // Extensions that we do not speak are as good as unknown.
            //= RFC 4820 4-3 4-4 4-5
            // Padding is among them, by its bits.
            _ => match raw.parameter_type.unknown_action() {
                UnknownAction::Stop => break,
                UnknownAction::Skip => {}
                UnknownAction::StopAndReport => {
                    init.add_report(raw.bytes);
                    break;
                }
                UnknownAction::SkipAndReport => init.add_report(raw.bytes),
            },
        }
    }
    if let Some(types) = types {
        init.families = supported_families(types, &init.peer.addresses);
    }
    Ok(init)
}

//= RFC 9653 4-1 4-4
/// A Zero Checksum Acceptable parameter of another length than 8 is as good as unknown: nothing depends on it.
fn is_no_method(raw: RawParameter<'_>) -> bool {
    raw.parameter_type == ParameterType::ZERO_CHECKSUM_ACCEPTABLE && Parameter::parse(raw).is_err()
}

/// A request to change addresses that is malformed. RFC 5061 §4.2: a parameter that is not allowed in INIT "MUST be
/// ignored"; and nothing depends on one that is.
fn is_no_request(raw: RawParameter<'_>) -> bool {
    let requests = ParameterType::ADD_IP_ADDRESS.0..=ParameterType::SUCCESS_INDICATION.0;
    requests.contains(&raw.parameter_type.0) && Parameter::parse(raw).is_err()
}

impl PeerInit<'_> {
    //= RFC 9260 5.1.2-4
    fn add_address(&mut self, address: IpAddr, source: IpAddr) {
        // §3.3.2.1.2: "MUST NOT use an IPv4-mapped IPv6 address".
        let unusable = !is_usable(address);
        // A host elsewhere cannot be reached over our loopback interface (RFC 5062 §3).
        let foreign_loopback = address.is_loopback() && !source.is_loopback();
        if unusable || foreign_loopback || self.peer.addresses.contains(&address) {
            return;
        }
        if self.peer.addresses.len() >= MAX_ADDRESSES {
            self.peer.omitted = true;
        } else {
            self.peer.addresses.push(address);
        }
    }

    //= RFC 5061 6-3 6-4 6-5
    //= RFC 3758 3.3.2-1 3.3.2-2
    /// Settles what depends on our settings. What we do not offer is as good as unknown to us, and gone about accordingly: an extension that the
    /// application has switched off is reported to a peer that offers it.
    ///
    /// # Errors
    /// What this end asks for and the peer does not offer, or offers wrongly.
    pub(crate) fn settle(&mut self, config: &AssociationConfig) -> Result<(), InitRefusal> {
        if !config.extensions.partial_reliability {
            self.peer.extensions.chosen.partial_reliability = false;
            if self.names_forward_tsn {
                let parameter = ParameterWriter::new().forward_tsn_supported().finish();
                self.add_report(&parameter);
            }
        }
        self.peer.extensions.chosen.address_reconfiguration &=
            config.extensions.address_reconfiguration;
        if let Some(parameter) = self.asks_primary.take()
            && !config.extensions.address_reconfiguration
        {
            self.peer.primary = None;
            self.add_report(parameter);
        }
        self.peer.primary = self.peer.primary.filter(|a| self.peer.addresses.contains(a));
        if !config.extensions.authentication {
            return Ok(());
        }
        //= RFC 4895 6.1-3 6.1-4
        let offer = std::mem::take(&mut self.offer).finish().map_err(|wrong| {
            InitRefusal::Abort(CauseWriter::new().protocol_violation(wrong.as_bytes()).finish())
        })?;
        // RFC 5061 §6: "an INIT that indicates that the peer supports the ASCONF extension but does NOT support the [RFC4895]
        // extension" is answered with ABORT.
        let unguarded = self.peer.extensions.chosen.address_reconfiguration && offer.is_none();
        if unguarded || (offer.is_none() && config.authentication.required) {
            let types = [ParameterType::RANDOM, ParameterType::HMAC_ALGO];
            let causes = CauseWriter::new().missing_mandatory_parameter(&types).finish();
            return Err(InitRefusal::Abort(causes));
        }
        self.peer.extensions.chosen.authentication = offer.is_some();
        // Who does not want them authenticated would take those of anybody.
        self.peer.extensions.chosen.address_reconfiguration &=
            offer.as_ref().is_some_and(|offer| offer.wants(&AUTHENTICATED));
        self.peer.offer = offer.map(Box::new);
        Ok(())
    }

    fn add_report(&mut self, parameter: &[u8]) {
        if self.report.len() + parameter.len() <= MAX_REPORT {
            // RFC 9260 §3.2: the padding of the last one is that of the cause, and not part of it.
            self.report.resize(tresse_wire::padded(self.report.len()), 0);
            self.report.extend_from_slice(parameter);
        }
    }
}

impl PeerParameters {
    //= RFC 9260 3.3.2-1
    /// Writes what INIT and INIT ACK have in common: our addresses, the extensions that we offer, `offer` of
    /// authentication, our adaptation layer.
    pub(crate) fn write_ours(
        addresses: &[IpAddr],
        config: &AssociationConfig,
        offer: Option<&Offer>,
        writer: &mut ParameterWriter,
    ) {
        Self::write_addresses(addresses, writer);
        Capabilities::of(config).write(writer);
        if let Some(offer) = offer {
            offer.write(writer);
        }
        if let Some(code) = config.adaptation {
            writer.adaptation_layer_indication(code);
        }
    }

    /// Says which of `addresses`, all that are told, is to be the primary one (RFC 5061 §4.2.4), if there is a choice and `room` for
    /// that.
    pub(crate) fn write_preference(
        addresses: &[IpAddr],
        config: &AssociationConfig,
        room: usize,
        writer: &mut ParameterWriter,
    ) {
        let offered = config.extensions.address_reconfiguration;
        let wish = config.preferred_address.filter(|a| offered && addresses.contains(a));
        let Some(address) = wish else { return };
        let before = if address.is_ipv4() { 16 } else { 28 };
        if writer.len() + before <= room {
            // "The ASCONF-Request Correlation ID" has no meaning in INIT: nobody answers it.
            writer.set_primary_address(AddressRequest { correlation: 0, address });
        }
    }

    //= RFC 9260 3.3.2-2 3.3.2.1.4-1 3.3.3-1 3.3.3.1-1
    fn write_addresses(addresses: &[IpAddr], writer: &mut ParameterWriter) {
        for address in addresses {
            match address {
                IpAddr::V4(a) => writer.ipv4(*a),
                IpAddr::V6(a) => writer.ipv6(*a),
            };
        }
    }
}
