//! The server as it describes itself.
//!
//! Lives here: `GET /v1/system`. Not here: health checks, which are for load balancers.

use naven_api::system::SystemReply;

use crate::client::{Call, Client};
use crate::error::Error;

impl Client {
    /// What the server says of itself: version, engine, limits. Needs the scope `admin`.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// What every call may meet.
    pub async fn system(&self) -> Result<SystemReply, Error> {
        self.send(Call::get(&["system"], &[])).await
    }
}
