//! Rows of deliveries: the core's own value behind the number of its event.
//!
//! Lives here: its bytes. Not here: what it means (`naven-core`).

use bytes::Bytes;
use naven_api::{ErrorText, Timestamp};
use naven_core::{ConsumerNo, DeadReason, Delivery, Ending, Lease, LeaseTime, Outcome, Past, State};

use super::codec::{Dec, Enc};
use super::key::Arrival;
use super::told::{get_reported, get_result, put_reported, put_result};

/// The row's bytes.
pub(crate) fn encode(arrival: Arrival, delivery: &Delivery) -> Bytes {
    let mut enc = Enc(Vec::with_capacity(128));
    enc.u64(arrival.0);
    put_state(&mut enc, delivery.state);
    enc.u32(delivery.round).u64(delivery.fence).u32(delivery.attempts).u32(delivery.expiries);
    enc.u64(delivery.redis_count).i64(delivery.due.as_ms());
    enc.option(delivery.last.as_ref(), put_outcome);
    enc.option(delivery.last_error.as_ref(), |enc, error| {
        enc.text(error.as_str());
    });
    enc.option(delivery.over_at, put_time);
    put_rare(&mut enc, delivery);
    enc.list(&delivery.log, put_past);
    enc.done()
}

/// The row behind the bytes.
pub(crate) fn decode(bytes: Bytes) -> Option<(Arrival, Delivery)> {
    let mut dec = Dec(bytes);
    let arrival = Arrival(dec.u64()?);
    let mut delivery = Delivery {
        state: get_state(&mut dec)?,
        round: dec.u32()?,
        fence: dec.u64()?,
        attempts: dec.u32()?,
        expiries: dec.u32()?,
        redis_count: dec.u64()?,
        due: get_time(&mut dec)?,
        last: dec.option(get_outcome)?,
        last_error: dec.option(Dec::text)?.map(|text| ErrorText::new(&text)),
        progress: None,
        result: None,
        over_at: dec.option(get_time)?,
        cancel_requested: false,
        cancel_reason: None,
        log: Vec::new(),
    };
    get_rare(&mut dec, &mut delivery)?;
    delivery.log = dec.list(get_past)?;
    dec.end((arrival, delivery))
}

/// What few deliveries have: one byte says which of it follows.
fn put_rare(enc: &mut Enc, delivery: &Delivery) {
    let Delivery { cancel_requested, cancel_reason: reason, progress, result, .. } = delivery;
    let flags = [*cancel_requested, reason.is_some(), progress.is_some(), result.is_some()];
    enc.u8((0..).zip(flags).map(|(bit, is_there)| u8::from(is_there) << bit).sum());
    reason.iter().for_each(|reason| {
        enc.text(reason.as_str());
    });
    progress.iter().for_each(|reported| put_reported(enc, reported));
    result.iter().for_each(|result| put_result(enc, result));
}

fn get_rare(dec: &mut Dec, delivery: &mut Delivery) -> Option<()> {
    let flags = dec.u8().filter(|flags| *flags < 16)?;
    let is_there = |bit: u8| flags >> bit & 1 == 1;
    delivery.cancel_requested = is_there(0);
    if is_there(1) {
        delivery.cancel_reason = Some(ErrorText::new(&dec.text()?));
    }
    if is_there(2) {
        delivery.progress = Some(Box::new(get_reported(dec)?));
    }
    if is_there(3) {
        delivery.result = Some(get_result(dec)?);
    }
    Some(())
}

fn put_time(enc: &mut Enc, at: Timestamp) {
    enc.i64(at.as_ms());
}

fn get_time(dec: &mut Dec) -> Option<Timestamp> {
    dec.i64().map(Timestamp::from_ms)
}

fn put_lease(enc: &mut Enc, lease: Lease) {
    enc.i64(lease.since.as_ms()).i64(lease.until.as_ms());
}

fn get_lease(dec: &mut Dec) -> Option<Lease> {
    Some(Lease { since: LeaseTime::from_ms(dec.i64()?), until: LeaseTime::from_ms(dec.i64()?) })
}

fn put_state(enc: &mut Enc, state: State) {
    match state {
        State::Ready => enc.u8(0),
        State::Retrying => enc.u8(1),
        State::Leased(lease) => {
            put_lease(enc.u8(2), lease);
            enc
        }
        State::Held { consumer, since, until: None } => enc.u8(3).u32(consumer.0).i64(since.as_ms()),
        State::Held { consumer, since, until: Some(until) } => {
            enc.u8(7).u32(consumer.0).i64(since.as_ms()).i64(until.as_ms())
        }
        State::Done => enc.u8(4),
        State::Dead(reason) => enc.u8(5).u8(reason_number(reason)),
        State::Cancelled => enc.u8(6),
    };
}

