//! Entries at the places that their publishers ask for.
//!
//! Lives here: places, streams that are made, trims that come with a publish. Not here: what leaves a stream
//! otherwise (`trimming.rs`).

use super::bench::Bench;
use super::streams::{stream, to_queue, to_stream};
use crate::queue::{Retention, StreamChanges};
use crate::read::{Page, Read};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{
    Append, DedupeKey, DedupeSpace, Due, EntryWish, From, GroupOp, Keep, OpKind, Place, PlaceWish, SetId,
    Trimming,
};

/// A place.
pub fn at(ms: u64, seq: u64) -> Place {
    Place { ms, seq }
}

/// An entry for a stream that is made where it is missing.
pub fn entry(name: &str, place: PlaceWish) -> Append {
    let wish = EntryWish { make_stream: true, place, trim: None };
    Append { entry: Some(Box::new(wish)), ..to_stream(name, "{}") }
}

impl Bench {
    /// Adds an entry, and answers its place.
    ///
    /// # Errors
    /// What the engine refuses it with.
    pub fn add(&self, name: &str, place: PlaceWish) -> Result<Place, OpError> {
        match self.ask(OpKind::Append(entry(name, place)))? {
            OpReply::Event(view) => Ok(view.place.expect("an entry has a place")),
            other => panic!("adding to {name}: {other:?}"),
        }
    }

    /// Adds one at exactly this place.
    #[track_caller]
    pub fn add_at(&self, name: &str, ms: u64, seq: u64) {
        assert_eq!(self.add(name, PlaceWish::Exactly(at(ms, seq))), Ok(at(ms, seq)));
    }
}

pub fn an_entry_gets_the_place_that_it_is_wished(bench: &Bench) {
    bench.add_at("s", 5, 5);
    assert_eq!(bench.add("s", PlaceWish::In(5)), Ok(at(5, 6)));
    assert_eq!(bench.add("s", PlaceWish::In(9)), Ok(at(9, 0)));
    let next = bench.add("s", PlaceWish::Next).expect("there is room");
    assert!(next > at(9, 0));
    let places: Vec<_> = bench.entries("s").iter().map(|entry| entry.place).collect();
    assert_eq!(places, [at(5, 5), at(5, 6), at(9, 0), next]);
    let view = bench.stream("s");
    assert_eq!((view.added, view.added_told, view.last), (4, 4, next));
    assert_eq!(view.settings.retention, Retention::Trim);
}

pub fn a_place_that_is_taken_is_refused_and_makes_nothing(bench: &Bench) {
    let taken: Result<Place, OpError> = Err(Refused::PlaceTaken.into());
    assert_eq!(bench.add("s", PlaceWish::Exactly(at(0, 0))), taken);
    assert_eq!(bench.read(crate::read::Read::Stream(stream("s"))), Err(Refused::StreamNotFound.into()));
    assert_eq!(bench.add("s", PlaceWish::In(0)), Ok(at(0, 1)));
    bench.add_at("s", 7, u64::MAX);
    for wish in [PlaceWish::Exactly(at(7, u64::MAX)), PlaceWish::Exactly(at(1, 1)), PlaceWish::In(7)] {
        assert_eq!(bench.add("s", wish), taken, "{wish:?}");
    }
    assert_eq!(bench.add("s", PlaceWish::In(6)), taken);
    // A place is one of the present: what is due later gets its own when its time comes.
    let later = Append { due: Due::In(9.try_into().expect("9 s")), ..entry("s", PlaceWish::In(8)) };
    assert_eq!(bench.ask(OpKind::Append(later)), Err(Refused::WrongState.into()));
    bench.queue("mail");
    let lane = Append { entry: entry("s", PlaceWish::Next).entry, ..to_queue("mail", "{}") };
    assert_eq!(bench.ask(OpKind::Append(lane)), Err(Refused::WrongState.into()));
    assert_eq!(bench.stream("s").length, 2);
}

pub fn there_is_no_place_behind_the_last_one(bench: &Bench) {
    bench.queue_on("mail", "s", From::Start);
    bench
        .ask(OpKind::Append(Append { due: Due::In(9.try_into().expect("9 s")), ..to_stream("s", "{}") }))
        .expect("it waits");
    bench.add_at("s", u64::MAX, u64::MAX - 1);
    assert_eq!(bench.add("s", PlaceWish::Next), Ok(Place::LAST));
    let up: Result<Place, OpError> = Err(Refused::PlacesUsedUp.into());
    for wish in [PlaceWish::Next, PlaceWish::In(1), PlaceWish::Exactly(at(1, 1))] {
        assert_eq!(bench.add("s", wish), up, "{wish:?}");
    }
    for append in [to_stream("s", "{}"), to_queue("mail", "{}")] {
        assert_eq!(bench.ask(OpKind::Append(append)), Err(Refused::PlacesUsedUp.into()));
    }
    (0..2).for_each(|_| drop(bench.finish("mail")));
    // What was accepted before waits for good, and keeps nobody awake.
    bench.after(60);
    bench.tend();
    match bench.ask(OpKind::Claim(super::bench::claim("mail", 1, 30))) {
        Ok(OpReply::Claimed(claimed)) => assert_eq!((claimed.leases.len(), claimed.due_in), (0, None)),
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.stream("s").scheduled, 1);
}

