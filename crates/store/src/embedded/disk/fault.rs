//! Faults that tests play to the engine: the n-th call of one site fails.
//!
//! Lives here: what a fault is, and the count of calls that decides when it strikes. Not here: what
//! a failed call leaves behind (`memory.rs`).

use std::collections::BTreeMap;
use std::io;

use super::Site;

/// What a failing call says, and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// `EIO`; nothing was done.
    Io,
    /// `ENOSPC`; nothing was done.
    NoRoom,
    /// The first half was written or read, then `EIO`.
    Short,
}

impl Flaw {
    /// The operating system's word for it.
    pub(super) fn error(self) -> io::Error {
        const EIO: i32 = 5;
        const ENOSPC: i32 = 28;
        io::Error::from_raw_os_error(match self {
            Self::Io | Self::Short => EIO,
            Self::NoRoom => ENOSPC,
        })
    }
}

/// How long a fault stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// One call fails.
    Once,
    /// That call and all later ones of the site fail.
    ForGood,
}

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Calls of which site.
    pub site: Site,
    /// From which call on, counted from 1 since the disk was made.
    pub nth: u64,
    /// How long.
    pub lasts: Lasts,
    /// How.
    pub flaw: Flaw,
}

/// Counts the calls of each site, and knows which of them fail.
#[derive(Debug, Default)]
pub(super) struct Faults {
    calls: BTreeMap<Site, u64>,
    planned: Vec<Fault>,
}

impl Faults {
    pub(super) fn plan(&mut self, fault: Fault) {
        self.planned.push(fault);
    }

    pub(super) fn forget(&mut self) {
        self.planned.clear();
    }

    pub(super) fn calls(&self) -> BTreeMap<Site, u64> {
        self.calls.clone()
    }

    /// Counts a call, and says how it fails if it does.
    pub(super) fn strike(&mut self, site: Site) -> Option<Flaw> {
        let calls = self.calls.entry(site).or_default();
        *calls += 1;
        let now = *calls;
        let hits = |fault: &&Fault| match fault.lasts {
            Lasts::Once => fault.nth == now,
            Lasts::ForGood => fault.nth <= now,
        };
        self.planned.iter().filter(|fault| fault.site == site).find(hits).map(|fault| fault.flaw)
    }
}
