//! A client of the HTTP door.
//!
//! Lives here: one call at a time. Not here: what is called (`actors.rs`).

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use turmoil::net::TcpStream;

/// What was answered: the code of the envelope, and its data. None where nothing was.
pub(super) type Answer = Option<(u32, Value)>;

/// A connection, made anew where it broke.
pub(super) struct Client {
    key: String,
    open: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    pub(super) fn new(key: &str) -> Self {
        Self { key: format!("Bearer {key}"), open: None }
    }

    /// Waits for at most `patience`. Without an answer it may have been done, or be done later.
    pub(super) async fn post(
        &mut self,
        path: &str,
        body: &Value,
        once: Option<&str>,
        patience: Duration,
    ) -> Answer {
        self.call("POST", path, Some(body), once, patience).await
    }

    pub(super) async fn get(&mut self, path: &str, patience: Duration) -> Answer {
        self.call("GET", path, None, None, patience).await
    }

    async fn call(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        once: Option<&str>,
        patience: Duration,
    ) -> Answer {
        let answer = tokio::time::timeout(patience, self.try_call(method, path, body, once)).await;
        let answer = answer.ok().flatten();
        if answer.is_none() {
            self.open = None;
        }
        answer
    }

    async fn try_call(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        once: Option<&str>,
    ) -> Answer {
        if let Some(sender) = &mut self.open
            && sender.ready().await.is_err()
        {
            self.open = None;
        }
        if self.open.is_none() {
            self.open = Some(connect().await?);
        }
        let sender = self.open.as_mut()?;
        let mut request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", "naven")
            .header("authorization", &self.key)
            .header("content-type", "application/json");
        if let Some(once) = once {
            request = request.header("idempotency-key", once);
        }
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let reply = sender.send_request(request.body(Full::new(body)).ok()?).await.ok()?;
        let bytes = reply.into_body().collect().await.ok()?.to_bytes();
        let mut value: Value = serde_json::from_slice(&bytes).ok()?;
        let code = u32::try_from(value["code"].as_u64()?).ok()?;
        Some((code, value["data"].take()))
    }
}

async fn connect() -> Option<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect("naven:80").await.ok()?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
    tokio::spawn(connection);
    Some(sender)
}
