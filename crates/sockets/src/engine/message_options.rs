//! Options that concern single messages and notifications (RFC 6458 §6.2, §8.1).

use super::notification::{Notification, event};
use super::option_names::name;
use super::options::at_least;
use super::{Engine, Fallible};
use crate::abi::{Fields, Struct, errno};
use crate::protocol::TxHeader;

impl Engine {
    /// `setsockopt`.
    pub(super) fn set_messages(&mut self, id: u64, option: i32, value: &[u8]) -> Fallible<()> {
        let socket = self.socket(id)?;
        let options = &mut socket.options;
        let before = options.events;
        let f = Fields(value);
        match option {
            name::EVENTS => {
                if value.is_empty() || value.len() > 64 {
                    return Err(errno::EINVAL);
                }
                // Programs ask for all that there are; what they get, they can read back.
                let known = value.iter().take(14).enumerate();
                let asked: u16 = known.map(|(n, on)| u16::from(*on != 0) << n).sum();
                options.events = asked & event::TOLD;
            }
            name::EVENT => {
                let (kind, on) = (at_least(value, 8)?.u16(4), f.u8(6) != 0);
                if !(event::DATA_IO..=event::LAST).contains(&kind) {
                    return Err(errno::EINVAL);
                }
                let bit = 1 << (kind - event::DATA_IO);
                if on && bit & event::TOLD == 0 {
                    // What it tells of belongs to an extension that is not there.
                    return Err(errno::EOPNOTSUPP);
                }
                options.events = if on { options.events | bit } else { options.events & !bit };
            }
            name::RECVRCVINFO => options.receive_info = at_least(value, 4)?.u32(0) != 0,
            name::RECVNXTINFO => options.next_info = at_least(value, 4)?.u32(0) != 0,
            name::CONTEXT => options.context = at_least(value, 8)?.u32(4),
            name::DEFAULT_SEND_PARAM => {
                at_least(value, 32)?;
                options.defaults = TxHeader {
                    stream: f.u16(0),
                    sinfo_flags: f.u16(4),
                    ppid: f.u32(8),
                    context: f.u32(12),
                    lifetime: f.u32(16),
                    association: f.u32(28),
                    ..TxHeader::default()
                };
            }
            _ => {
                at_least(value, 16)?;
                options.defaults = TxHeader {
                    stream: f.u16(0),
                    sinfo_flags: f.u16(2),
                    ppid: f.u32(4),
                    context: f.u32(8),
                    association: f.u32(12),
                    ..TxHeader::default()
                };
            }
        }
        let new = options.events & !before;
        if (options.events ^ before) & event::SENDER_DRY_BIT != 0 {
            self.report_dry(id, new & event::SENDER_DRY_BIT != 0)?;
        }
        Ok(())
    }

    /// SCTP_SENDER_DRY_EVENT was asked for, or is not wanted any more.
    fn report_dry(&mut self, id: u64, on: bool) -> Fallible<()> {
        self.reconfigure(id, 0, |config| config.report_dry = on)?;
        let numbers: Vec<u32> = self.socket(id)?.associations.iter().copied().collect();
        for number in numbers {
            let Some(association) = self.associations.get(&number) else { continue };
            let (core, up) = (association.core, association.established && !association.ended);
            self.change_core(core, |config| config.report_dry = on)?;
            let dry = self.raw.act(|endpoint, _| {
                endpoint.config(core).is_some_and(|c| endpoint.send_space(core) == c.send_buffer)
            });
            // RFC 6458 §6.1.9: "at the time when a user app subscribes to this event, if there is
            // no data to be sent or retransmit, the stack will immediately send up this
            // notification".
            if on && up && dry {
                self.notify(id, number, &Notification::SenderDry);
            }
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
        let number = f.u32(0);
        let o = &self.socket(id)?.options;
        let d = &o.defaults;
        let mut s = Struct::default();
        match option {
            name::CONTEXT => {
                s.u32(number).u32(o.context);
            }
            name::EVENTS => {
                (0..14).for_each(|n| {
                    s.u8(u8::from(o.events & 1 << n != 0));
                });
            }
            name::EVENT => {
                let kind = f.u16(4);
                let bit = kind.checked_sub(0x8000).filter(|n| *n < 14).ok_or(errno::EINVAL)?;
                s.u32(number).u16(kind).u8(u8::from(o.events & 1 << bit != 0)).u8(0);
            }
            name::DEFAULT_SEND_PARAM => {
                s.u16(d.stream).u16(0).u16(d.sinfo_flags).u16(0).u32(d.ppid).u32(d.context);
                s.u32(d.lifetime).u32(0).u32(0).u32(d.association);
            }
            _ => {
                s.u16(d.stream).u16(d.sinfo_flags).u32(d.ppid).u32(d.context).u32(d.association);
            }
        }
        Ok(s.0)
    }
}
