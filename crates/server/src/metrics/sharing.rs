//! One look at a time, shared by those who ask meanwhile.
//!
//! Lives here: who waits, who looks, and who takes what another one saw. Not here: looking (`scrape.rs`).

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::Mutex;

/// What was seen last.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Looks that were begun.
    begun: AtomicU64,
    /// The last look's number and what it saw; locked while one is under way.
    last: Mutex<(u64, Bytes)>,
}

impl Shared {
    /// What `look` sees, or another one that was begun after this was asked. Cancel safe: the next one in
    /// line looks then.
    ///
    /// # Errors
    /// What `look` says. Nobody shares a failure.
    pub(super) async fn get<E>(&self, look: impl Future<Output = Result<Bytes, E>>) -> Result<Bytes, E> {
        let asked = self.begun.load(Ordering::Relaxed);
        let mut last = self.last.lock().await;
        if last.0 > asked {
            return Ok(last.1.clone());
        }
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let seen = look.await?;
        *last = (number, seen.clone());
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    /// A look that takes a second and says its number. None goes on while another one does.
    async fn look(looks: Arc<AtomicUsize>, under_way: Arc<AtomicUsize>) -> Result<Bytes, ()> {
        assert_eq!(under_way.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
        sleep(Duration::from_secs(1)).await;
        under_way.fetch_sub(1, Ordering::SeqCst);
        Ok(Bytes::from(vec![looks.fetch_add(1, Ordering::SeqCst) as u8]))
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_ask_meanwhile_share_the_next_look() {
        let (shared, looks, under_way) =
            (Arc::new(Shared::default()), Arc::default(), Arc::<AtomicUsize>::default());
        let ask = |after_ms: u64| {
            let (shared, looks, under_way) =
                (Arc::clone(&shared), Arc::clone(&looks), Arc::clone(&under_way));
            tokio::spawn(async move {
                sleep(Duration::from_millis(after_ms)).await;
                shared.get(look(looks, under_way)).await.expect("it sees")[0]
            })
        };
        // One begins, ten come while it looks, and one long after.
        let asking: Vec<_> = [0].into_iter().chain(100..110).chain([5_000]).map(ask).collect();
        let mut seen = Vec::new();
        for asking in asking {
            seen.push(asking.await.expect("it ends"));
        }
        assert_eq!(seen, [&[0][..], &[1; 10], &[2]].concat());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_and_a_look_that_was_left_are_nobodys() {
        let shared = Shared::default();
        let say = |word: &'static str| async move { Ok(Bytes::from_static(word.as_bytes())) };
        let slow = async {
            sleep(Duration::from_secs(1)).await;
            say("slow").await
        };
        // The other two wait for the first, which was begun before they had asked.
        let all = tokio::join!(shared.get(slow), shared.get(async { Err(7) }), shared.get(say("own")));
        assert_eq!(all, (Ok("slow".into()), Err(7), Ok("own".into())));
        let left = shared.get(std::future::pending::<Result<Bytes, u8>>());
        assert!(tokio::time::timeout(Duration::from_secs(1), left).await.is_err());
        assert_eq!(shared.get::<u8>(say("next")).await, Ok("next".into()));
    }
}
