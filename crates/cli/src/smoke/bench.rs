//! A queue of its own for each check, and the calls that checks are made of.
//!
//! Lives here: making and removing queues, and claims that must or must not find something. Not here:
//! what is checked.

use anyhow::{Context, ensure};
use naven_api::{LeaseSeconds, QueueName, WaitSeconds};
use naven_client::{ClaimReply, ClaimRequest, Client, Event, PublishRequest, QueueCreateRequest};
use naven_client::{Unfinished, payload};
use naven_server::SystemRandom;
use naven_store::Random;

/// What is published: its text must come back byte for byte.
pub(crate) const PAYLOAD: &str = r#"{"from":"naven smoke","digits":1.50,"name":"a","name":"b"}"#;

/// A server under test.
pub(crate) struct Bench {
    pub(crate) client: Client,
}

/// One queue on it.
pub(crate) struct TestQueue<'a> {
    pub(crate) client: &'a Client,
    pub(crate) name: String,
}

impl Bench {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Makes a queue whose name nobody else uses.
    pub(crate) async fn queue(&self) -> anyhow::Result<TestQueue<'_>> {
        self.queue_of_attempts(None).await
    }

    /// The same, whose events are given up after so many attempts.
    pub(crate) async fn queue_of_attempts(&self, max_attempts: Option<u32>) -> anyhow::Result<TestQueue<'_>> {
        let name = format!("smoke-{}", naven_api::base32::encode_u128(SystemRandom.draw_u128()));
        let mut request = QueueCreateRequest::new(name.parse::<QueueName>()?);
        request.fields.max_attempts = max_attempts;
        self.client.create_queue(&request).await.context("a queue for the check")?;
        Ok(TestQueue { client: &self.client, name })
    }
}

impl TestQueue<'_> {
    pub(crate) async fn publish(&self) -> anyhow::Result<Event> {
        let event = PublishRequest::new(payload::from_json(PAYLOAD)?);
        self.client.publish(&self.name, &event).await.context("publish")
    }

    /// A claim that must find an event.
    pub(crate) async fn claim(&self, lease_seconds: u32, wait_seconds: u32) -> anyhow::Result<ClaimReply> {
        let claim = self.try_claim(lease_seconds, wait_seconds).await?;
        let claim = claim.with_context(|| format!("no event came within {wait_seconds} s"))?;
        let text = claim.event.payload.get();
        ensure!(text == PAYLOAD, "the payload came back changed: {text}");
        Ok(claim)
    }

    /// A claim that must find none.
    pub(crate) async fn is_empty(&self) -> anyhow::Result<()> {
        let claim = self.try_claim(1, 0).await?;
        ensure!(claim.is_none(), "an event was delivered that should not have been");
        Ok(())
    }

    async fn try_claim(&self, lease_seconds: u32, wait_seconds: u32) -> anyhow::Result<Option<ClaimReply>> {
        let claim = ClaimRequest {
            lease_seconds: Some(LeaseSeconds::try_from(lease_seconds)?),
            wait_seconds: Some(WaitSeconds::try_from(wait_seconds)?),
            consumer_id: Some("naven-smoke".parse()?),
        };
        self.client.claim(&self.name, &claim).await.context("claim")
    }

    /// Removes the queue: a running server keeps no trace of the check but dead letters of a failed one.
    pub(crate) async fn remove(self) -> anyhow::Result<()> {
        self.client.delete_queue(&self.name, Unfinished::Bury).await.context("removing the queue")?;
        Ok(())
    }
}
