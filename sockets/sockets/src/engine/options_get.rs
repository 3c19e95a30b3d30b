//! `getsockopt` (RFC 6458 §8).

use std::net::SocketAddr;

use tresse::{AssociationState, PathState, PathStats};

use super::calls::Answer;
use super::exposure::Exposure;
use super::option_names::{name, spp};
use super::option_numbers::number_in;
use super::path_options::labels_told;
use super::stream_options::number_of;
use super::{Association, Engine, Fallible};
use tresse_socket_protocol::abi::{Fields, SCTP, Struct, canonical, errno, sockaddr};

fn int(value: u32) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}

/// The value of an option that once was an integer and is `sctp_assoc_value` now.
fn int_or_value(room: usize, number: u32, value: u32) -> Fallible<Vec<u8>> {
    match room {
        4 => Ok(int(value)),
        8.. => Ok(Struct::default().u32(number).u32(value).0.clone()),
        _ => Err(errno::EINVAL),
    }
}

/// Why an option cannot be read.
fn cannot_get(option: i32) -> i32 {
    match option {
        name::AUTH_CHUNK..=name::AUTH_DELETE_KEY | name::AUTH_DEACTIVATE_KEY => errno::EOPNOTSUPP,
        _ => errno::ENOPROTOOPT,
    }
}

impl Engine {
    pub(super) fn get_option(&mut self, id: u64, option: (i32, i32), given: &[u8]) -> Answer {
        let (level, option) = option;
        let value = match level {
            SCTP => self.get_sctp(id, option, given)?,
            _ => self.get_other(id, (level, option))?,
        };
        Ok((0, value))
    }

    fn get_sctp(&mut self, id: u64, option: i32, given: &[u8]) -> Fallible<Vec<u8>> {
        self.check_get(id, option, given)?;
        let number = number_in(option, given);
        match option {
            name::STATUS => return self.status(id, number, given),
            name::GET_PEER_ADDR_INFO => return self.peer_info(id, number, given),
            name::GET_PEER_ADDRS => return self.peer_names(id, number),
            name::GET_LOCAL_ADDRS => return self.bound_names(id, number),
            name::GET_ASSOC_STATS => return self.statistics(id, number),
            name::PRIMARY_ADDR => {
                let (number, primary) = self.primary(id, number)?;
                let address = self.program_address(id, number, &primary)?;
                return Ok(Struct::default().u32(number).storage(address).0.clone());
            }
            name::GET_ASSOC_NUMBER | name::GET_ASSOC_ID_LIST => {
                let socket = self.socket(id)?;
                if !socket.many {
                    return Err(errno::EOPNOTSUPP);
                }
                let mut s = Struct::default();
                let numbers = socket.associations.clone();
                let is_alive = |a: &Association| !a.waiting && !a.ended;
                let alive =
                    numbers.iter().filter(|n| self.associations.get(n).is_some_and(is_alive));
                let alive: Vec<u32> = alive.copied().collect();
                s.u32(alive.len() as u32);
                if option == name::GET_ASSOC_ID_LIST {
                    alive.into_iter().for_each(|number| {
                        s.u32(number);
                    });
                }
                return Ok(s.0);
            }
            name::RTOINFO
            | name::ASSOCINFO
            | name::DELAYED_ACK
            | name::MAX_BURST
            | name::STREAM_SCHEDULER => return self.profile_option(id, option, given),
            name::PR_SUPPORTED
            | name::RECONFIG_SUPPORTED
            | name::INTERLEAVING_SUPPORTED
            | name::ASCONF_SUPPORTED
            | name::ECN_SUPPORTED
            | name::PKTDROP_SUPPORTED
            | name::AUTH_SUPPORTED => {
                return self.supported(id, option, given);
            }
            name::DEFAULT_PRINFO => return self.default_policy(id, given),
            name::PR_ASSOC_STATUS | name::PR_STREAM_STATUS => {
                return self.given_up(id, option, given);
            }
            name::ENABLE_STREAM_RESET => return self.stream_reset(id, given),
            name::STREAM_SCHEDULER_VALUE => return self.stream_value(id, given),
            name::PEER_ADDR_PARAMS => return self.get_path(id, given),
            name::REMOTE_UDP_ENCAPS_PORT => return self.encapsulation(id, given),
            name::PLPMTUD_PROBE_INTERVAL => return self.probe_interval(id, given),
            name::PEER_ADDR_THLDS | name::PEER_ADDR_THLDS_V2 => {
                return self.thresholds(id, option, given);
            }
            name::EXPOSE_POTENTIALLY_FAILED_STATE => return self.exposure(id, given),
            name::EVENTS
            | name::EVENT
            | name::CONTEXT
            | name::DEFAULT_SEND_PARAM
            | name::DEFAULT_SNDINFO => return self.message_option(id, option, given),
            name::HMAC_IDENT
            | name::AUTH_ACTIVE_KEY
            | name::PEER_AUTH_CHUNKS
            | name::LOCAL_AUTH_CHUNKS => return self.auth(id, option, given),
            name::AUTOCLOSE if !self.socket(id)?.many => return Err(errno::EOPNOTSUPP),
            name::MAXSEG => return self.max_segment(id, number, given.len()),
            _ => {}
        }
        let socket = self.socket(id)?;
        let (many, o) = (socket.many, &socket.options);
        let mut s = Struct::default();
        let flag = |on: bool| int(u32::from(on));
        match option {
            name::INITMSG => {
                let tries = o.config.profile.limits.max_init_retransmits as u16;
                s.u16(o.config.outbound_streams).u16(o.config.inbound_streams).u16(tries);
                s.u16(o.max_init_timeout);
            }
            name::NODELAY => s.0 = flag(o.config.no_delay),
            name::DISABLE_FRAGMENTS => s.0 = flag(!o.config.fragmentation),
            name::AUTOCLOSE => s.0 = int(o.autoclose),
            name::ADAPTATION_LAYER => s.0 = int(o.config.adaptation.unwrap_or(0)),
            // §8.1.20: by default 1 for one-to-many sockets, 0 for others.
            name::FRAGMENT_INTERLEAVE => s.0 = int(o.level(many)),
            name::PARTIAL_DELIVERY_POINT => s.0 = int(o.partial_delivery),
            name::I_WANT_MAPPED_V4_ADDR => s.0 = flag(o.mapped_v4),
            name::RECVRCVINFO => s.0 = flag(o.receive_info),
            name::RECVNXTINFO => s.0 = flag(o.next_info),
            name::USE_EXT_RCVINFO => s.0 = flag(o.extended_info),
            name::EXPLICIT_EOR => s.0 = flag(o.explicit_end),
            name::REUSE_PORT => s.0 = flag(o.reuse_port),
            name::AUTO_ASCONF => s.0 = flag(o.config.follow_host_addresses),
            _ => return Err(cannot_get(option)),
        }
        Ok(s.0)
    }

