//! A disk that is only read: what is written over it stays in RAM.
//!
//! Lives here: [`Overlay`], for looking at a folder with code that writes, such as opening a store. Not
//! here: the disk below.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, DiskError, DiskFile, DiskLock, DiskResult, Site, folder_of};

/// Bytes of a page that is kept in RAM once anything in it was written.
const PAGE: u64 = 4_096;

/// Another disk, which it never writes to.
pub struct Overlay {
    below: Arc<dyn Disk>,
    /// None: it was removed.
    names: Mutex<BTreeMap<String, Option<Arc<Layer>>>>,
}

/// One file.
struct Layer {
    below: Option<Box<dyn DiskFile>>,
    state: Mutex<State>,
}

struct State {
    len: u64,
    /// What of the file below still shows through.
    shown: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Overlay {
    /// Over `below`.
    pub fn over(below: Arc<dyn Disk>) -> Self {
        Self { below, names: Mutex::default() }
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, Option<Arc<Layer>>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, site: Site, name: &str) -> DiskResult<Arc<Layer>> {
        let mut names = self.names();
        match names.get(name) {
            Some(Some(layer)) => return Ok(Arc::clone(layer)),
            Some(None) => return Err(failed(site, name, io::ErrorKind::NotFound)),
            None => {}
        }
        let below = self.below.open(site, name)?;
        let len = below.len(site)?;
        let state = Mutex::new(State { len, shown: len, pages: BTreeMap::new() });
        let layer = Arc::new(Layer { below: Some(below), state });
        names.insert(name.to_owned(), Some(Arc::clone(&layer)));
        Ok(layer)
    }
}

fn failed(site: Site, name: &str, kind: io::ErrorKind) -> DiskError {
    DiskError { site, file: name.to_owned(), source: kind.into() }
}

impl Disk for Overlay {
    fn list(&self, site: Site, folder: &str) -> DiskResult<Vec<String>> {
        let mut listed = self.below.list(site, folder)?;
        for (name, layer) in self.names().iter().filter(|(name, _)| folder_of(name) == folder) {
            let own = name[folder.len()..].trim_start_matches('/');
            listed.retain(|known| known != own);
            listed.extend(layer.is_some().then(|| own.to_owned()));
        }
        listed.sort();
        Ok(listed)
    }

    fn make_folder(&self, site: Site, folder: &str) -> DiskResult<()> {
        // Nothing that looks at a store makes one that is not there.
        self.below.list(site, folder).map(drop)
    }

    fn create(&self, site: Site, name: &str, len: u64) -> DiskResult<Box<dyn DiskFile>> {
        match self.find(site, name) {
            Ok(_) => return Err(failed(site, name, io::ErrorKind::AlreadyExists)),
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error),
        }
        let layer = Layer { below: None, state: Mutex::new(State { len, shown: 0, pages: BTreeMap::new() }) };
        let layer = Arc::new(layer);
        self.names().insert(name.to_owned(), Some(Arc::clone(&layer)));
        Ok(Box::new(Handle { layer, name: name.to_owned() }))
    }

