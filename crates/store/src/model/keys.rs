//! The model's bearer keys.
//!
//! Lives here: storing and forgetting them. Not here: what they may do.

use naven_api::KeyId;

use super::world::{Answer, World};
use crate::key::{KeyCondition, KeyRecord};
use crate::reply::{OpReply, Refused};

impl World {
    pub(super) fn put_key(&mut self, record: &KeyRecord, over: KeyCondition) -> Answer {
        let there = self.keys.iter().position(|one| one.name == record.name);
        if over == KeyCondition::Absent && there.is_some() {
            return Err(Refused::NameTaken.into());
        }
        if let KeyCondition::Revision(revision) = over {
            let there = there.map(|at| &self.keys[at]).filter(|one| one.id == record.id);
            if there.ok_or(Refused::KeyNotFound)?.revision != revision {
                return Err(Refused::Stale.into());
            }
        }
        self.keys.retain(|one| one.name != record.name);
        self.keys.push(record.clone());
        self.keys.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(OpReply::Done)
    }

    pub(super) fn delete_key(&mut self, key: KeyId, revision: Option<u64>) -> Answer {
        let at = self.keys.iter().position(|one| one.id == key).ok_or(Refused::KeyNotFound)?;
        if revision.is_some_and(|revision| revision != self.keys[at].revision) {
            return Err(Refused::Stale.into());
        }
        self.keys.remove(at);
        Ok(OpReply::Done)
    }
}