    /// A one-to-many socket has the association of that number; SCTP_FUTURE_ASSOC, SCTP_CURRENT_ASSOC
    /// and SCTP_ALL_ASSOC are none.
    pub(super) fn check_number(&self, id: u64, number: u32) -> Fallible<()> {
        let socket = self.sockets.get(&id).ok_or(errno::EBADF)?;
        let unknown = socket.many && number > 2 && self.association_of(id, number).is_none();
        if unknown { Err(errno::EINVAL) } else { Ok(()) }
    }

    /// What comes from the profile of the association, or of the socket.
    pub(super) fn profile_option(
        &mut self,
        id: u64,
        option: i32,
        given: &[u8],
    ) -> Fallible<Vec<u8>> {
        let number = number_in(option, given);
        let association = self.association_of(id, number).map(|(n, a)| (n, a.core));
        let socket = self.sockets.get(&id).ok_or(errno::EBADF)?;
        if socket.many && number > 2 && association.is_none() {
            return Err(errno::EINVAL);
        }
        let live = association.and_then(|(_, core)| {
            self.raw
                .act(|e, _| e.config(core).cloned().map(|c| (c, e.path_stats(core), e.stats(core))))
        });
        let (config, paths, stats) = match live {
            Some((config, paths, stats)) => (config, paths, stats.unwrap_or_default()),
            None => {
                (socket.options.config.clone(), Vec::new(), tresse::AssociationStats::default())
            }
        };
        let number = association.map_or(number, |(n, _)| n);
        let p = &config.profile;
        let ms = |value: f64| value as u32;
        let mut s = Struct::default();
        match option {
            name::RTOINFO => {
                s.u32(number).u32(ms(p.rto.initial_ms)).u32(ms(p.rto.max_ms)).u32(ms(p.rto.min_ms));
            }
            name::ASSOCINFO => {
                s.u32(number).u16(p.limits.association_max_retrans as u16).u16(paths.len() as u16);
                s.u32(stats.peer_rwnd as u32).u32(config.receive_buffer);
                s.u32(ms(p.limits.cookie_life_ms));
            }
            // As `sctp_assoc_value` without the number of packets.
            name::DELAYED_ACK if given.len() == 8 => {
                s.u32(number).u32(ms(p.sack.delay_ms));
            }
            name::DELAYED_ACK if given.len() < 12 => return Err(errno::EINVAL),
            name::DELAYED_ACK => {
                s.u32(number).u32(ms(p.sack.delay_ms)).u32(p.sack.packets);
            }
            name::STREAM_SCHEDULER if given.len() < 8 => return Err(errno::EINVAL),
            name::STREAM_SCHEDULER => {
                s.u32(number).u32(number_of(p.streams.scheduler));
            }
            name::MAX_BURST => s.0 = int_or_value(given.len(), number, p.limits.max_burst)?,
            _ => {
                let on = p.heartbeat.enabled;
                let flags = if on { spp::HB_ENABLE } else { spp::HB_DISABLE };
                let flags = flags | spp::pmtud(config.mtu_discovery);
                let delayed = p.sack.delay_ms > 0.0;
                let flags =
                    flags | if delayed { spp::SACKDELAY_ENABLE } else { spp::SACKDELAY_DISABLE };
                s.0 = given.to_vec();
                s.0.resize(132, 0);
                s.u32(ms(p.heartbeat.interval_ms)).u16(p.limits.path_max_retrans as u16);
                let (labelled, class, flow) = labels_told(config.labels, socket.v6);
                s.u32(config.mtu as u32).u32(ms(p.sack.delay_ms)).u32(flags | labelled);
                s.u32(flow).u8(class).u8(0);
            }
        }
        Ok(s.0)
    }

