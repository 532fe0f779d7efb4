//! The HELP of commands with subcommands.
//!
//! Lives here: the list of what a container takes, made of the table. Not here: the table (`command`).

use crate::redis::command::{Arity, find};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Plan, Setting};

/// `... HELP`.
pub(super) fn help(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let Some(container) = find(call.name()) else { return Ok(Plan::Reply(Reply::Array(Vec::new()))) };
    let name = container.name.to_ascii_uppercase();
    let mut lines = vec![format!("{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")];
    for command in container.subcommands {
        let (least, more) = match command.arity {
            Arity::Exactly(parts) => (parts, ""),
            Arity::AtLeast(parts) => (parts, " and more"),
        };
        let arguments = least.saturating_sub(2);
        lines.push(command.own_name().to_ascii_uppercase());
        lines.push(format!("    Arguments: {arguments}{more}."));
    }
    Ok(Plan::Reply(Reply::Array(lines.into_iter().map(|line| Reply::Simple(line.into())).collect())))
}
