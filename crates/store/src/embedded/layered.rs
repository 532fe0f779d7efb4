//! The tables as they are now: what changed lately, in RAM, over the cold store.
//!
//! Lives here: which layer answers for a row, and what is known of a table's empty front. Not here:
//! walking over all layers in order (`layered/merge.rs`), and when a layer is written down
//! (`checkpointer.rs`).
//!
//! From the top: the open window, which takes all changes; the frozen one, while it is being written
//! to the cold store; the cold store. Small tables, whose rows grow with queues and not with events,
//! are in RAM as a whole beside that.
//!
//! Rows that are found by time leave at the front of their owner's range, and until the next
//! checkpoint each leaves a mark there that says "gone". `floors` remembers how far the front is
//! known to be empty, so that no scan walks over those marks twice.
//!
//! A row that cannot be read has no answer: whatever was under way is given up by unwinding up to
//! [`unless_unreadable`], and nothing of it may be believed.

mod merge;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use bytes::Bytes;
use naven_core::planted::{Bug, has};

use super::cold::{Applied, ColdReader, ReadFailed, Reads, missing_row};
use super::rows::key::past_number;
use super::storage_error::StorageError;
use super::supply::Supply;
use super::tables::{Before, Kept, Order, RamTables, Survey, Table, Tables, Visit};
use super::window::Window;
use merge::{Found, Merge, OWNER_BYTES, Span, owner_of};

/// A number that begins the keys of its owner's rows.
type Owner = [u8; OWNER_BYTES];
/// What a walk calls for each row that is there.
type Step<'a> = dyn FnMut(&[u8], &Found<'_>) -> Reads<ControlFlow<()>> + 'a;
/// For each owner's rows of a table: no row lies below this key.
type Floors = BTreeMap<(Table, Owner), Box<[u8]>>;

/// The tables of a running engine. One thread owns them.
#[derive(Debug)]
pub(crate) struct Layered {
    open: Window,
    frozen: Option<(Arc<Window>, Applied)>,
    cold: RefCell<Option<Arc<ColdReader>>>,
    resident: RamTables,
    floors: RefCell<Floors>,
    supply: Arc<Supply>,
}

/// What unwinds where a row cannot be read.
struct Unreadable(StorageError);

/// The answer of `work`, or why a row that it asked for cannot be read. Then the tables are as it left
/// them, and must not be written down.
///
/// # Errors
/// `Damage`; `Disk`.
pub(crate) fn unless_unreadable<T>(work: impl FnOnce() -> T) -> Result<T, StorageError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|thrown| match thrown.downcast::<Unreadable>() {
        Ok(unreadable) => unreadable.0,
        Err(other) => resume_unwind(other),
    })
}

impl Layered {
    /// The tables over `cold`; further readers come through `supply`.
    ///
    /// # Errors
    /// `Damage`; `Disk`.
    pub(crate) fn load(cold: Option<Arc<ColdReader>>, supply: Arc<Supply>) -> Result<Self, StorageError> {
        let mut resident = RamTables::default();
        if let Some(cold) = &cold {
            for table in Table::ALL.into_iter().filter(|table| table.is_resident()) {
                load_table(cold, table, &mut resident)?;
            }
        }
        let (frozen, open, floors) = (None, Window::default(), RefCell::default());
        Ok(Self { open, frozen, cold: RefCell::new(cold), resident, floors, supply })
    }

    /// The window that takes changes.
    pub(crate) fn open(&self) -> &Window {
        &self.open
    }

    /// Up to which LSN the window is that waits to be written, where there is one.
    pub(crate) fn frozen_upto(&self) -> Option<u64> {
        self.frozen.as_ref().map(|(_, applied)| applied.lsn)
    }

    /// Closes the open window, which ends with what `applied` says, so that it can be written. There
    /// is at most one such.
    pub(crate) fn freeze(&mut self, applied: Applied) -> Arc<Window> {
        debug_assert!(self.frozen.is_none(), "one window is written at a time");
        let window = Arc::new(std::mem::take(&mut self.open));
        self.frozen = Some((Arc::clone(&window), applied));
        window
    }

    /// Takes the window back that was closed last and could not be written: what changed since is the
    /// newer word on its rows.
    pub(crate) fn take_back_window(&mut self) {
        let Some((window, _)) = self.frozen.take() else { return };
        for table in Table::ALL {
            for (key, row) in window.rows_of(table) {
                if self.open.get(table, key).is_none() {
                    self.open.set(table, key, row.cloned());
                }
            }
        }
    }

