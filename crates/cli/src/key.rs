//! `naven key`: keys made on the command line.
//!
//! Lives here: its commands, their arguments and what they print; `generate` needs no server. Not here: a
//! key's form (`naven-server`), and the calls (`naven-client`).

use clap::{Args, Subcommand};
use naven_api::{KeyId, Timestamp};
use naven_client::{KeyCreateRequest, KeyPatchRequest, KeyReply, KeyRotateRequest, QueueName, Scope};
use naven_server::auth::BearerKey;
use naven_server::{SystemClock, SystemRandom};

use crate::connection::{Connection, answered};
use crate::exit::Failure;
use crate::print::{self, Lines};

/// What to know where no answer came.
const ADVICE: &str = "it may have been done: look before you repeat this";

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key and print it alone on its line. It is known to no server yet: hand it to one as
    /// NAVEN_ADMIN_KEY.
    Generate,
    /// Make a key on the server that may do no more than yours. Its secret is shown this once.
    Create(CreateArgs),
    /// List keys that may do no more than yours, by name.
    List(ListArgs),
    /// Show a key.
    Show(NamedArgs),
    /// Change what a key may do, from the next call on.
    Patch(PatchArgs),
    /// Give a key a new secret, shown this once; the one of before is taken for a while.
    Rotate(RotateArgs),
    /// Revoke a key, from the next call on.
    Revoke(NamedArgs),
}

/// Arguments of `naven key create`.
#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Its unique name.
    name: QueueName,

    /// What it may do: produce, consume, read, admin, separated by commas.
    #[arg(long, required = true, value_delimiter = ',', value_parser = scope)]
    scopes: Vec<Scope>,

    /// Which queues and streams it reaches: names, * at the end for any ending, separated by commas; what
    /// your own key reaches where it is not given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    queues: Option<Vec<String>>,

    /// When it ends, such as 2027-01-01T00:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    expires_at: Option<Timestamp>,

    /// Calls of a second that it may make (1 to 1000000).
    #[arg(long, value_name = "N")]
    rate_limit: Option<u32>,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven key list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    connection: Connection,
}

/// Arguments of commands that name one key and nothing else.
#[derive(Debug, Args)]
pub(crate) struct NamedArgs {
    /// Its id.
    id: KeyId,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven key patch`.
#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    /// Its id.
    id: KeyId,

    /// What it may do from now on: produce, consume, read, admin, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = scope)]
    scopes: Option<Vec<Scope>>,

    /// Which queues and streams it reaches from now on, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    queues: Option<Vec<String>>,

    /// When it ends, such as 2027-01-01T00:00:00Z, or never.
    #[arg(long, value_name = "TIME|never", value_parser = ending)]
    expires_at: Option<Ending>,

    /// Calls of a second that it may make (1 to 1000000), or none for no bound.
    #[arg(long, value_name = "N|none", value_parser = bound)]
    rate_limit: Option<Bound>,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven key rotate`.
#[derive(Debug, Args)]
pub(crate) struct RotateArgs {
    /// Its id.
    id: KeyId,

    /// How long the secret of before is taken too, in seconds (0 to 2592000).
    #[arg(long, value_name = "N", default_value_t = 3_600)]
    overlap_seconds: u32,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Clone, Copy)]
struct Ending(Option<Timestamp>);

#[derive(Debug, Clone, Copy)]
struct Bound(Option<u32>);

fn scope(word: &str) -> Result<Scope, String> {
    Scope::from_word(word).ok_or_else(|| "expected produce, consume, read or admin".to_owned())
}

fn ending(text: &str) -> Result<Ending, String> {
    if text == "never" {
        return Ok(Ending(None));
    }
    Timestamp::parse(text).map(|at| Ending(Some(at))).map_err(|error| format!("{error}, or never"))
}

fn bound(text: &str) -> Result<Bound, String> {
    if text == "none" {
        return Ok(Bound(None));
    }
    text.parse().map(|count| Bound(Some(count))).map_err(|_| "expected a number, or none".to_owned())
}

/// Runs one of the commands that ask a server.
pub(crate) async fn run(command: KeyCommand) -> Result<(), Failure> {
    match command {
        KeyCommand::Generate => print_generated(),
        KeyCommand::Create(args) => create(args).await,
        KeyCommand::List(args) => list(args).await,
        KeyCommand::Show(args) => {
            let key = args.connection.client()?.key(args.id).await?;
            Ok(args.connection.output().one(Some(&key), lines)?)
        }
        KeyCommand::Patch(args) => patch(args).await,
        KeyCommand::Rotate(args) => {
            let rotation = KeyRotateRequest { overlap_seconds: args.overlap_seconds };
            let key = args.connection.client()?.rotate_key(args.id, &rotation).await;
            Ok(args.connection.output().one(Some(&answered(key, ADVICE)?), lines)?)
        }
        KeyCommand::Revoke(args) => {
            let gone = answered(args.connection.client()?.delete_key(args.id).await, ADVICE)?;
            Ok(args.connection.output().one(Some(&gone), |gone| vec![("revoked", gone.id.to_string())])?)
        }
    }
}

async fn create(args: CreateArgs) -> Result<(), Failure> {
    let CreateArgs { name, scopes, queues, expires_at, rate_limit, connection } = args;
    let key = KeyCreateRequest { name, scopes, queues, expires_at, rate_limit };
    let key = answered(connection.client()?.create_key(&key).await, ADVICE)?;
    Ok(connection.output().one(Some(&key), lines)?)
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let page = client.keys(cursor.as_deref()).await?;
        keys.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(args.connection.output().grid(&keys, COLUMNS, row)?);
        }
    }
}

async fn patch(args: PatchArgs) -> Result<(), Failure> {
    let PatchArgs { id, scopes, queues, expires_at, rate_limit, connection } = args;
    let (expires_at, rate_limit) = (expires_at.map(|Ending(at)| at), rate_limit.map(|Bound(count)| count));
    let changes = KeyPatchRequest { scopes, queues, expires_at, rate_limit };
    let key = answered(connection.client()?.patch_key(id, &changes).await, ADVICE)?;
    Ok(connection.output().one(Some(&key), lines)?)
}

const COLUMNS: &[&str] = &["key", "name", "scopes", "reaches", "calls a second", "ends", "last used"];

/// A key in a list.
fn row(key: &KeyReply) -> Vec<String> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    vec![
        key.id.to_string(),
        key.name.clone(),
        key.scopes.join(", "),
        key.queues.join(", "),
        or_none(key.rate_limit.map(|count| count.to_string())),
        or_none(key.expires_at.map(|at| at.to_string())),
        or_none(key.last_used_at.map(|at| at.to_string())),
    ]
}

fn lines(key: &KeyReply) -> Lines {
    let mut lines = vec![
        ("key", key.id.to_string()),
        ("name", key.name.clone()),
        ("prefix", key.prefix.clone()),
        ("scopes", key.scopes.join(", ")),
        ("reaches", key.queues.join(", ")),
    ];
    lines.extend(key.expires_at.map(|at| ("ends", at.to_string())));
    lines.extend(key.rate_limit.map(|count| ("calls a second", count.to_string())));
    lines.extend(key.overlap_until.map(|at| ("old secret until", at.to_string())));
    lines.extend(key.last_used_at.map(|at| ("last used", at.to_string())));
    lines.extend(key.secret.clone().map(|secret| ("secret", secret)));
    lines
}

fn print_generated() -> Result<(), Failure> {
    Ok(print::line(generate().reveal())?)
}

/// A new key.
pub(crate) fn generate() -> BearerKey {
    BearerKey::generate(&SystemClock::new(), &SystemRandom)
}