    fn open(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskFile>> {
        Ok(Box::new(Handle { layer: self.find(site, name)?, name: name.to_owned() }))
    }

    fn rename(&self, site: Site, from: &str, to: &str) -> DiskResult<()> {
        let layer = self.find(site, from)?;
        let mut names = self.names();
        names.insert(from.to_owned(), None);
        names.insert(to.to_owned(), Some(layer));
        Ok(())
    }

    fn remove(&self, site: Site, name: &str) -> DiskResult<()> {
        self.find(site, name)?;
        self.names().insert(name.to_owned(), None);
        Ok(())
    }

    fn sync_dir(&self, _: Site, _: &str) -> DiskResult<()> {
        Ok(())
    }

    fn free_bytes(&self, site: Site) -> DiskResult<u64> {
        self.below.free_bytes(site)
    }

    fn lock(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskLock>> {
        self.below.lock(site, name)
    }
}

struct Handle {
    layer: Arc<Layer>,
    name: String,
}

impl Handle {
    fn state(&self) -> MutexGuard<'_, State> {
        self.layer.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the file below has at `offset`, zeros where it has nothing.
    fn below(&self, site: Site, shown: u64, offset: u64, bytes: &mut [u8]) -> DiskResult<()> {
        bytes.fill(0);
        let count = usize::try_from(shown.saturating_sub(offset)).unwrap_or(bytes.len()).min(bytes.len());
        match &self.layer.below {
            Some(below) if count > 0 => below.read_at(site, offset, &mut bytes[..count]),
            Some(_) | None => Ok(()),
        }
    }
}

/// Where `offset` lies: its page, and its place in it.
fn place(offset: u64) -> (u64, usize) {
    (offset / PAGE, usize::try_from(offset % PAGE).expect("a page is small"))
}

impl DiskFile for Handle {
    fn len(&self, _: Site) -> DiskResult<u64> {
        Ok(self.state().len)
    }

    fn read_at(&self, site: Site, offset: u64, bytes: &mut [u8]) -> DiskResult<()> {
        let state = self.state();
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= state.len);
        let end = end.ok_or_else(|| failed(site, &self.name, io::ErrorKind::UnexpectedEof))?;
        self.below(site, state.shown, offset, bytes)?;
        for (number, page) in state.pages.range(offset / PAGE..end.div_ceil(PAGE)) {
            let start = number * PAGE;
            let (from, to) = (start.max(offset), (start + PAGE).min(end));
            let at = |place: u64, base: u64| usize::try_from(place - base).expect("it lies in the buffer");
            bytes[at(from, offset)..at(to, offset)].copy_from_slice(&page[at(from, start)..at(to, start)]);
        }
        Ok(())
    }

    fn write_at(&self, site: Site, offset: u64, bytes: &[u8]) -> DiskResult<()> {
        let mut state = self.state();
        let mut written = 0;
        while written < bytes.len() {
            let (number, at) = place(offset + written as u64);
            let count = (bytes.len() - written).min(PAGE as usize - at);
            if !state.pages.contains_key(&number) {
                let mut page = vec![0; PAGE as usize];
                self.below(site, state.shown, number * PAGE, &mut page)?;
                state.pages.insert(number, page);
            }
            let page = state.pages.get_mut(&number).expect("it was put there just now");
            page[at..at + count].copy_from_slice(&bytes[written..written + count]);
            written += count;
        }
        state.len = state.len.max(offset + bytes.len() as u64);
        Ok(())
    }

    fn sync(&self, _: Site) -> DiskResult<()> {
        Ok(())
    }

    fn set_len(&self, _: Site, len: u64) -> DiskResult<()> {
        let mut state = self.state();
        if len < state.len {
            state.shown = state.shown.min(len);
            state.pages.split_off(&len.div_ceil(PAGE));
            let (number, at) = place(len);
            if let Some(page) = state.pages.get_mut(&number) {
                page[at..].fill(0);
            }
        }
        state.len = len;
        Ok(())
    }
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use super::*;
    use crate::embedded::disk::MemDisk;

    const SITE: Site = Site("test");

    #[test]
    fn what_is_written_shows_and_nothing_of_it_reaches_the_disk_below() {
        let below = Arc::new(MemDisk::new());
        let content: Vec<u8> = (0..20_000_u32).map(|at| at as u8).collect();
        below.plant("a", &content);
        below.plant("b", b"b");
        let on: Arc<dyn Disk> = below.clone();
        let overlay = Overlay::over(on);
        let file = overlay.open(SITE, "a").unwrap();
        let mut expected = content.clone();
        for (offset, bytes) in [(4_000, vec![7; 9_000]), (19_990, vec![8; 100]), (0, vec![9])] {
            file.write_at(SITE, offset as u64, &bytes).unwrap();
            expected.resize(expected.len().max(offset + bytes.len()), 0);
            expected[offset..offset + bytes.len()].copy_from_slice(&bytes);
        }
        assert_eq!(file.read_all(SITE, "a", 1 << 20).unwrap(), expected);
        for len in [4_500, 30_000] {
            file.set_len(SITE, len).unwrap();
            expected.resize(len as usize, 0);
            assert_eq!(file.read_all(SITE, "a", 1 << 20).unwrap(), expected, "{len}");
        }
        overlay.rename(SITE, "a", "c").unwrap();
        overlay.remove(SITE, "b").unwrap();
        drop(overlay.create(SITE, "d", 10).unwrap());
        assert_eq!(overlay.list(SITE, "").unwrap(), ["c", "d"]);
        assert!(overlay.open(SITE, "b").is_err_and(|error| error.is_missing()));
        assert_eq!((below.names().len(), below.peek("a").unwrap()), (2, content));
    }
}
