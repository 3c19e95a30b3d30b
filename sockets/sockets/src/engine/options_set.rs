//! `setsockopt` (RFC 6458 §8).

use std::net::SocketAddr;
use std::sync::Arc;

use tresse::{AssociationConfig, PathId};

use super::option_names::name;
use super::option_numbers::{ALL_ASSOC, CURRENT_ASSOC, FUTURE_ASSOC};
use super::options::{apply_init, at_least};
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Fields, SCTP, canonical, errno, read_packed};
use tresse_socket_protocol::options::takes;
use tresse_socket_protocol::protocol::flag;

impl Engine {
    /// `setsockopt`.
    pub(super) fn set_option(&mut self, id: u64, option: (i32, i32), value: &[u8]) -> Fallible<()> {
        let (level, option) = option;
        if level == SCTP {
            if !takes(option, value.len()) {
                return Err(errno::EINVAL);
            }
            self.check_set(id, option, value)?;
        }
        match level {
            SCTP => match option {
                name::BINDX_ADD | name::BINDX_REM => {
                    let list = read_packed(value).ok_or(errno::EINVAL)?;
                    self.bind(id, &list, i64::from(option - name::BINDX_ADD + 1))
                }
                name::EVENTS
                | name::EVENT
                | name::RECVRCVINFO
                | name::RECVNXTINFO
                | name::USE_EXT_RCVINFO
                | name::EXPLICIT_EOR
                | name::CONTEXT
                | name::DEFAULT_SEND_PARAM
                | name::DEFAULT_SNDINFO => self.set_messages(id, option, value),
                name::DEFAULT_PRINFO => self.set_default_policy(id, value),
                name::AUTH_CHUNK..=name::AUTH_DELETE_KEY | name::AUTH_DEACTIVATE_KEY => {
                    self.set_auth(id, option, value)
                }
                name::PR_SUPPORTED
                | name::RECONFIG_SUPPORTED
                | name::INTERLEAVING_SUPPORTED
                | name::ASCONF_SUPPORTED
                | name::ECN_SUPPORTED
                | name::PKTDROP_SUPPORTED
                | name::AUTH_SUPPORTED => self.set_supported(id, option, value),
                _ => self.set_sctp(id, option, value),
            },
            _ => self.set_other(id, (level, option), value),
        }
    }