    /// SCTP_MAXSEG: of an association what fits into one packet, otherwise what was asked for.
    fn max_segment(&mut self, id: u64, number: u32, room: usize) -> Fallible<Vec<u8>> {
        let core = self.association_of(id, number).map(|(_, association)| association.core);
        if self.socket(id)?.many && number > 2 && core.is_none() {
            return Err(errno::EINVAL);
        }
        let info = core.and_then(|core| self.raw.act(|endpoint, _| endpoint.info(core)));
        let asked = self.socket(id)?.options.config.max_segment.map_or(0, |most| most as u32);
        int_or_value(room, number, info.map_or(asked, |info| info.fragmentation_point as u32))
    }

    fn primary(&self, id: u64, number: u32) -> Fallible<(u32, PathStats)> {
        let (number, association) = self.association_of(id, number).ok_or(errno::EINVAL)?;
        let paths = self.raw.act(|endpoint, _| endpoint.path_stats(association.core));
        let path = paths.into_iter().find(|path| path.primary).ok_or(errno::EINVAL)?;
        Ok((number, path))
    }

    fn program_address(&self, id: u64, number: u32, path: &PathStats) -> Fallible<SocketAddr> {
        let port = self.associations.get(&number).ok_or(errno::EINVAL)?.peer.port();
        let socket = self.sockets.get(&id).ok_or(errno::EBADF)?;
        Ok(socket.for_program(SocketAddr::new(path.remote, port)))
    }

    /// `struct sctp_paddrinfo`.
    fn path_info(&self, id: u64, number: u32, path: &PathStats) -> Fallible<Vec<u8>> {
        let state = match path.state {
            PathState::Active => 2,
            PathState::PotentiallyFailed => 1,
            PathState::Unconfirmed => 3,
            _ => 0,
        };
        let ms = |d: std::time::Duration| d.as_millis() as u32;
        let mut s = Struct::default();
        s.u32(number).storage(self.program_address(id, number, path)?).u32(state);
        s.u32(path.cwnd as u32).u32(path.srtt.map_or(0, ms)).u32(ms(path.rto)).u32(path.mtu as u32);
        Ok(s.0)
    }

