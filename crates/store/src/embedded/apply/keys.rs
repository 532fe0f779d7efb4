//! Bearer keys: stored, shown, forgotten.
//!
//! Lives here: their one table. Not here: what they may do (`naven-server`).

use std::ops::ControlFlow;

use naven_api::KeyId;

use super::context::{Context, READABLE};
use crate::embedded::rows::codec::{Dec, Enc};
use crate::embedded::rows::queue;
use crate::embedded::tables::{Order, Table, Tables};
use crate::key::{KeyCondition, KeyRecord};
use crate::reply::{OpError, OpReply, Refused};

impl<T: Tables> Context<'_, T> {
    /// Stores a key under its name, where what is there is what is expected.
    pub(super) fn put_key(&mut self, record: &KeyRecord, over: KeyCondition) -> Result<OpReply, OpError> {
        let name = record.name.as_bytes();
        let there = self.tables.get(Table::Key, name).map(|bytes| read(bytes.clone()));
        match (over, there) {
            (KeyCondition::Any, _) | (KeyCondition::Absent, None) => {}
            (KeyCondition::Absent, Some(_)) => return Err(Refused::NameTaken.into()),
            (KeyCondition::Revision(revision), Some(there)) if there.id == record.id => {
                if there.revision != revision {
                    return Err(Refused::Stale.into());
                }
            }
            (KeyCondition::Revision(_), _) => return Err(Refused::KeyNotFound.into()),
        }
        let mut enc = Enc::default();
        queue::put_key(&mut enc, record);
        self.tables.put(Table::Key, name, enc.done());
        Ok(OpReply::Done)
    }

    pub(super) fn delete_key(&mut self, key: KeyId, revision: Option<u64>) -> Result<OpReply, OpError> {
        let there = self.keys().into_iter().find(|there| there.id == key).ok_or(Refused::KeyNotFound)?;
        if revision.is_some_and(|revision| revision != there.revision) {
            return Err(Refused::Stale.into());
        }
        self.tables.delete(Table::Key, there.name.as_bytes());
        Ok(OpReply::Done)
    }

    /// All of them, by name: there are few.
    pub(super) fn keys(&self) -> Vec<KeyRecord> {
        let mut keys = Vec::new();
        self.tables.scan(Table::Key, &[], &[0xff; 256], Order::Rising, &mut |_, value| {
            keys.push(read(value.clone()));
            ControlFlow::Continue(())
        });
        keys
    }
}

fn read(bytes: bytes::Bytes) -> KeyRecord {
    queue::get_key(&mut Dec(bytes)).expect(READABLE)
}