pub fn places_go_on_behind_an_explicit_one_ahead_of_the_clock(bench: &Bench) {
    bench.queue_on("mail", "s", From::Start);
    let ahead = u64::MAX / 2;
    bench.add_at("s", ahead, 3);
    assert_eq!(bench.add("s", PlaceWish::Next), Ok(at(ahead, 4)));
    assert_eq!(bench.append(to_stream("s", "{}")).place, Some(at(ahead, 5)));
    bench.add_at("s", ahead, u64::MAX);
    assert_eq!(bench.add("s", PlaceWish::Next), Ok(at(ahead + 1, 0)));
    assert_eq!(bench.take("mail", 9).len(), 5);
}

pub fn a_stream_is_made_only_where_its_publisher_wants_that(bench: &Bench) {
    let wish = EntryWish { make_stream: false, place: PlaceWish::Next, trim: None };
    let append = Append { entry: Some(Box::new(wish)), ..to_stream("s", "{}") };
    assert_eq!(bench.ask(OpKind::Append(append.clone())), Err(Refused::StreamNotFound.into()));
    bench.add("s", PlaceWish::Next).expect("it is made");
    bench.ask(OpKind::Append(append)).expect("it is there");
    assert_eq!(bench.stream("s").length, 2);
}

pub fn a_producer_s_second_entry_is_the_first_one_again(bench: &Bench) {
    let from = |producer: &'static str, place| Append {
        dedupe: Some(DedupeKey {
            space: DedupeSpace::Producer(producer.as_bytes().into()),
            key: "1".as_bytes().into(),
        }),
        ..entry("s", place)
    };
    let ask = |append| match bench.ask(OpKind::Append(append)) {
        Ok(OpReply::Event(view)) => (true, view.place),
        Ok(OpReply::Deduped(view)) => (false, view.place),
        other => panic!("{other:?}"),
    };
    bench.add_at("s", 1, 1);
    bench.queue_on_with("mail", "s", From::New, |settings| settings.protect_unread = false);
    let stream = StreamChanges { dedupe_window_seconds: Some(60), ..StreamChanges::default() };
    let (queue, changes, revision) = (super::bench::named("mail"), Box::default(), None);
    bench.ask(OpKind::Group(GroupOp::Patch { queue, changes, stream, revision })).expect("it is there");
    assert_eq!(ask(from("p", PlaceWish::In(5))), (true, Some(at(5, 0))));
    assert_eq!(ask(from("p", PlaceWish::In(5))), (false, Some(at(5, 0))));
    assert_eq!(ask(from("other", PlaceWish::In(5))), (true, Some(at(5, 1))));
    bench.ask(super::streams::trim_to("s", 0)).expect("it is there");
    assert_eq!(ask(from("p", PlaceWish::Next)), (false, Some(at(5, 0))), "its entry is gone");
}

pub fn an_entry_may_be_trimmed_by_its_own_publish(bench: &Bench) {
    let add = |keep, limit| {
        let trim = Some(Trimming { limit, ..Trimming::to(keep) });
        let wish = EntryWish { make_stream: true, place: PlaceWish::Next, trim };
        bench.append(Append { entry: Some(Box::new(wish)), ..to_stream("s", "{}") }).place
    };
    (1..=4).for_each(|seq| bench.add_at("s", 1, seq));
    let fifth = add(Keep::Newest(4), None);
    assert_eq!(bench.entries("s").first().map(|entry| entry.place), Some(at(1, 2)));
    add(Keep::From(fifth.expect("it has a place")), Some(2));
    assert_eq!(bench.entries("s").first().map(|entry| entry.place), Some(at(1, 4)));
    assert!(add(Keep::Newest(0), None).is_some());
    assert!(bench.entries("s").is_empty());
}

pub fn a_last_place_is_moved_on_and_a_stream_shown_in_detail(bench: &Bench) {
    bench.add_at("s", 5, 0);
    bench.add_at("s", 6, 0);
    let set = |last: Place, added: Option<u64>, max_deleted: Option<Place>| {
        bench.ask(OpKind::SetId(SetId { stream: stream("s"), last, added, max_deleted }))
    };
    assert_eq!(set(at(5, 9), None, None), Err(Refused::PlaceBehind.into()));
    assert_eq!(set(at(6, 0), Some(1), None), Err(Refused::FactsWrong.into()));
    assert_eq!(set(at(9, 3), Some(7), Some(at(8, 0))), Ok(OpReply::Done));
    assert_eq!(set(at(7, 0), None, None), Err(Refused::BeforeDeleted.into()));
    // Nothing at all leaves the highest place ever deleted as it is.
    assert_eq!(set(at(9, 3), None, Some(at(0, 0))), Ok(OpReply::Done));
    let view = bench.stream("s");
    assert_eq!((view.last, view.added_told, view.max_deleted, view.length), (at(9, 3), 7, at(8, 0), 2));
    assert_eq!(bench.add("s", PlaceWish::Exactly(at(9, 3))), Err(Refused::PlaceTaken.into()));
    bench.add_at("s", 9, 4);
    let Ok(Page::StreamDetail(detail)) =
        bench.read(Read::StreamDetail { stream: stream("s"), full: Some(2) })
    else {
        panic!("a stream in detail")
    };
    let ends = [&detail.first, &detail.last].map(|entry| entry.as_ref().map(|entry| entry.place));
    assert_eq!(ends, [Some(at(5, 0)), Some(at(9, 4))]);
    assert!(detail.first.is_some_and(|entry| entry.body.is_some()));
    let full = detail.full.expect("it was asked for");
    assert_eq!(full.entries.iter().map(|entry| entry.place).collect::<Vec<_>>(), [at(5, 0), at(6, 0)]);
    assert!(full.groups.is_empty());
}
