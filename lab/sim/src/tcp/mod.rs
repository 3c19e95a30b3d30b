//! The TCP of Linux 2.6.15 as far as it decides when data is sent again: what Pedersen (2006) measured beside SCTP.
//!
//! One connection, data in one direction: [`Source`] on one host, [`Sink`] on the other, both a
//! [`Node`](crate::Node). Segments are real ones, with checksum and options, in captures too. What is modelled:
//!
//! | what | source |
//! |---|---|
//! | time in jiffies: RTT, RTO and timers count ticks of 4 ms (HZ = 250) | Linux |
//! | SRTT, RTTVAR; RTO = SRTT + RTTVAR, where RTTVAR is at least 200 ms; 3 s before the first RTT; doubled by each timeout | RFC 2988, Sarolahti & Kuznetsov (2002) |
//! | RTTs and spurious retransmissions are told by timestamps | RFC 1323, RFC 3522 |
//! | initial window, slow start, congestion avoidance, counted in bytes | RFC 3390, RFC 2581, RFC 3465 |
//! | or BIC, if it is asked for | Xu, Harfoush & Rhee (2004) |
//! | NewReno: three duplicate ACKs; after that one segment each round trip | RFC 3782 |
//! | SACK: as NewReno, but what arrived is known | RFC 2018, RFC 3517 |
//! | FACK: all holes more than three segments below the highest one that arrived are lost | Mathis & Mahdavi (1996) |
//! | D-SACK: a window cut for nothing is restored | RFC 2883 |
//! | the window shrinks by a segment for every second ACK of a recovery (rate halving), never above what is in flight and one segment | Linux |
//! | ACKs for every second segment, after 40 ms or more, at once for 16 segments in the beginning and after a duplicate | RFC 1122 §4.2.3.2, Linux |
//! | small segments wait while a small one is not acknowledged (Nagle in Minshall's form) | RFC 896 |
//!
//! What does not decide anything here is left out: urgent data, ECN, window scaling and the receiver's autotuning
//! (its window is 65 535 bytes), the end of a connection.

mod bic;
mod clock;
mod congestion;
mod delays;
mod options;
mod queue;
mod receiver;
mod recovery;
mod rtt;
mod sack;
mod segment;
mod sender;
mod sink;
mod source;
mod state;
#[cfg(test)]
mod tests;
mod undo;

pub use delays::Delays;
pub use options::{Options, Traffic};
pub use sink::Sink;
pub use source::Source;
