//! What `naven-torture` can be told to do, a file each: `Arguments` and `run`, which answers exit code 0
//! where nothing was found and 1 where something was.

pub(crate) mod check;
pub(crate) mod model;
pub(crate) mod say;
pub(crate) mod simulate;
pub(crate) mod soak;
