//! Backups of a running server.
//!
//! Lives here: taking one as its bytes come. Not here: what is in it, and checking that it is whole
//! (`naven_store::embedded::backup`, the command line).

use serde::de::IgnoredAny;

use crate::answer;
use crate::client::{Client, read_whole};
use crate::error::Error;

/// A backup on its way. Dropping it ends the backup.
#[derive(Debug)]
pub struct BackupStream {
    response: reqwest::Response,
}

impl Client {
    /// Begins a backup of everything. Needs the scope `admin` over every queue. The call as a whole has
    /// no time limit; two minutes without a byte end it.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `operation_running` where another one is under way, `draining`, and what every call may meet.
    pub async fn backup(&self) -> Result<BackupStream, Error> {
        let response = self.begin(&["system", "backup"]).await?;
        if response.status().is_success() {
            return Ok(BackupStream { response });
        }
        let (status, headers, body) = read_whole(response).await?;
        answer::read::<IgnoredAny>(status, &headers, &body, answer::Partly::IsFailure)?;
        Err(Error::Decode { status, why: "a failure without a code".to_owned() })
    }
}

impl BackupStream {
    /// The next bytes; none at the end. That they are a whole backup is told by its end mark alone.
    ///
    /// # Errors
    /// Where the connection broke: what came so far is no backup.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let chunk = self.response.chunk().await.map_err(Error::from_transport)?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}
