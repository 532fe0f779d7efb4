//! A consumer whose effects happen once: a charge by somebody else's API, and a booking in PostgreSQL.
//!
//! Lives here: the ledger in `docs/consumers.md`. Not here: what it promises (`naven_client::ledger`).
//! `NAVEN_API_KEY=nvk_… cargo run -p naven-client --features ledger-postgres --example ledger -- URL QUEUE "host=… user=…"`

use std::sync::Arc;

use naven_client::Client;
use naven_client::consumer::{Consumer, Delivery, Outcome};
use naven_client::ledger::postgres::{Postgres, create, once_in};
use naven_client::ledger::{EffectKey, Failed, Ledger, OnceError};
use tokio::sync::Mutex;
use tokio_postgres::NoTls;

type Fault = Box<dyn std::error::Error + Send + Sync>;

#[derive(serde::Deserialize)]
struct Order {
    cents: i64,
}

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "an example reads its settings where it needs them")]
async fn main() -> Result<(), Fault> {
    let mut args = std::env::args().skip(1);
    let (url, queue) = (args.next().ok_or("which server?")?, args.next().ok_or("which queue?")?);
    let config: tokio_postgres::Config = args.next().ok_or("which database?")?.parse()?;
    let (db, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    // Both belong into your migrations.
    create(&db).await?;
    db.batch_execute("CREATE TABLE IF NOT EXISTS bookings (charge text, cents bigint)").await?;

    let (db, ledger) = (Arc::new(Mutex::new(db)), Ledger::new(Postgres::new(config, NoTls)));
    let client = Client::new(&url, &std::env::var("NAVEN_API_KEY")?)?;
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    let handle = move |delivery| handle(delivery, ledger.clone(), Arc::clone(&db));
    Consumer::new(client, queue).concurrency(4).run(stop, handle).await?;
    Ok(())
}

async fn handle(
    delivery: Delivery<Order>,
    ledger: Ledger<Postgres<NoTls>>,
    db: Arc<Mutex<tokio_postgres::Client>>,
) -> Result<Outcome, Fault> {
    let cents = delivery.payload().cents;
    // Outside of the database: where nobody knows whether it happened, it is done again under the same key.
    let lease = ledger.lease(&delivery);
    let charge = match lease.once_keyed("charge", async |key| charge(&key, cents).await).await {
        Ok(charge) => charge,
        // Surely not, and it never will.
        Err(OnceError::Failed { source, in_doubt: false }) => {
            return Ok(Outcome::dead_letter(source.to_string()));
        }
        // Whatever else: the attempt failed, and the next one gets the result, or runs it.
        Err(error) => return Err(error.into()),
    };
    // In the database: the booking and its record are committed together, or not at all.
    let mut db = db.lock().await;
    let transaction = db.transaction().await?;
    once_in(&transaction, &delivery, "book", async || {
        transaction.execute("INSERT INTO bookings VALUES ($1, $2)", &[&charge, &cents]).await?;
        Ok(())
    })
    .await?;
    transaction.commit().await?;
    Ok(Outcome::Done)
}

/// Stands for a call to a payment API, which takes an idempotency key. By `?` an error of the call would be one that leaves
/// open whether the charge happened.
async fn charge(key: &EffectKey, cents: i64) -> Result<String, Failed> {
    if cents <= 0 {
        return Err(Failed::undone("there is nothing to charge"));
    }
    Ok(format!("charged {cents} under {key}"))
}
