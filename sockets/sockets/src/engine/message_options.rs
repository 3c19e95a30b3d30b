//! Options that concern single messages and notifications (RFC 6458 §6.2, §8.1).

use super::notification::{Notification, SENDER_DRY_BIT, bit_of};
use super::option_names::name;
use super::option_numbers::{ALL_ASSOC, CURRENT_ASSOC, FUTURE_ASSOC, number_in};
use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Fields, Struct, canonical, errno, sinfo};
use tresse_socket_protocol::protocol::{TxHeader, flag};

/// What `sinfo_flags` and `snd_flags` of defaults may have in Linux.
fn check_flags(flags: u16) -> Fallible<()> {
    let known = sinfo::UNORDERED | sinfo::ADDR_OVER | sinfo::ABORT | sinfo::EOF;
    if flags & !known == 0 { Ok(()) } else { Err(errno::EINVAL) }
}

impl Engine {
    /// `setsockopt`.
    pub(super) fn set_messages(&mut self, id: u64, option: i32, value: &[u8]) -> Fallible<()> {
        let socket = self.socket(id)?;
        let options = &mut socket.options;
        let f = Fields(value);
        match option {
            name::EVENTS => {
                let known = value.iter().take(14).enumerate();
                let asked: u16 = known.map(|(n, on)| u16::from(*on != 0) << n).sum();
                return self.subscribe(id, ALL_ASSOC, |_| asked);
            }
            name::EVENT => {
                let (number, kind, on) = (at_least(value, 8)?.u32(0), f.u16(4), f.u8(6) != 0);
                let bit = bit_of(kind).ok_or(errno::EINVAL)?;
                let change = |events| if on { events | bit } else { events & !bit };
                return self.subscribe(id, number, change);
            }
            name::RECVRCVINFO => options.receive_info = at_least(value, 4)?.u32(0) != 0,
            name::RECVNXTINFO => options.next_info = at_least(value, 4)?.u32(0) != 0,
            name::USE_EXT_RCVINFO => options.extended_info = at_least(value, 4)?.u32(0) != 0,
            name::EXPLICIT_EOR => options.explicit_end = at_least(value, 4)?.u32(0) != 0,
            name::CONTEXT => {
                let context = f.u32(4);
                return self.set_defaults(id, f.u32(0), |own| *own.1 = context);
            }
            name::DEFAULT_SEND_PARAM => {
                check_flags(f.u16(4))?;
                let defaults = TxHeader {
                    stream: f.u16(0),
                    sinfo_flags: f.u16(4),
                    ppid: f.u32(8),
                    context: f.u32(12),
                    pr_value: f.u32(16),
                    ..TxHeader::default()
                };
                return self.set_defaults(id, f.u32(28), |own| *own.0 = defaults);
            }
            _ => {
                check_flags(f.u16(2))?;
                // How reliable messages are is told by SCTP_DEFAULT_PRINFO, and stays.
                return self.set_defaults(id, f.u32(12), |(own, _)| {
                    *own = TxHeader {
                        stream: f.u16(0),
                        sinfo_flags: f.u16(2) | own.sinfo_flags & sinfo::POLICY,
                        ppid: f.u32(4),
                        context: f.u32(8),
                        ..*own
                    };
                });
            }
        }
        Ok(())
    }

    /// Changes what is told of one association, of those that there are, of those to come, or of all: whichever the number
    /// means. A one-to-one socket has one of them at most.
    fn subscribe(&mut self, id: u64, number: u32, change: impl Fn(u16) -> u16) -> Fallible<()> {
        let one = self.association_of(id, number).map(|(number, _)| number);
        let socket = self.socket(id)?;
        if socket.many && number > ALL_ASSOC && one.is_none() {
            return Err(errno::EINVAL);
        }
        let all = socket.associations.clone();
        if !socket.many || matches!(number, FUTURE_ASSOC | ALL_ASSOC) {
            let options = &mut socket.options;
            options.events = change(options.events);
            let dry = options.events & SENDER_DRY_BIT != 0;
            if std::mem::replace(&mut options.config.report_dry, dry) != dry {
                let port = socket.port;
                self.refresh_open_port(port)?;
            }
        }
        let chosen = match one {
            Some(number) => vec![number],
            None if number == FUTURE_ASSOC => Vec::new(),
            None => all.into_iter().collect(),
        };
        for number in chosen {
            let Some(association) = self.associations.get_mut(&number) else { continue };
            let before = association.events;
            association.events = change(before);
            let (after, dry) = (association.events, SENDER_DRY_BIT);
            if (before ^ after) & dry != 0 {
                self.report_dry(id, number, after & dry != 0)?;
            }
        }
        Ok(())
    }