    fn set_sctp(&mut self, id: u64, option: i32, value: &[u8]) -> Fallible<()> {
        let socket = self.socket(id)?;
        let many = socket.many;
        let options = &mut socket.options;
        let f = Fields(value);
        match option {
            name::INITMSG => {
                apply_init(&mut options.config, at_least(value, 8)?);
                if f.u16(6) > 0 {
                    options.max_init_timeout = f.u16(6);
                }
                let port = self.socket(id)?.port;
                return self.refresh_open_port(port);
            }
            name::NODELAY => {
                let on = at_least(value, 4)?.u32(0) != 0;
                return self.reconfigure(id, 0, |config| config.no_delay = on);
            }
            name::DISABLE_FRAGMENTS => {
                let on = at_least(value, 4)?.u32(0) != 0;
                return self.reconfigure(id, 0, |config| config.fragmentation = !on);
            }
            name::AUTOCLOSE => {
                if !many {
                    return Err(errno::EOPNOTSUPP);
                }
                if value.len() != 4 {
                    return Err(errno::EINVAL);
                }
                // In seconds; Linux has no more than a signed number of milliseconds, either.
                options.autoclose = at_least(value, 4)?.u32(0).min(i32::MAX as u32 / 1000);
                self.idle.notify_one();
            }
            name::MAXSEG => return self.set_max_segment(id, value),
            name::ADAPTATION_LAYER => {
                let indication = at_least(value, 4)?.u32(0);
                return self.reconfigure(id, 0, |config| config.adaptation = Some(indication));
            }
            name::AUTO_ASCONF => return self.set_auto_asconf(id, value),
            name::SET_PEER_PRIMARY_ADDR => return self.set_peer_primary(id, value),
            name::FRAGMENT_INTERLEAVE => {
                let level = at_least(value, 4)?.u32(0);
                //= RFC 6458 8.1.20-2
                // RFC 6458 §8.1.20: "an implementation should return an error if an application
                // attempts to set the level to 2 and has not subscribed to the sctp_data_io_event
                // event, which is deprecated, or has enabled the SCTP_RECVRCVINFO socket option".
                let informed = options.receive_flags() & (flag::SNDRCVINFO | flag::RCVINFO) != 0;
                if level > 2 || (level == 2 && !informed) {
                    return Err(errno::EINVAL);
                }
                options.interleave = Some(level);
                return self.refresh_parts(id);
            }
            name::PARTIAL_DELIVERY_POINT => {
                let point = at_least(value, 4)?.u32(0);
                // §8.1.21: "the call will fail if the user attempts to set this value larger than
                // the socket receive buffer size".
                if point > options.receive_buffer {
                    return Err(errno::EINVAL);
                }
                options.partial_delivery = point;
                return self.refresh_parts(id);
            }
            name::I_WANT_MAPPED_V4_ADDR => options.mapped_v4 = at_least(value, 4)?.u32(0) != 0,
            // RFC 6458 §8.1.27: "This option only supports one-to-one style SCTP sockets"; that it
            // comes too late after bind() is EFAULT in Linux.
            name::REUSE_PORT if many || socket.peeled_from.is_some() => {
                return Err(errno::EOPNOTSUPP);
            }
            //= RFC 6458 8.1.27-1
            name::REUSE_PORT if socket.port.is_some() => return Err(errno::EFAULT),
            name::REUSE_PORT => options.reuse_port = at_least(value, 4)?.u32(0) != 0,
            name::REMOTE_UDP_ENCAPS_PORT => return self.set_encapsulation(id, value),
            name::PLPMTUD_PROBE_INTERVAL => return self.set_probe_interval(id, value),
            name::PEER_ADDR_THLDS | name::PEER_ADDR_THLDS_V2 => {
                return self.set_thresholds(id, option, value);
            }
            name::EXPOSE_POTENTIALLY_FAILED_STATE => return self.set_exposure(id, value),
            name::ENABLE_STREAM_RESET => return self.set_stream_reset(id, value),
            name::RESET_STREAMS => return self.reset_streams(id, value),
            name::RESET_ASSOC => return self.reset_association(id, value),
            name::ADD_STREAMS => return self.add_streams(id, value),
            name::STREAM_SCHEDULER => return self.set_stream_scheduler(id, value),
            name::STREAM_SCHEDULER_VALUE => return self.set_stream_value(id, value),
            name::RTOINFO | name::ASSOCINFO | name::DELAYED_ACK | name::MAX_BURST => {
                return self.set_profile(id, option, value);
            }
            name::PEER_ADDR_PARAMS => return self.set_path(id, value),
            name::PRIMARY_ADDR => return self.set_primary(id, value),
            _ => return Err(errno::ENOPROTOOPT),
        }
        Ok(())
    }

