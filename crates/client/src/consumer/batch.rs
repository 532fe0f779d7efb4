//! Words of many leases in one call.
//!
//! Lives here: collecting what is said while calls are under way, and handing out the answers. Not here: the calls
//! (`http.rs`).
//!
//! Nothing waits to be joined by others: a word goes out at once where few calls are under way, and what is said while
//! they are goes out together. One consumer that works on little has the latency of single calls, and one that works on
//! much has their cost by the hundred.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use tokio::sync::oneshot;
use tokio::task::spawn_local;

/// Calls under way at once: each is a connection.
const CALLS_MAX: usize = 8;

/// Answers as many as it is given, in their order.
type Call<W, A> = Box<dyn Fn(Vec<W>) -> Pin<Box<dyn Future<Output = Vec<A>>>>>;

/// Makes calls for many words. Used within a `LocalSet`.
pub(super) struct Batches<W, A>(Rc<Inner<W, A>>);

struct Inner<W, A> {
    call: Call<W, A>,
    /// Most words of one call.
    most: usize,
    state: RefCell<State<W, A>>,
}

struct State<W, A> {
    /// Who says it hears the answer.
    waiting: VecDeque<(W, oneshot::Sender<A>)>,
    calls: usize,
}

impl<W: 'static, A: 'static> Batches<W, A> {
    pub(super) fn new<F>(most: usize, call: impl Fn(Vec<W>) -> F + 'static) -> Self
    where
        F: Future<Output = Vec<A>> + 'static,
    {
        let call: Call<W, A> = Box::new(move |words| Box::pin(call(words)));
        let state = RefCell::new(State { waiting: VecDeque::new(), calls: 0 });
        Self(Rc::new(Inner { call, most, state }))
    }

    /// Says a word, and waits for its answer: none where the call was given up.
    ///
    /// Cancel safety: dropped before its call went out, it is not said; after that it may or may not have taken effect.
    pub(super) async fn say(&self, word: W) -> Option<A> {
        let (tell, told) = oneshot::channel();
        {
            let mut state = self.0.state.borrow_mut();
            state.waiting.push_back((word, tell));
            if state.calls < CALLS_MAX {
                state.calls += 1;
                spawn_local(Inner::make_calls(Rc::clone(&self.0)));
            }
        }
        told.await.ok()
    }
}

impl<W, A> Inner<W, A> {
    /// Makes one call after the other, for as long as there is something to say.
    async fn make_calls(self: Rc<Self>) {
        // Whatever becomes of a call, its place is free again.
        let _place = Place(Rc::clone(&self));
        loop {
            let (words, tellers) = self.take();
            if words.is_empty() {
                return;
            }
            let answers = (self.call)(words).await;
            for (tell, answer) in tellers.into_iter().zip(answers) {
                // Who asked may have gone.
                let _ = tell.send(answer);
            }
        }
    }

    /// What is said by those that still wait.
    fn take(&self) -> (Vec<W>, Vec<oneshot::Sender<A>>) {
        let mut state = self.state.borrow_mut();
        let (mut words, mut tellers) = (Vec::new(), Vec::new());
        while words.len() < self.most
            && let Some((word, tell)) = state.waiting.pop_front()
        {
            if !tell.is_closed() {
                words.push(word);
                tellers.push(tell);
            }
        }
        (words, tellers)
    }
}

struct Place<W, A>(Rc<Inner<W, A>>);

impl<W, A> Drop for Place<W, A> {
    fn drop(&mut self) {
        self.0.state.borrow_mut().calls -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::task::LocalSet;
    use tokio::time::{sleep, timeout};

    use super::*;

    /// The words of each call.
    type Calls = Rc<RefCell<Vec<Vec<u32>>>>;

    /// Notes the words of each call, and answers them after 10 ms.
    fn batches(most: usize) -> (Rc<Batches<u32, u32>>, Calls) {
        let calls = Calls::default();
        let noting = Rc::clone(&calls);
        let batches = Batches::new(most, move |words: Vec<u32>| {
            noting.borrow_mut().push(words.clone());
            async move {
                sleep(Duration::from_millis(10)).await;
                words.into_iter().map(|word| word * 10).collect()
            }
        });
        (Rc::new(batches), calls)
    }

    #[tokio::test(start_paused = true)]
    async fn words_go_out_at_once_and_together_while_calls_are_under_way() {
        let (batches, calls) = batches(5);
        LocalSet::new()
            .run_until(async move {
                let say = |word| {
                    let batches = Rc::clone(&batches);
                    spawn_local(async move { batches.say(word).await })
                };
                let all: Vec<_> = (0..20).map(say).collect();
                for (word, said) in (0..20).zip(all) {
                    assert_eq!(said.await.unwrap(), Some(word * 10));
                }
            })
            .await;
        let sizes: Vec<usize> = calls.borrow().iter().map(Vec::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 20);
        assert!(sizes.iter().all(|size| *size <= 5), "{sizes:?}");
        assert!(sizes.len() < 20, "some went together: {sizes:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_gone_is_not_spoken_for() {
        let (batches, calls) = batches(1);
        LocalSet::new()
            .run_until(async move {
                let busy: Vec<_> = (0..CALLS_MAX as u32)
                    .map(|word| {
                        let batches = Rc::clone(&batches);
                        spawn_local(async move { batches.say(word).await })
                    })
                    .collect();
                sleep(Duration::from_millis(1)).await;
                assert!(timeout(Duration::from_millis(5), batches.say(99)).await.is_err());
                for said in busy {
                    assert!(said.await.unwrap().is_some());
                }
                assert_eq!(batches.say(7).await, Some(70), "places are free again");
            })
            .await;
        assert!(!calls.borrow().iter().flatten().any(|word| *word == 99));
    }
}
