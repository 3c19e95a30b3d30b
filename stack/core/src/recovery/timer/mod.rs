//! Timers: how long to wait for what was not reported at all.

pub(crate) mod asked_sack;
pub(crate) mod dynamic_rto_min;
pub(crate) mod rto_restart;
pub(crate) mod t3_rtx;
pub(crate) mod tail_loss_probe;
pub(crate) mod thin_no_backoff;
pub(crate) mod thin_rto_min;
