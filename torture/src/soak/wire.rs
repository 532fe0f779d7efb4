//! A connection to the Redis door that can also break off.
//!
//! Lives here: calls, and calls whose answers nobody reads. Not here: what is called (`reader.rs`, `publisher.rs`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpStream;

use super::http::Open;
use super::scene::{Counted, Scene};
use crate::node::resp::{Client, Value, bytes_of};
use crate::simulation::Dice;

/// Longest wait for a reply.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection.
pub(super) struct Wire {
    scene: Arc<Scene>,
    client: Client<TcpStream>,
    _counted: Counted,
}

impl Wire {
    /// None where there is no server, or it lets nobody in any more.
    pub(super) async fn connect(scene: &Arc<Scene>) -> Option<Self> {
        let Open { stream, counted } = Open::redis(scene).await?;
        match Client::over(stream, &scene.key, PATIENCE).await {
            Ok(client) => Some(Self { scene: Arc::clone(scene), client, _counted: counted }),
            Err(error) => {
                // It was answered, and not let in.
                if error.kind() == io::ErrorKind::Other {
                    scene.is_wrong(format!("AUTH was answered {error}"));
                }
                None
            }
        }
    }

    /// After an error the connection is of no use any more.
    pub(super) async fn call(&mut self, words: &[&str]) -> io::Result<Value> {
        self.scene.ledger.calls.fetch_add(1, Ordering::Relaxed);
        let value = self.client.call(words).await;
        match &value {
            // It shuts down, or the group is there already.
            Ok(Value::Error(text)) if ["TRYAGAIN", "BUSYGROUP"].iter().any(|code| text.starts_with(code)) => {
            }
            Ok(Value::Error(text)) => self.scene.is_wrong(format!("{} was answered {text}", words[0])),
            Ok(_) => {}
            Err(error) => {
                self.scene.ledger.silent.fetch_add(1, Ordering::Relaxed);
                if error.kind() == io::ErrorKind::TimedOut {
                    self.scene.is_wrong(format!("no reply within {PATIENCE:?} to {}", words[0]));
                }
            }
        }
        value
    }

    /// Sends a call and goes away before its reply.
    pub(super) async fn unread(mut self, words: &[&str], dice: &Dice) {
        self.scene.ledger.note_fault("reply lost");
        drop(self.client.send(&bytes_of(words)).await);
        super::scene::pause(dice.one_of(&[0, 0, 1, 20])).await;
    }

    /// Sends a part of a call and goes away.
    pub(super) async fn cut(mut self, words: &[&str], dice: &Dice) {
        self.scene.ledger.note_fault("call cut");
        let bytes = bytes_of(words);
        let upto = dice.count(1..=bytes.len() - 1);
        drop(self.client.send(&bytes[..upto]).await);
        super::scene::pause(dice.between(0..=50)).await;
    }
}
