//! What a program's side of the sockets API and the engine agree on. Both sides are compiled against it, and a
//! library that is loaded into every program needs nothing else of the engine: no stack, no runtime.
//!
//! [`protocol`] has the frames, [`abi`] the numbers and layouts of the sockets API as programs know them, [`options`] those of
//! socket options, [`opening`] what goes with the first message.
//! docs/adr/0008 says why sockets are Unix sockets.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod abi;
pub mod opening;
pub mod options;
pub mod protocol;
