//! A publisher: each of its events is published until it is answered.
//!
//! Lives here: what it publishes when. Not here: the network that carries it (`floor.rs`).

use bytes::Bytes;
use naven_api::Timestamp;
use naven_store::queue::QueueRef;
use naven_store::txn::{Append, Body, DedupeKey, DedupeSpace, Due, Form, OpKind, StreamRef, Target};

use super::floor::{Floor, Heard, Note, Once, Wish};
use crate::history::{Ask, Publish};

/// The stream that all queues read.
pub(super) const STREAM: &str = "orders";

#[derive(Debug)]
pub(super) struct Publisher {
    no: usize,
    is_shared: bool,
    left: usize,
    /// What is published now, until it is answered.
    current: Option<Box<Append>>,
    asks: Vec<(naven_api::QueueId, Ask)>,
    asked: Option<usize>,
    /// The request that was the first to say it.
    first: Option<usize>,
    published: usize,
}

impl Publisher {
    pub(super) fn new(no: usize, is_shared: bool, events: usize, floor: &mut Floor) -> Self {
        floor.wake(no, floor.dice.between(0..=500), Note::Go);
        Self {
            no,
            is_shared,
            left: events,
            current: None,
            asks: Vec::new(),
            asked: None,
            first: None,
            published: 0,
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.left == 0 && self.current.is_none()
    }

    pub(super) fn wakes(&mut self, floor: &mut Floor) {
        if self.asked.is_some() || self.is_done() {
            return;
        }
        if self.current.is_none() {
            self.left -= 1;
            self.begin(floor);
        }
        if let Some(append) = &self.current {
            let once = Some(self.first.map_or(Once::First, Once::As));
            let wish = Wish { op: OpKind::Append(Append::clone(append)), asks: self.asks.clone(), once };
            let request = floor.send(self.no, wish);
            self.asked = Some(request);
            self.first.get_or_insert(request);
        }
    }

    fn begin(&mut self, floor: &Floor) {
        self.published += 1;
        self.first = None;
        let dice = &floor.dice;
        let due_ms = dice.percent(30).then(|| floor.wall_ms() + dice.between(-1_000..=8_000));
        let max_attempts = dice.percent(10).then(|| dice.between(1..=3) as u32);
        let publish = Publish { due_ms, max_attempts, expires_at_ms: None };
        let (to, queues) = if self.is_shared {
            (Target::Stream(StreamRef(Bytes::from_static(STREAM.as_bytes()))), floor.queues.clone())
        } else {
            let queue = dice.one_of(&floor.queues);
            (Target::Queue(QueueRef::Id(queue)), vec![queue])
        };
        self.asks = queues.into_iter().map(|queue| (queue, Ask::Publish(publish))).collect();
        let text = format!("{{\"of\":{},\"n\":{}}}", self.no, self.published);
        self.current = Some(Box::new(Append {
            to,
            body: Body { form: Form::Json, bytes: Bytes::from(text) },
            due: due_ms.map_or(Due::Now, |ms| Due::At(Timestamp::from_ms(ms))),
            headers: Vec::new(),
            max_attempts,
            dedupe: Some(DedupeKey {
                space: DedupeSpace::Http,
                key: Bytes::from(format!("{}-{}", self.no, self.published)),
            }),
            expires_at: None,
            trace: None,
            entry: None,
        }));
    }

    pub(super) fn hears(&mut self, request: usize, heard: &Heard, floor: &mut Floor) {
        if self.asked.take_if(|asked| *asked == request).is_none() {
            return;
        }
        match heard {
            Heard::Answer(Ok(_)) => self.current = None,
            Heard::Answer(Err(naven_store::reply::OpError::Refused(refused))) => {
                floor.odd.push(format!("a publish was refused: {refused:?}"));
                self.current = None;
            }
            Heard::Answer(Err(_)) | Heard::Nothing => {}
        }
        floor.wake(self.no, floor.dice.between(5..=1_500), Note::Go);
    }
}
