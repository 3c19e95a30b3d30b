//! The program that opens the association and takes the messages.

use std::net::IpAddr;

use tresse_core::{AssociationConfig, AssociationId, CloseReason, Event, Time};
use tresse_sim::{Application, Context};

use super::sender::payload;

/// Opens an association and checks and times everything that arrives.
pub(super) struct Receiver {
    peer: IpAddr,
    port: u16,
    config: AssociationConfig,
    message_bytes: usize,
    delivered_at: Vec<Time>,
    closed: Option<CloseReason>,
    fault: Option<String>,
}

impl Receiver {
    pub(super) fn new(
        peer: IpAddr,
        port: u16,
        config: AssociationConfig,
        message_bytes: usize,
    ) -> Receiver {
        Receiver {
            peer,
            port,
            config,
            message_bytes,
            delivered_at: Vec::new(),
            closed: None,
            fault: None,
        }
    }

    /// When message `index` reached the application.
    pub(super) fn delivered_at(&self, index: u32) -> Option<Time> {
        self.delivered_at.get(index as usize).copied()
    }

    pub(super) fn check(&self, messages: usize) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.delivered_at.len() != messages {
            return Err(format!("{} of {messages} messages arrived", self.delivered_at.len()));
        }
        match &self.closed {
            Some(CloseReason::Shutdown) => Ok(()),
            Some(other) => Err(format!("the receiver's association ended with {other:?}")),
            None => Err("the receiver's association never ended".into()),
        }
    }
}

impl Application for Receiver {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        if let Err(error) = cx.connect(&[self.peer], self.port, self.config.clone()) {
            self.fault.get_or_insert(format!("no association: {error}"));
        }
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        match event {
            Event::Readable => {
                while let Some(received) = cx.recv(id) {
                    // One ordered stream: messages come in the order of sending, each once.
                    let index = self.delivered_at.len() as u32;
                    if received.payload != payload(index, self.message_bytes) {
                        self.fault.get_or_insert(format!("message {index} is not what was sent"));
                    }
                    self.delivered_at.push(cx.simulation_time());
                }
            }
            Event::Closed(reason) => self.closed = Some(reason),
            _ => {}
        }
    }
}