    /// Options that are parameters of the profile.
    fn set_profile(&mut self, id: u64, option: i32, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 4)?;
        let wide = value.len() >= 8;
        // DELAYED_ACK once was an integer; MAX_BURST as well.
        let (number, a) = if wide { (f.u32(0), f.u32(4)) } else { (0, f.u32(0)) };
        let ms = |n: u32| f64::from(n);
        match option {
            //= RFC 6458 8.1.1-1 8.1.1-2
            name::RTOINFO => {
                at_least(value, 16)?;
                let (initial, max, min) = (a, f.u32(8), f.u32(12));
                if min > 0 && max > 0 && min > max {
                    return Err(errno::EINVAL);
                }
                self.reconfigure(id, number, |config| {
                    let rto = &mut Arc::make_mut(&mut config.profile).rto;
                    for (field, n) in [
                        (&mut rto.initial_ms, initial),
                        (&mut rto.max_ms, max),
                        (&mut rto.min_ms, min),
                    ] {
                        if n > 0 {
                            *field = ms(n);
                        }
                    }
                })
            }
            //= RFC 6458 8.1.2-1 8.1.2-2
            name::ASSOCINFO => {
                at_least(value, 20)?;
                let (retrans, life) = (u32::from(f.u16(4)), f.u32(16));
                self.reconfigure(id, number, |config| {
                    let limits = &mut Arc::make_mut(&mut config.profile).limits;
                    if retrans > 0 {
                        limits.association_max_retrans = retrans;
                    }
                    if life > 0 {
                        limits.cookie_life_ms = ms(life);
                    }
                })
            }
            //= RFC 6458 8.1.19-1
            name::DELAYED_ACK => {
                let old = value.len() < 12;
                let packets = if old { 0 } else { f.u32(8) };
                if a > 500 {
                    return Err(errno::EINVAL);
                }
                self.reconfigure(id, number, |config| {
                    let sack = &mut Arc::make_mut(&mut config.profile).sack;
                    // As in Linux the older structures have no time that is unchanged.
                    if a > 0 || old {
                        sack.delay_ms = ms(a);
                    }
                    if packets > 0 {
                        sack.packets = packets;
                    }
                })
            }
            _ => self.reconfigure(id, number, |config| {
                Arc::make_mut(&mut config.profile).limits.max_burst = a;
            }),
        }
    }

    //= RFC 6458 8-2
    /// Changes settings of an association, of those that there are, of those to come, or of both, whichever the number means: of
    /// a one-to-one socket always both.
    pub(super) fn reconfigure(
        &mut self,
        id: u64,
        number: u32,
        change: impl Fn(&mut AssociationConfig),
    ) -> Fallible<()> {
        let core = self.association_of(id, number).map(|(_, association)| association.core);
        let socket = self.socket(id)?;
        let (many, port) = (socket.many, socket.port);
        if many && number > ALL_ASSOC {
            return self.change_core(core.ok_or(errno::EINVAL)?, change);
        }
        let mut cores: Vec<tresse::AssociationId> = core.into_iter().collect();
        if many && number != FUTURE_ASSOC {
            let all = socket.associations.clone();
            cores = all.iter().filter_map(|n| self.associations.get(n)).map(|a| a.core).collect();
        }
        let socket = self.socket(id)?;
        let mut config = socket.options.config.clone();
        change(&mut config);
        config.check().map_err(|_| errno::EINVAL)?;
        let buffer = config.send_buffer;
        if !many || number != CURRENT_ASSOC {
            socket.options.config = config;
        }
        for core in cores {
            self.change_core(core, |config| {
                change(config);
                config.send_buffer = if many { config.send_buffer } else { buffer };
            })?;
        }
        self.refresh_open_port(port)
    }

    pub(super) fn change_core(
        &self,
        core: tresse::AssociationId,
        change: impl Fn(&mut AssociationConfig),
    ) -> Fallible<()> {
        self.raw.act(|endpoint, now| {
            let Some(mut config) = endpoint.config(core).cloned() else { return Ok(()) };
            change(&mut config);
            match endpoint.reconfigure(now, core, config) {
                Ok(()) | Err(tresse::AssociationError::NoAssociation) => Ok(()),
                Err(_) => Err(errno::EINVAL),
            }
        })
    }

    /// The path of an association to an address of its peer.
    pub(super) fn path_of(
        &self,
        id: u64,
        number: u32,
        peer: SocketAddr,
    ) -> Fallible<(tresse::AssociationId, PathId)> {
        let by_address = self.association_with(id, peer).unwrap_or(0);
        let number = if number == 0 { by_address } else { number };
        let (_, association) = self.association_of(id, number).ok_or(errno::EINVAL)?;
        let ip = canonical(peer).ip();
        let paths = self.raw.act(|endpoint, _| endpoint.path_stats(association.core));
        let path = paths.iter().find(|path| path.remote == ip).ok_or(errno::EINVAL)?;
        Ok((association.core, path.id))
    }
}