fn get_state(dec: &mut Dec) -> Option<State> {
    Some(match dec.u8()? {
        0 => State::Ready,
        1 => State::Retrying,
        2 => State::Leased(get_lease(dec)?),
        has_end @ (3 | 7) => State::Held {
            consumer: ConsumerNo(dec.u32()?),
            since: LeaseTime::from_ms(dec.i64()?),
            until: if has_end == 7 { Some(LeaseTime::from_ms(dec.i64()?)) } else { None },
        },
        4 => State::Done,
        5 => State::Dead(*DeadReason::ALL.get(usize::from(dec.u8()?))?),
        6 => State::Cancelled,
        _ => return None,
    })
}

/// A reason's number on disk: its place in the list.
pub(crate) fn reason_number(reason: DeadReason) -> u8 {
    DeadReason::ALL.iter().position(|&known| known == reason).expect("every reason is in the list") as u8
}

fn put_ending(enc: &mut Enc, ending: Ending) {
    let number = Ending::ALL.iter().position(|&known| known == ending).expect("every ending is in the list");
    enc.u8(number as u8);
}

fn get_ending(dec: &mut Dec) -> Option<Ending> {
    Ending::ALL.get(usize::from(dec.u8()?)).copied()
}

fn put_outcome(enc: &mut Enc, outcome: &Outcome) {
    put_ending(enc, outcome.ending);
    enc.i64(outcome.at.as_ms()).option(outcome.next_at, put_time).option(outcome.lapsed, put_lease);
}

fn get_outcome(dec: &mut Dec) -> Option<Outcome> {
    Some(Outcome {
        ending: get_ending(dec)?,
        at: get_time(dec)?,
        next_at: dec.option(get_time)?,
        lapsed: dec.option(get_lease)?,
    })
}

/// Appends one past hold.
pub(crate) fn put_past(enc: &mut Enc, past: &Past) {
    enc.u64(past.fence).option(past.consumer.as_deref(), |enc, name| {
        enc.text(name);
    });
    enc.i64(past.leased_at.as_ms()).list(&past.heartbeats, |enc, at| put_time(enc, *at));
    enc.option(past.ended, |enc, (at, ending)| {
        put_time(enc, at);
        put_ending(enc, ending);
    });
    enc.option(past.error.as_deref(), |enc, error| {
        enc.text(error);
    });
}

/// Reads one past hold.
pub(crate) fn get_past(dec: &mut Dec) -> Option<Past> {
    Some(Past {
        fence: dec.u64()?,
        consumer: dec.option(Dec::text)?,
        leased_at: get_time(dec)?,
        heartbeats: dec.list(get_time)?,
        ended: dec.option(|dec| Some((get_time(dec)?, get_ending(dec)?)))?,
        error: dec.option(Dec::text)?,
    })
}

#[cfg(test)]
mod tests {
    use naven_api::{AckResult, NoteText, Percent, Progress};
    use naven_core::Reported;

    use super::*;

    #[test]
    fn every_state_comes_back_from_its_bytes() {
        let lease = Lease { since: LeaseTime::from_ms(5), until: LeaseTime::from_ms(-6) };
        let mut states =
            vec![State::Ready, State::Retrying, State::Leased(lease), State::Done, State::Cancelled];
        for until in [None, Some(LeaseTime::from_ms(-7))] {
            states.push(State::Held { consumer: ConsumerNo(8), since: LeaseTime::from_ms(9), until });
        }
        states.extend(DeadReason::ALL.map(State::Dead));
        for state in states {
            let mut delivery =
                Delivery { state, fence: 3, round: 2, ..Delivery::fresh(Timestamp::from_ms(77)) };
            let row = |delivery: &Delivery| decode(encode(Arrival(5), delivery));
            assert_eq!(row(&delivery), Some((Arrival(5), delivery.clone())));
            for ending in Ending::ALL {
                let at = Timestamp::from_ms(1);
                delivery.last = Some(Outcome { ending, at, next_at: Some(at), lapsed: Some(lease) });
                delivery.log.push(Past {
                    fence: 3,
                    consumer: Some("w".into()),
                    leased_at: at,
                    heartbeats: vec![at, at],
                    ended: Some((at, ending)),
                    error: Some("no".into()),
                });
            }
            (delivery.last_error, delivery.over_at) =
                (Some(ErrorText::new("é\0")), Some(Timestamp::from_ms(3)));
            assert_eq!(row(&delivery), Some((Arrival(5), delivery.clone())));
            let progress = Progress::new(Percent::try_from(7).ok(), Some(NoteText::new("é")));
            let reported =
                progress.map(|progress| Box::new(Reported { progress, at: Timestamp::from_ms(4) }));
            (delivery.progress, delivery.result) = (reported, AckResult::parse("[1, 2]"));
            for (asked, reason) in [(true, None), (true, Some("stop")), (false, Some("stop"))] {
                delivery.cancel_requested = asked;
                delivery.cancel_reason = reason.map(ErrorText::new);
                assert_eq!(row(&delivery), Some((Arrival(5), delivery.clone())));
            }
        }
    }
}
