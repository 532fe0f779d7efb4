//! The engine's refusals in Redis' words, where no command has better ones.
//!
//! Lives here: one reply for each. Not here: texts of single commands (`commands`).

use naven_store::reply::{OpError, Refused};

use super::frame::Reply;

/// What is answered to a call that met `error`, which the command itself has no words for.
pub(crate) fn refusal(error: &OpError) -> Reply {
    let text = match error {
        OpError::Refused(refused) => return Reply::error(refused_text(*refused)),
        OpError::Undone => "ERR undone: another part of the transaction was refused",
        OpError::Busy { .. } => "TRYAGAIN too much at once; nothing was written",
        OpError::Full => "MISCONF the disk is full; nothing was written",
        OpError::Unsupported => "ERR this storage has no such operation",
        OpError::Unavailable => "TRYAGAIN the storage takes no work; nothing was written",
        OpError::Unknown => "ERR the outcome is not known: the call may have been applied",
    };
    Reply::error(text)
}

fn refused_text(refused: Refused) -> &'static str {
    match refused {
        Refused::StreamNotFound => "ERR no such key",
        Refused::QueueNotFound => "NOGROUP No such consumer group",
        Refused::NameTaken => "BUSYGROUP Consumer Group name already exists",
        Refused::PlaceTaken => {
            "ERR The ID specified in XADD is equal or smaller than the target stream top item"
        }
        Refused::PlacesUsedUp => {
            "ERR The stream has exhausted the last possible ID, unable to add more items"
        }
        Refused::PlaceBehind => "ERR The ID specified in XSETID is smaller than the target stream top item",
        Refused::BeforeDeleted => {
            "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"
        }
        Refused::FactsWrong => {
            "ERR The entries_added specified in XSETID is smaller than the target stream length"
        }
        Refused::TooLarge => "ERR the call makes a larger transaction than is taken",
        Refused::WrongState => "ERR not in a state that allows this",
        Refused::EventNotFound => "ERR no such event",
        Refused::NotEmpty => "ERR it holds events that are not done",
        Refused::Changed => "ERR a watched key has changed",
        Refused::Expired
        | Refused::Lost
        | Refused::Settled
        | Refused::QueueNeeded
        | Refused::DueForAll
        | Refused::BadCursor
        | Refused::OperationNotFound
        | Refused::OperationRunning
        | Refused::KeyNotFound
        | Refused::Stale
        | Refused::KeyReused => "ERR the storage refused the call",
    }
}
