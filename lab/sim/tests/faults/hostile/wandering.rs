//! What costs the other end most in ASCONF chunks (RFC 5061), from a peer that authenticates them as it should, and from
//! strangers that cannot: addresses of others without number, deletions of everything, serial numbers of the past and far
//! ahead, requests that nobody knows.

use std::net::{IpAddr, Ipv6Addr};

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use tresse_core::wire::{
    AddressRequest, Asconf, AsconfAck, AsconfNumber, ChunkType, HmacIdentifier, PacketWriter,
    ParameterType, ParameterWriter, Parameters, Tsn, authenticate, write_checksum,
};
use tresse_sim::Draw;

/// Requests that fit a packet.
const MOST: u64 = 60;
/// Bytes of a common header.
const HEADER: usize = 12;

/// What an end offers, and what its part of the key is (RFC 4895 §6.1).
#[derive(Clone, Debug, Default)]
struct Vector(Vec<u8>);

impl Vector {
    fn add(&mut self, kind: ParameterType, value: &[u8]) {
        self.0.extend(kind.0.to_be_bytes());
        self.0.extend((4 + value.len() as u16).to_be_bytes());
        self.0.extend(value);
    }

    fn of(parameters: &Parameters<'_>) -> Vector {
        let mut vector = Vector::default();
        for wanted in [ParameterType::RANDOM, ParameterType::CHUNK_LIST, ParameterType::HMAC_ALGO] {
            let mut all = parameters.iter().map_while(Result::ok);
            if let Some(raw) = all.find(|raw| raw.parameter_type == wanted) {
                vector.add(wanted, raw.value);
            }
        }
        vector
    }
}

/// An association of somebody who wanders.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanderer {
    ours: Vector,
    /// The association's key, of a shared key that is empty.
    key: Vec<u8>,
    /// The next serial number.
    next: u32,
    correlation: u32,
}

impl Wanderer {
    /// The extensions, as INIT offers them.
    pub(super) fn offer(&mut self, draw: &mut Draw, first: Tsn) -> Vec<u8> {
        let random: Vec<u8> = (0..32).map(|_| draw.next() as u8).collect();
        let kinds = [ChunkType::ASCONF.0, ChunkType::ASCONF_ACK.0];
        let mut list = ParameterWriter::new();
        list.supported_extensions(&[ChunkType::AUTH.0, kinds[0], kinds[1]])
            .random(&random)
            .chunk_list(&kinds)
            .hmac_algo(&[HmacIdentifier::SHA_1]);
        // Data is to go to somebody else from the beginning. (No number is drawn for it, so that all else stays as it was.)
        if random[0].is_multiple_of(2)
            && let IpAddr::V4(victim) = third_party(&mut Draw::new(u64::from(random[1])))
        {
            let request = AddressRequest { correlation: 0, address: victim.into() };
            list.ipv4(victim).set_primary_address(request);
        }
        let list = list.finish();
        *self =
            Wanderer { ours: Vector::of(&Parameters::new(&list)), next: first.0, ..self.clone() };
        list
    }

    /// The INIT ACK has this.
    pub(super) fn answered(&mut self, parameters: &Parameters<'_>) {
        let (ours, theirs) = (&self.ours.0, Vector::of(parameters).0);
        let ours_is_first = (ours.len(), ours) <= (theirs.len(), &theirs);
        self.key = match ours_is_first {
            true => [&ours[..], &theirs].concat(),
            false => [&theirs[..], ours].concat(),
        };
    }

    /// An ASCONF chunk, or an answer to what nobody has asked. `own` is where it comes from.
    pub(super) fn chunk(&mut self, draw: &mut Draw, w: &mut PacketWriter<'_>, own: IpAddr) {
        let number = AsconfNumber(match draw.between(0, 19) {
            0 => draw.next() as u32,
            1 => self.next.wrapping_add(draw.log_whole(1, 1 << 31) as u32),
            2 | 3 => self.next.wrapping_sub(draw.between(1, 12) as u32),
            _ => {
                self.next = self.next.wrapping_add(1);
                self.next.wrapping_sub(1)
            }
        });
        if draw.chance(0.02) {
            // One of the future ends the association.
            let list = ParameterWriter::new().success_indication(draw.next() as u32).finish();
            let number = AsconfNumber(number.0.wrapping_sub(1 << 30));
            return w.asconf_ack(&AsconfAck { number, responses: Parameters::new(&list) });
        }
        let mut list = ParameterWriter::new();
        for _ in 0..draw.log_whole(1, MOST) {
            self.request(draw, &mut list, own);
        }
        let list = list.finish();
        let address = match draw.between(0, 3) {
            0 => third_party(draw),
            1 => IpAddr::from([0; 4]),
            _ => own,
        };
        w.asconf(&Asconf { number, address, requests: Parameters::new(&list) });
    }

    fn request(&mut self, draw: &mut Draw, list: &mut ParameterWriter, own: IpAddr) {
        self.correlation = self.correlation.wrapping_add(1);
        let address = match draw.between(0, 11) {
            0 => own,
            1 => IpAddr::from([0; 4]),
            2 => IpAddr::from(draw.pick(&[[224u8, 0, 0, 1], [255; 4], [127, 0, 0, 1]])),
            3 => super::VICTIM,
            4 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, draw.between(1, 99) as u16).into(),
            _ => third_party(draw),
        };
        let one = AddressRequest { correlation: self.correlation, address };
        match draw.between(0, 9) {
            0..=4 => drop(list.add_ip_address(one)),
            5 | 6 => drop(list.delete_ip_address(one)),
            7 | 8 => drop(list.set_primary_address(one)),
            _ => {
                let kind = ParameterType(draw.next() as u16);
                list.raw(kind, &vec![0xff; draw.between(0, 40) as usize]);
            }
        }
    }

    /// Signs a packet with the association's key; nobody else can.
    pub(super) fn sign(&self, packet: &mut Vec<u8>) {
        let sha1 = |bytes: &[u8]| {
            let mut mac = Hmac::<Sha1>::new_from_slice(&self.key).expect("a key of any length");
            mac.update(bytes);
            let mut tag = [0; 20];
            tag.copy_from_slice(&mac.finalize().into_bytes());
            tag
        };
        authenticate(packet, HEADER, 0, HmacIdentifier::SHA_1, sha1);
        write_checksum(packet);
    }
}

/// An address of somebody who has no part in this.
pub(super) fn third_party(draw: &mut Draw) -> IpAddr {
    IpAddr::from([203, 0, 113, draw.between(1, 250) as u8])
}

/// Whether an address is none of those that take part.
pub(super) fn is_third_party(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [203, 0, 113],
        IpAddr::V6(_) => true,
    }
}
