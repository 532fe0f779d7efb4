//! A group of a stream, whatever its server offers.
//!
//! Lives here: which means each step goes by. Not here: the means (`scripted.rs`, `commands.rs`).

use std::rc::Rc;

use super::commands::Commanded;
use super::error::Error;
use super::link::{Link, Means, Shared};
use super::scripted::Scripted;
use super::step::{Found, Handed, Look, Names, Standing, Word};

/// A group with the way to its server.
pub(super) struct Group {
    pub(super) link: Link,
    pub(super) names: Names,
}

/// A group over a connection, by the means that its server has.
pub(super) enum On<'a> {
    Scripts(Scripted<'a>),
    Commands(Commanded<'a>),
}

impl Group {
    pub(super) fn on<'a>(&'a self, shared: &'a Rc<Shared>) -> On<'a> {
        let (link, names) = (&self.link, &self.names);
        match &shared.means {
            Means::Scripts(scripts) => On::Scripts(Scripted { link, shared, scripts, names }),
            Means::Commands => On::Commands(Commanded { link, shared, names }),
        }
    }

    /// Removes the consumer where nothing is pending with it; answers whether it did.
    pub(super) async fn leave(&self) -> Result<bool, Error> {
        match self.on(&self.link.shared().await?) {
            On::Scripts(scripted) => scripted.leave().await,
            // Looking first and removing then is not one step, and what is pending with it then is a dead letter.
            On::Commands(_) => Ok(false),
        }
    }

    /// Drops what every group has acked; answers how much that was.
    pub(super) async fn trim(&self) -> Result<u64, Error> {
        match self.on(&self.link.shared().await?) {
            On::Scripts(scripted) => scripted.trim().await,
            On::Commands(commanded) => commanded.trim().await,
        }
    }
}

impl On<'_> {
    /// Says something of an entry that is ours.
    pub(super) async fn say(&self, of: Handed, word: &Word) -> Result<Standing, Error> {
        match self {
            Self::Scripts(scripted) => scripted.say(of, word).await,
            Self::Commands(commanded) => commanded.say(of, word).await,
        }
    }

    /// Takes what is pending.
    pub(super) async fn take(&self, look: &Look) -> Result<Found, Error> {
        match self {
            Self::Scripts(scripted) => scripted.take(look).await,
            Self::Commands(commanded) => commanded.take(look).await,
        }
    }
}
