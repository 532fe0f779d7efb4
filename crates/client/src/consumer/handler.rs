//! Handlers: what they may answer, and how they are run.
//!
//! Lives here: turning any answer, error or panic into an outcome. Not here: what an outcome does (`settling.rs`).

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::task::JoinError;

use super::builder::Undecodable;
use super::delivery::{Delivery, Facts};
use super::hold::{Hold, News};
use super::outcome::Outcome;

/// What a handler may answer: an [`Outcome`], nothing at all (done), or a result of either, of which an error is a retry
/// by the queue's backoff.
pub trait IntoOutcome {
    /// The outcome that it stands for.
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Outcome::Done
    }
}

impl<T: IntoOutcome, E: Into<Box<dyn StdError + Send + Sync>>> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(answer) => answer.into_outcome(),
            Err(error) => Outcome::retry(chain(error.into().as_ref())),
        }
    }
}

/// An error with all its causes: `cannot send: connection refused`.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let why = error.to_string();
        // Some errors name their cause in their own words.
        if !text.ends_with(&why) {
            text.push_str(": ");
            text.push_str(&why);
        }
        cause = error.source();
    }
    text
}

pub(crate) type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;
/// A handler of any type of payload.
pub(crate) type Handler<F> = Arc<dyn Fn(Handed<F>) -> Running + Send + Sync>;

/// What any handler is made to work with.
pub(crate) struct Handed<F> {
    pub(crate) facts: Arc<F>,
    pub(crate) hold: Arc<Hold>,
    pub(crate) news: News,
}

/// `handler`, with its payload decoded.
pub(super) fn handler<T, F, R>(
    handler: impl Fn(Delivery<T>) -> F + Send + Sync + 'static,
    undecodable: Undecodable,
) -> Handler<Facts>
where
    T: DeserializeOwned + Send + 'static,
    F: Future<Output = R> + Send + 'static,
    R: IntoOutcome,
{
    let handler = Arc::new(handler);
    Arc::new(move |handed| {
        let handler = Arc::clone(&handler);
        Box::pin(async move {
            let Handed { facts, hold, news } = handed;
            match serde_json::from_str(facts.raw.get()) {
                Ok(payload) => handler(Delivery { payload, facts, hold, news }).await.into_outcome(),
                Err(error) => {
                    let error = format!("the payload is not what the handler takes: {error}");
                    undecodable.outcome(error)
                }
            }
        })
    })
}

/// What a handler that did not answer stands for.
pub(crate) fn unanswered(error: JoinError) -> Outcome {
    match error.try_into_panic() {
        Ok(panic) => Outcome::retry(format!("the handler panicked: {}", said(panic.as_ref()))),
        // Its executor is being shut down, or it was dropped by us.
        Err(_) => Outcome::Release,
    }
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot send")]
    struct CannotSend(#[source] io::Error);

    #[test]
    fn an_error_is_a_retry_that_names_all_causes_once() {
        let answer: Result<(), _> = Err(CannotSend(io::Error::other("no route")));
        assert_eq!(answer.into_outcome(), Outcome::retry("cannot send: no route"));
        let answer: Result<Outcome, _> = Err("plain");
        assert_eq!(answer.into_outcome(), Outcome::retry("plain"));
    }

    #[test]
    fn nothing_is_done_and_an_outcome_is_itself() {
        assert_eq!(().into_outcome(), Outcome::Done);
        let answer: Result<Outcome, io::Error> = Ok(Outcome::Release);
        assert_eq!(answer.into_outcome(), Outcome::Release);
    }
}