    /// Reads from `cold` from here on, which holds everything up to `upto`.
    pub(crate) fn rest_on(&mut self, cold: Option<Arc<ColdReader>>, upto: u64) {
        self.cold.replace(cold);
        if self.frozen_upto().is_some_and(|frozen| frozen <= upto)
            && let Some((written, _)) = self.frozen.take()
            && has(Bug::WindowRowDropped)
        {
            self.bring_back(&written);
        }
    }

    /// A planted bug: what is marked as gone since `written` was closed, and is in that, is not gone.
    fn bring_back(&mut self, written: &Window) {
        for table in Table::ALL {
            for (key, _) in written.rows_of(table).filter(|(_, row)| row.is_some()) {
                if self.open.get(table, key) == Some(&None) {
                    self.open.forget(table, key);
                }
            }
        }
    }

    fn layers(&self) -> impl Iterator<Item = &Window> {
        [Some(&self.open), self.frozen.as_ref().map(|(window, _)| &**window)].into_iter().flatten()
    }

    /// Replaces a stale reader, so that the read can be tried again. Unwinds where that cannot help.
    fn heal(&self, failed: ReadFailed) {
        let fresh = match failed {
            ReadFailed::Stale => self.supply.fresh(self.cold.borrow().as_ref()),
            ReadFailed::Broken(error) => Err(error),
        };
        match fresh {
            Ok(cold) => drop(self.cold.replace(cold)),
            // Not a panic: no message of its own, and it is caught by whoever began.
            Err(error) => resume_unwind(Box::new(Unreadable(error))),
        }
    }

    /// The answer of a read of the cold store, from a newer reader where the present one is stale; none
    /// where there is no cold store.
    fn asked_of_cold<R>(&self, read: impl Fn(&ColdReader) -> Reads<Option<R>>) -> Option<R> {
        loop {
            let cold = self.cold.borrow().clone()?;
            match read(&cold) {
                Ok(answer) => return answer,
                Err(failed) => self.heal(failed),
            }
        }
    }

    /// What the layers over the cold store say of a row.
    fn said(&self, table: Table, key: &[u8]) -> Option<&Option<Bytes>> {
        self.layers().find_map(|window| window.get(table, key))
    }

    fn floor(&self, table: Table, owner: Owner) -> Option<Box<[u8]>> {
        self.floors.borrow().get(&(table, owner)).cloned()
    }

    /// A row is put at `key`: the front is not empty beyond it.
    fn lower_floor(&self, table: Table, key: &[u8]) {
        let Some(owner) = owner_of(key).filter(|_| !has(Bug::FloorNotLowered)) else { return };
        if let Some(floor) = self.floors.borrow_mut().get_mut(&(table, owner))
            && key < &**floor
        {
            *floor = key.into();
        }
    }

    /// What a scan that began at the front of `owner` has learned: its first row, or that there is
    /// none up to `to`.
    fn learn(&self, table: Table, owner: Owner, first: Option<&[u8]>, to: &[u8]) {
        let end = past_number(u32::from_be_bytes(owner));
        let mut floors = self.floors.borrow_mut();
        match first {
            Some(key) if key.starts_with(&owner) => {
                floors.insert((table, owner), key.into());
            }
            other => {
                floors.insert((table, owner), (&end[..]).min(to).into());
                if let Some((key, owner)) = other.and_then(|key| Some((key, owner_of(key)?))) {
                    floors.insert((table, owner), key.into());
                }
            }
        }
    }

