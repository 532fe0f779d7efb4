//! The steps, by scripts: each looks and acts at once.
//!
//! Lives here: what is handed to a script, and what it answers. Not here: the scripts (`scripts.rs`, `lua/`).

use std::rc::Rc;
use std::time::Duration;

use redis::Value;

use super::error::Error;
use super::link::{Link, Shared};
use super::reply;
use super::scripts::{Script, Scripts};
use super::step::{Found, Handed, Look, Names, Pending, Standing, WAITING, Wanted, Word};

/// One server, and what is asked of it there.
pub(super) struct Scripted<'a> {
    pub(super) link: &'a Link,
    pub(super) shared: &'a Rc<Shared>,
    pub(super) scripts: &'a Scripts,
    pub(super) names: &'a Names,
}

impl Scripted<'_> {
    async fn run(&self, script: Script, arguments: &[Vec<u8>]) -> Result<Value, Error> {
        let Names { stream, due, released, dead, .. } = self.names;
        let keys = [stream.as_slice(), due, released, dead];
        self.link.run(self.shared, self.scripts.named(script), &keys, arguments).await
    }

    pub(super) async fn say(&self, of: Handed, word: &Word) -> Result<Standing, Error> {
        let Names { group, consumer, .. } = self.names;
        let number = |count: u64| count.to_string().into_bytes();
        let mut arguments = vec![
            group.clone(),
            consumer.clone(),
            of.id.to_string().into_bytes(),
            number(of.count),
            WAITING.into(),
        ];
        let flag = |is: bool| if is { b"1".to_vec() } else { b"0".to_vec() };
        let script = match word {
            Word::Beat => Script::Beat,
            Word::Ack => {
                arguments.push(flag(of.was_released));
                Script::Ack
            }
            Word::Wait { asked, otherwise } => {
                arguments.extend([number(whole_ms(asked.unwrap_or(*otherwise))), flag(false)]);
                Script::Wait
            }
            Word::Release => {
                arguments.extend([number(0), flag(true)]);
                Script::Wait
            }
            Word::Bury { reason, error } => {
                arguments.extend([reason.as_bytes().to_vec(), error.clone().into_bytes()]);
                Script::Bury
            }
        };
        let answer = reply::text(self.run(script, &arguments).await?);
        match answer.as_deref() {
            Some("TAKEN") => Ok(Standing::Taken),
            Some("DELETED") => Ok(Standing::Deleted),
            Some("GONE") => Ok(Standing::Gone),
            Some("WAITING") => Ok(Standing::Waiting),
            Some("OTHER") => Ok(Standing::Other),
            _ => Err(self.link.unexpected("how an entry stands")),
        }
    }

    pub(super) async fn take(&self, look: &Look) -> Result<Found, Error> {
        let Names { group, consumer, .. } = self.names;
        let wanted = match look.wanted {
            Wanted::Own => "OWN",
            Wanted::Due => "DUE",
            Wanted::DueAndIdle => "IDLE",
        };
        let number = |count: u64| count.to_string().into_bytes();
        let mut arguments = vec![
            group.clone(),
            consumer.clone(),
            WAITING.into(),
            wanted.into(),
            number(look.most as u64),
            number(whole_ms(look.lease)),
            number(u64::from(look.max_deliveries.unwrap_or(0))),
            look.cursor.clone().into_bytes(),
        ];
        arguments.extend(look.in_work.iter().map(|id| id.to_string().into_bytes()));
        let answer = self.run(Script::Take, &arguments).await?;
        found(answer).ok_or_else(|| self.link.unexpected("what is pending"))
    }

    /// True where the consumer had nothing, and is no more.
    pub(super) async fn leave(&self) -> Result<bool, Error> {
        let arguments = [self.names.group.clone(), self.names.consumer.clone()];
        Ok(self.run(Script::Leave, &arguments).await? == Value::Int(1))
    }

    /// How many entries were dropped that every group has acked.
    pub(super) async fn trim(&self) -> Result<u64, Error> {
        let answer = self.run(Script::Trim, &[]).await?;
        reply::count(answer).ok_or_else(|| self.link.unexpected("a count"))
    }
}

fn whole_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn found(answer: Value) -> Option<Found> {
    let answer = <[Value; 7]>::try_from(reply::list(answer)?).ok()?;
    let [cursor, next_due, taken, deleted, buried, unburied, is_full] = answer;
    let entry = |value| {
        let [id, fields, count, released] = <[Value; 4]>::try_from(reply::list(value)?).ok()?;
        Some(Pending {
            id: reply::id(id)?,
            fields: reply::fields(fields)?,
            count: reply::count(count)?,
            released: reply::count(released)?,
        })
    };
    let mut unburied = reply::list(unburied)?.into_iter();
    let mut kept = Vec::new();
    while let (Some(id), Some(why)) = (unburied.next(), unburied.next()) {
        kept.push((reply::id(id)?, reply::text(why)?));
    }
    Some(Found {
        cursor: reply::text(cursor)?,
        // Less than none is that nothing waits.
        next_due: reply::count(next_due).map(Duration::from_millis),
        entries: reply::list(taken)?.into_iter().map(entry).collect::<Option<_>>()?,
        deleted: reply::ids(deleted)?,
        buried: reply::ids(buried)?,
        unburied: kept,
        is_full: is_full == Value::Int(1),
    })
}
