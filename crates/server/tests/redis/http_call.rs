//! Calls of the HTTP door beside the Redis door.
//!
//! Lives here: one call and its answer. Not here: what is called.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::TestServer;

const PATIENCE: Duration = Duration::from_secs(20);

/// A call over HTTP that was sent, and whose answer may take a while.
pub(crate) struct Call(TcpStream);

impl Call {
    pub(crate) async fn send(server: &TestServer, verb: &str, path: &str, body: &str) -> Self {
        let request = format!(
            "{verb} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            server.key,
            body.len()
        );
        let mut stream = TcpStream::connect(server.running.http_addr()).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("the server takes it");
        Self(stream)
    }

    /// What a success answers.
    pub(crate) async fn answer(self) -> Value {
        let (status, body) = self.outcome().await;
        assert!(status.starts_with('2'), "{status}: {body}");
        body["data"].clone()
    }

    /// The status and the body of the answer.
    pub(crate) async fn outcome(mut self) -> (String, Value) {
        let mut answer = String::new();
        let read = tokio::time::timeout(PATIENCE, self.0.read_to_string(&mut answer));
        read.await.expect("it answers in time").expect("it is text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head ends");
        let status = head.split(' ').nth(1).expect("a status").to_owned();
        (status, serde_json::from_str(body).expect("it is JSON"))
    }
}
