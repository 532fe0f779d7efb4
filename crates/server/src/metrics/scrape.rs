//! One look at everything.
//!
//! Lives here: what a node counts, and the text of it and of what is looked up. Not here: how often that is
//! done (`sharing.rs`), and the answer (`http/metrics.rs`).

use bytes::Bytes;
use prometheus::Registry;

use super::calls::Calls;
use super::doors::Doors;
use super::figures::Figures;
use super::page::Page;
use super::sharing::Shared;
use super::{node, process};
use crate::config::MetricsAccess;
use crate::failure::Failure;
use crate::node::Node;

/// What a node counts, and who may see it.
pub(crate) struct Metrics {
    pub(crate) access: MetricsAccess,
    pub(crate) calls: Calls,
    pub(crate) doors: Doors,
    registry: Registry,
    shared: Shared,
}

impl Metrics {
    pub(crate) fn new(access: MetricsAccess) -> Self {
        let registry = Registry::new();
        Self {
            access,
            calls: Calls::new(&registry),
            doors: Doors::new(&registry),
            registry,
            shared: Shared::default(),
        }
    }

    /// The text of everything as it stands, of `node`, which these are of.
    ///
    /// # Errors
    /// 50000.
    pub(crate) async fn scrape(&self, node: &Node) -> Result<Bytes, Failure> {
        self.shared.get(self.look(node)).await
    }

    async fn look(&self, node: &Node) -> Result<Bytes, Failure> {
        // An engine that has failed is told of, not answered with a failure.
        let figures =
            Figures::read(node).await.inspect_err(|error| tracing::debug!(%error, "no figures")).ok();
        let mut page = Page::default();
        node::tell(node, &mut page);
        node::tell_engine(node, figures.as_ref().map(|figures| figures.system), &mut page);
        let registry = self.registry.clone();
        let write = move || {
            process::tell(&mut page);
            if let Some(figures) = figures {
                figures.tell(&mut page);
            }
            page.text(&registry)
        };
        // Thousands of lines take a moment, in which other calls are served.
        let written = tokio::task::spawn_blocking(write).await;
        let text = written.map_err(|error| Failure::internal(error.to_string()))?;
        Ok(text.map_err(|error| Failure::internal(error.to_string()))?.into())
    }
}
