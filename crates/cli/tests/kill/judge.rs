//! Whether what clients saw of one event can be true.
//!
//! Lives here: how each fact narrows the states that an event may be in. A fact that leaves none is a
//! broken promise. What nobody saw may have happened only where the contract lets it: a lease runs
//! out when its time is over, and a claim that was not answered may have leased the event to nobody.
//! Not here: the states (`possible.rs`), collecting facts (`facts.rs`), asking the server
//! (`audit.rs`).
//!
//! Fences put the holds of an event in order, and a hold's calls come one after the other from one
//! holder; so one pass through them in that order sees every interleaving of clients.

use crate::clock::Moment;
use crate::history::{Call, Event, Hold, View};
use crate::possible::{Possible, World};

/// The states that the event may be in after all that clients saw; what cannot be true otherwise.
pub(crate) fn judge(event: &Event, world: World<'_>) -> Result<Vec<Possible>, String> {
    let mut possible = vec![Possible::fresh(event.due)];
    let mut holds = event.holds.iter().peekable();
    while let Some(hold) = holds.next() {
        let next = holds.peek().copied();
        let before = onward(possible, hold.got, world);
        possible = before.iter().filter_map(|state| state.leased_by(hold, world)).collect();
        if possible.is_empty() {
            return Err(format!("the claim with fence {} cannot have followed\n{before:?}", hold.fence));
        }
        for call in &hold.calls {
            possible = after(&possible, hold.fence, call, next, world)?;
        }
    }
    Ok(possible)
}

/// What is left of `possible` after a call with the token of hold `fence`; `next` is the next hold
/// that a client was answered.
pub(crate) fn after(
    possible: &[Possible],
    fence: u64,
    call: &Call,
    next: Option<&Hold>,
    world: World<'_>,
) -> Result<Vec<Possible>, String> {
    let mut left = Vec::new();
    for state in onward(possible.to_vec(), call.got, world) {
        for outcome in state.after(fence, call, next, world) {
            if !left.contains(&outcome) {
                left.push(outcome);
            }
        }
    }
    if !left.is_empty() {
        return Ok(left);
    }
    Err(format!("this cannot have been said to the token of fence {fence}: {call:?}\nin any of {possible:?}"))
}

/// What is left of `possible` when the event looks like `view`, asked for at `sent`, seen at `got`.
pub(crate) fn agree(
    possible: &[Possible],
    view: &View,
    (sent, got): (Moment, Moment),
    world: World<'_>,
) -> Result<Vec<Possible>, String> {
    let all = onward(possible.to_vec(), got, world);
    let left: Vec<_> = all.into_iter().filter_map(|state| state.shown_as(view, sent, got)).collect();
    if !left.is_empty() {
        return Ok(left);
    }
    Err(format!("it cannot look like {view:?}\nin any of {possible:?}"))
}