    /// SCTP_STATUS (RFC 6458 §8.2.1).
    fn status(&mut self, id: u64, number: u32, given: &[u8]) -> Fallible<Vec<u8>> {
        if given.len() < 4 {
            return Err(errno::EINVAL);
        }
        let (number, primary) = self.primary(id, number)?;
        let core = self.associations.get(&number).ok_or(errno::EINVAL)?.core;
        let (info, stats) =
            self.raw.act(|e, _| e.info(core).zip(e.stats(core))).ok_or(errno::EINVAL)?;
        let state = match info.state {
            AssociationState::CookieWait => 2,
            AssociationState::CookieEchoed => 3,
            AssociationState::Established => 4,
            AssociationState::ShutdownPending => 5,
            AssociationState::ShutdownSent => 6,
            AssociationState::ShutdownReceived => 7,
            AssociationState::ShutdownAckSent => 8,
            _ => 1,
        };
        let small = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let mut s = Struct::default();
        s.u32(number).u32(state).u32(stats.peer_rwnd as u32);
        s.u16(small(info.unacknowledged_chunks)).u16(small(info.unread_messages));
        s.u16(info.inbound_streams).u16(info.outbound_streams).u32(info.fragmentation_point as u32);
        s.bytes(&self.path_info(id, number, &primary)?);
        Ok(s.0)
    }

    /// SCTP_GET_PEER_ADDR_INFO (RFC 6458 §8.2.2).
    fn peer_info(&mut self, id: u64, number: u32, given: &[u8]) -> Fallible<Vec<u8>> {
        let peer = Fields(given).storage(4).ok_or(errno::EINVAL)?;
        let (core, path_id) = self.path_of(id, number, canonical(peer))?;
        let number = *self.by_core.get(&core).ok_or(errno::EINVAL)?;
        let paths = self.raw.act(|e, _| e.path_stats(core));
        let path = paths.iter().find(|path| path.id == path_id).ok_or(errno::EINVAL)?;
        let exposure = self.associations.get(&number).map(|association| association.exposure);
        if path.state == PathState::PotentiallyFailed && exposure == Some(Exposure::Disabled) {
            return Err(errno::EACCES);
        }
        self.path_info(id, number, path)
    }

    /// `struct sctp_getaddrs`.
    fn packed(&self, number: u32, names: &[SocketAddr]) -> Fallible<Vec<u8>> {
        let mut s = Struct::default();
        s.u32(number).u32(names.len() as u32);
        for address in names {
            s.bytes(&sockaddr(*address));
        }
        Ok(s.0)
    }

    fn peer_names(&self, id: u64, number: u32) -> Fallible<Vec<u8>> {
        let (number, association) = self.association_of(id, number).ok_or(errno::EINVAL)?;
        let paths = self.raw.act(|endpoint, _| endpoint.path_stats(association.core));
        let names: Fallible<Vec<SocketAddr>> =
            paths.iter().map(|path| self.program_address(id, number, path)).collect();
        let names = names?;
        if names.is_empty() {
            return Err(errno::ENOTCONN);
        }
        self.packed(number, &names)
    }

    /// RFC 6458 §9.5: "If the socket is unbound, sctp_getladdrs() returns 0".
    fn bound_names(&mut self, id: u64, number: u32) -> Fallible<Vec<u8>> {
        let bound = self.socket(id)?.port.is_some();
        let names = if bound { self.local_names(id, number)? } else { Vec::new() };
        self.packed(number, &names)
    }

    /// SCTP_GET_ASSOC_STATS of Linux.
    fn statistics(&self, id: u64, number: u32) -> Fallible<Vec<u8>> {
        let (number, association) = self.association_of(id, number).ok_or(errno::EINVAL)?;
        let core = association.core;
        let stats = self.raw.act(|endpoint, _| endpoint.stats(core)).unwrap_or_default();
        let (_, primary) = self.primary(id, number)?;
        let rto = primary.rto.as_millis() as u64;
        let mut s = Struct::default();
        // The address is aligned to 8 bytes.
        s.u32(number).u32(0).storage(self.program_address(id, number, &primary)?).u64(rto);
        let chunks = stats.data_chunks_sent;
        for n in [
            stats.sacks_received,
            stats.sacks_sent,
            stats.packets_sent,
            stats.packets_received,
            stats.retransmissions(),
            0,
            stats.duplicate_chunks_received,
            0,
            0,
            0,
            chunks,
            stats.data_chunks_received,
            0,
            0,
        ] {
            s.u64(n);
        }
        Ok(s.0)
    }
}