    /// Walks over `span` until the end, told to stop, or told to jump over an empty front; `first`
    /// takes the first row's key.
    fn walk(
        &self,
        table: Table,
        span: &mut Span,
        first: &mut Option<Box<[u8]>>,
        visit: &mut Step<'_>,
    ) -> Result<bool, ReadFailed> {
        let cold = self.cold.borrow().clone();
        let rows = match &cold {
            Some(cold) => Some(cold.range(table, &span.from, &span.to, span.order)?),
            None => None,
        };
        let mut merge = Merge::new(self.layers(), rows, table, span)?;
        while let Some(found) = merge.next()? {
            let key = found.key();
            if found.is_gone() {
                if span.order == Order::Rising
                    && let Some(floor) = owner_of(key).and_then(|owner| self.floor(table, owner))
                    && *floor > *key
                {
                    span.from = floor.into();
                    return Ok(true);
                }
                continue;
            }
            let goes_on = visit(key, &found)?.is_continue();
            if first.is_none() {
                *first = Some(key.into());
            }
            span.pass(key);
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Walks over all rows whose key is at least `from` and below `to`, until told to stop.
    fn walk_all(&self, table: Table, (from, to): (&[u8], &[u8]), order: Order, visit: &mut Step<'_>) {
        let front: Option<Owner> = if order == Order::Rising { from.try_into().ok() } else { None };
        let floor = front.and_then(|owner| self.floor(table, owner));
        let from = floor.as_deref().map_or(from, |floor| floor.max(from));
        let mut span = Span { from: from.into(), to: to.into(), order };
        let mut first = None;
        loop {
            if span.from >= span.to {
                break;
            }
            match self.walk(table, &mut span, &mut first, visit) {
                Ok(true) => {}
                Ok(false) => break,
                Err(failed) => self.heal(failed),
            }
        }
        if let Some(owner) = front {
            self.learn(table, owner, first.as_deref(), to);
        }
    }
}

impl Tables for Layered {
    fn get(&self, table: Table, key: &[u8]) -> Option<Bytes> {
        if table.is_resident() {
            return self.resident.get(table, key);
        }
        let said = self.said(table, key);
        said.map_or_else(|| self.asked_of_cold(|cold| cold.get(table, key)), Clone::clone)
    }

    fn find(&self, table: Table, key: &[u8]) -> Option<Kept> {
        if table.is_resident() {
            return self.resident.find(table, key);
        }
        let said = self.said(table, key).map(|row| row.clone().map(Kept::Whole));
        said.unwrap_or_else(|| self.asked_of_cold(|cold| cold.find(table, key)))
    }

    fn miss(&self, table: Table, key: &[u8]) -> ! {
        resume_unwind(Box::new(Unreadable(missing_row(table, key))))
    }

    fn put(&mut self, table: Table, key: &[u8], value: Bytes) {
        if table.is_resident() {
            self.resident.put(table, key, value.clone());
        } else {
            self.lower_floor(table, key);
        }
        self.open.set(table, key, Some(value));
    }

    fn delete(&mut self, table: Table, key: &[u8]) {
        if table.is_resident() {
            self.resident.delete(table, key);
        }
        self.open.set(table, key, None);
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], order: Order, visit: &mut Visit<'_>) {
        if table.is_resident() {
            return self.resident.scan(table, from, to, order, visit);
        }
        self.walk_all(table, (from, to), order, &mut |key, found| match found {
            Found::Ram(_, Some(row)) => Ok(visit(key, row)),
            Found::Ram(_, None) => Ok(ControlFlow::Continue(())),
            Found::Cold(row) => Ok(visit(key, &row.value()?)),
        });
    }

    fn survey(&self, table: Table, from: &[u8], to: &[u8], order: Order, visit: &mut Survey<'_>) {
        if table.is_resident() {
            return self.resident.survey(table, from, to, order, visit);
        }
        self.walk_all(table, (from, to), order, &mut |key, found| match found {
            Found::Ram(_, Some(row)) => Ok(visit(key, Kept::Whole((*row).clone()))),
            Found::Ram(_, None) => Ok(ControlFlow::Continue(())),
            Found::Cold(row) => Ok(visit(key, row.kept())),
        });
    }

    fn before(&self, table: Table, key: &[u8]) -> Before {
        let resident = if table.is_resident() { self.resident.get(table, key) } else { None };
        Before { newest: self.open.get(table, key).cloned(), resident }
    }

    fn take_back(&mut self, table: Table, key: &[u8], before: Before) {
        if table.is_resident() {
            let (newest, resident) = (None, before.resident);
            self.resident.take_back(table, key, Before { newest, resident });
        } else {
            self.lower_floor(table, key);
        }
        match before.newest {
            Some(row) => self.open.set(table, key, row),
            None => self.open.forget(table, key),
        }
    }
}

fn load_table(cold: &ColdReader, table: Table, into: &mut RamTables) -> Result<(), StorageError> {
    let mut rows = cold.range(table, &[], &[0xff; 8], Order::Rising)?;
    while let Some(row) = rows.next()? {
        into.put(table, row.key(), row.value()?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