/// `possible` and what it may have become unseen until `until`.
fn onward(mut possible: Vec<Possible>, until: Moment, world: World<'_>) -> Vec<Possible> {
    let mut at = 0;
    while let Some(state) = possible.get(at) {
        let next = state.run_out(until, world).or_else(|| state.taken_by_nobody(until, world));
        at += 1;
        if let Some(next) = next.filter(|next| !possible.contains(next)) {
            possible.push(next);
        }
    }
    possible
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Due, Kind, Said, Stray};

    /// The lease of the events here, in seconds.
    const LEASE: i64 = 10;

    /// `ms` milliseconds into the run, in which nothing was killed.
    fn at(ms: i64) -> Moment {
        Moment { up_us: ms * 1_000, sure_us: ms * 1_000, wall_ms: ms }
    }

    fn hold(ms: i64, attempts: u32, expiries: u32, calls: Vec<Call>) -> Hold {
        let ends_ms = ms + LEASE * 1_000;
        let (sent, got) = (at(ms), at(ms + 1));
        Hold { fence: 0, token: String::new(), attempts, expiries, ends_ms, sent, got, calls }
    }

    fn call(ms: i64, kind: Kind, said: Option<Said>) -> Call {
        Call { kind, sent: at(ms), got: at(ms + 1), said }
    }

    fn acked(at_ms: i64, replayed: bool) -> Option<Said> {
        Some(Said::Acked { replayed, at_ms })
    }

    /// An event that was due at 1000 ms, with these holds, the first under fence 1.
    fn event(holds: Vec<Hold>) -> Event {
        let holds = (1..).zip(holds).map(|(fence, hold)| Hold { fence, ..hold }).collect();
        Event {
            number: 0,
            queue: 0,
            batch: None,
            id: None,
            answered: true,
            due: Due::at(1_000),
            attempts_max: 3,
            holds,
            fence_seen: 0,
            over_seen: false,
            over: None,
        }
    }

    fn world(strays: &[Stray]) -> World<'_> {
        World { strays, lease_us: LEASE * 1_000_000, attempts_max: 3 }
    }

    fn view(state: &str, fence: u64, attempts: u32, expiries: u32) -> View {
        View { state: state.to_owned(), fence, attempts, expiries, next_ms: None, settled_ms: None }
    }

    fn is_possible(holds: Vec<Hold>) -> bool {
        judge(&event(holds), world(&[])).is_ok()
    }

    /// Whether the event may look like this at `ms`.
    fn may_look(holds: Vec<Hold>, view: &View, ms: i64) -> bool {
        let possible = judge(&event(holds), world(&[])).expect("a history that can be true");
        agree(&possible, view, (at(ms), at(ms + 1)), world(&[])).is_ok()
    }

    #[test]
    fn an_acked_event_that_is_delivered_again_is_found() {
        let ack = || vec![call(1_500, Kind::Ack, acked(1_500, false))];
        assert!(is_possible(vec![hold(1_000, 1, 0, ack())]));
        assert!(!is_possible(vec![hold(1_000, 1, 0, ack()), hold(60_000, 2, 1, vec![])]));
        let looks = |view| may_look(vec![hold(1_000, 1, 0, ack())], &view, 60_000);
        assert!(looks(View { settled_ms: Some(1_500), ..view("done", 1, 1, 0) }));
        assert!(!looks(View { settled_ms: Some(1_501), ..view("done", 1, 1, 0) }));
        assert!(!looks(view("leased", 1, 1, 0)));
    }

    #[test]
    fn a_second_lease_before_the_end_of_the_first_is_found() {
        let again = |ms, attempts, expiries| {
            is_possible(vec![hold(1_000, 1, 0, vec![]), hold(ms, attempts, expiries, vec![])])
        };
        assert!(again(11_000, 2, 1));
        assert!(!again(10_990, 2, 1));
        assert!(!again(11_000, 1, 1), "an expiry counts an attempt");
        assert!(!again(11_000, 2, 0), "an expiry is counted");
    }

    #[test]
    fn an_answered_heartbeat_that_is_forgotten_is_found() {
        let beat = call(9_000, Kind::Heartbeat, Some(Said::Extended { ends_ms: 19_000 }));
        let free = View { next_ms: Some(12_000), ..view("ready", 1, 1, 1) };
        assert!(may_look(vec![hold(1_000, 1, 0, vec![])], &free, 12_000));
        assert!(!may_look(vec![hold(1_000, 1, 0, vec![beat])], &free, 12_000));
    }

    #[test]
    fn an_event_that_comes_before_its_time_is_found() {
        assert!(is_possible(vec![hold(1_000, 1, 0, vec![])]));
        assert!(!is_possible(vec![hold(990, 1, 0, vec![])]));
        let nacked = Said::Nacked { replayed: false, state: "retrying".into(), next_ms: Some(3_100) };
        let fail = || vec![call(1_100, Kind::Fail(Some(2)), Some(nacked.clone()))];
        let again = |ms| is_possible(vec![hold(1_000, 1, 0, fail()), hold(ms, 2, 0, vec![])]);
        assert!(again(3_100));
        assert!(!again(3_090));
        let moved = View { next_ms: Some(3_101), ..view("retrying", 1, 1, 0) };
        assert!(!may_look(vec![hold(1_000, 1, 0, fail())], &moved, 1_200));
    }

    #[test]
    fn an_unanswered_ack_took_effect_or_not_and_a_repeat_says_which() {
        let history = || event(vec![hold(1_000, 1, 0, vec![call(1_500, Kind::Ack, None)])]);
        let seen = |view: View| {
            let possible = judge(&history(), world(&[])).expect("a history that can be true");
            agree(&possible, &view, (at(2_000), at(2_001)), world(&[]))
        };
        let done = seen(View { settled_ms: Some(1_500), ..view("done", 1, 1, 0) }).expect("it took effect");
        let leased = seen(view("leased", 1, 1, 0)).expect("it did not");
        assert!(seen(View { next_ms: Some(1_500), ..view("ready", 1, 1, 0) }).is_err(), "it did neither");
        let repeat = |possible: &[Possible], at_ms, replayed| {
            let call = call(3_000, Kind::Ack, acked(at_ms, replayed));
            after(possible, 1, &call, None, world(&[])).is_ok()
        };
        assert!(repeat(&done, 1_500, true) && !repeat(&done, 3_000, false));
        assert!(repeat(&leased, 3_000, false) && !repeat(&leased, 1_500, true));
    }

    #[test]
    fn only_an_unanswered_claim_leases_to_nobody() {
        let stray = Stray { queue: 0, sent: at(2_000), lost: at(2_500), most: 1 };
        let event = event(vec![]);
        let leased = view("leased", 1, 1, 0);
        for (strays, may_be) in [(&[stray][..], true), (&[], false)] {
            let possible = judge(&event, world(strays)).expect("nothing was seen of it yet");
            let seen = agree(&possible, &leased, (at(3_000), at(3_001)), world(strays));
            assert_eq!(seen.is_ok(), may_be);
        }
    }

    #[test]
    fn attempts_that_are_used_up_end_it() {
        let holds =
            || vec![hold(1_000, 1, 0, vec![]), hold(11_000, 2, 1, vec![]), hold(21_000, 3, 2, vec![])];
        assert!(may_look(holds(), &view("dead", 3, 3, 3), 31_000));
        assert!(!may_look(holds(), &view("dead", 3, 3, 3), 30_000), "its lease is live");
        let free = View { next_ms: Some(31_000), ..view("ready", 3, 3, 3) };
        assert!(!may_look(holds(), &free, 31_000));
    }

    #[test]
    fn a_call_that_is_taken_without_a_live_lease_is_found() {
        let acked = |ms| vec![hold(1_000, 1, 0, vec![call(ms, Kind::Ack, acked(ms, false))])];
        assert!(is_possible(acked(11_000)), "clocks are read once for a batch of calls");
        assert!(!is_possible(acked(12_000)));
        let refused = |ms, code| {
            is_possible(vec![hold(1_000, 1, 0, vec![call(ms, Kind::Ack, Some(Said::Refused(code)))])])
        };
        assert!(refused(11_000, 40_900));
        assert!(!refused(10_900, 40_900), "the lease is live");
        assert!(!refused(11_000, 40_901), "nobody else had it");
        assert!(!refused(11_000, 40_402), "it is there");
    }
}