    /// Changes what holds for messages of one association, of those to come, or of both: whichever
    /// the number means.
    pub(super) fn set_defaults(
        &mut self,
        id: u64,
        number: u32,
        change: impl Fn((&mut TxHeader, &mut u32)),
    ) -> Fallible<()> {
        let one = self.association_of(id, number).map(|(number, _)| number);
        let socket = self.socket(id)?;
        let (many, options) = (socket.many, &mut socket.options);
        if many && number > ALL_ASSOC && one.is_none() {
            return Err(errno::EINVAL);
        }
        if one.is_none() && (!many || number != CURRENT_ASSOC) {
            change((&mut options.defaults, &mut options.context));
        }
        let chosen: Vec<u32> = match one {
            Some(number) => vec![number],
            None if many && number != FUTURE_ASSOC => socket.associations.iter().copied().collect(),
            None => Vec::new(),
        };
        for number in chosen {
            if let Some(association) = self.associations.get_mut(&number) {
                change((&mut association.defaults, &mut association.context));
            }
        }
        Ok(())
    }

    /// Fills in what the program left to the defaults.
    pub(super) fn complete(&self, id: u64, header: TxHeader) -> TxHeader {
        let Some(socket) = self.sockets.get(&id) else { return header };
        if header.flags & (flag::DEFAULTS | flag::DEFAULT_RELIABILITY) == 0 {
            return header;
        }
        let number = match header.address.filter(|_| socket.many && header.association == 0) {
            Some(address) => self.association_with(id, canonical(address)),
            None => self.association_of(id, header.association).map(|(number, _)| number),
        };
        let association = number.and_then(|number| self.associations.get(&number));
        let defaults = association.map_or(&socket.options.defaults, |a| &a.defaults);
        let mut header = header;
        if header.flags & flag::DEFAULT_RELIABILITY != 0 {
            header.pr_value = defaults.pr_value;
            // As in Linux, `snd_flags` may have the policy for the default's value.
            if header.sinfo_flags & sinfo::POLICY == 0 {
                header.sinfo_flags |= defaults.sinfo_flags & sinfo::POLICY;
            }
        }
        if header.flags & flag::DEFAULTS != 0 {
            header.sinfo_flags |= defaults.sinfo_flags & !sinfo::POLICY;
            (header.stream, header.ppid) = (defaults.stream, defaults.ppid);
            header.context = defaults.context;
        }
        header
    }

    /// SCTP_SENDER_DRY_EVENT was asked for, or is not wanted any more.
    fn report_dry(&mut self, id: u64, number: u32, on: bool) -> Fallible<()> {
        let Some(association) = self.associations.get(&number) else { return Ok(()) };
        let (core, up) = (association.core, association.established && !association.ended);
        self.change_core(core, |config| config.report_dry = on)?;
        let dry = self.raw.act(|endpoint, _| {
            endpoint.config(core).is_some_and(|c| endpoint.send_space(core) == c.send_buffer)
        });
        // RFC 6458 §6.1.9: "at the time when a user app subscribes to this event, if there is no data to be sent or
        // retransmit, the stack will immediately send up this notification".
        if on && up && dry {
            self.notify(id, number, &Notification::SenderDry);
        }
        Ok(())
    }

    /// `getsockopt`.
    pub(super) fn message_option(
        &mut self,
        id: u64,
        option: i32,
        given: &[u8],
    ) -> Fallible<Vec<u8>> {
        let f = Fields(given);
        let number = number_in(option, given);
        let one = self.association_of(id, number).map(|(number, _)| number);
        if one.is_none() && number > 2 && self.socket(id)?.many {
            return Err(errno::EINVAL);
        }
        let socket = self.sockets.get(&id).ok_or(errno::EBADF)?;
        let (number, o) = (one.unwrap_or(number), &socket.options);
        let association = one.and_then(|number| self.associations.get(&number));
        let (d, context) =
            association.map_or((&o.defaults, o.context), |a| (&a.defaults, a.context));
        let events = association.map_or(o.events, |a| a.events);
        let mut s = Struct::default();
        match option {
            name::CONTEXT => {
                s.u32(number).u32(context);
            }
            name::EVENTS => {
                (0..14).for_each(|n| {
                    s.u8(u8::from(o.events & 1 << n != 0));
                });
            }
            name::EVENT => {
                let kind = f.u16(4);
                let bit = bit_of(kind).ok_or(errno::EINVAL)?;
                s.u32(number).u16(kind).u8(u8::from(events & bit != 0)).u8(0);
            }
            name::DEFAULT_SEND_PARAM => {
                s.u16(d.stream).u16(0).u16(d.sinfo_flags).u16(0).u32(d.ppid).u32(d.context);
                s.u32(d.pr_value).u32(0).u32(0).u32(number);
            }
            _ => {
                let flags = d.sinfo_flags & !sinfo::POLICY;
                s.u16(d.stream).u16(flags).u32(d.ppid).u32(d.context).u32(number);
            }
        }
        Ok(s.0)
    }
}
