//! The engine behind the sockets API of RFC 6458.
//!
//! An engine ([`engine::Server`]) hosts the SCTP stack. Programs talk to it through a C library or
//! through `tresse run`; either way each of their sockets is a connection to the engine's path
//! ([`tresse_socket_protocol`]), so that the kernel itself sees to blocking, `poll`, `fork`, `dup` and
//! `close`. docs/adr/0008 says why.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod engine;
