//! Answers to COMMIT that are lost.
//!
//! Lives here: a go-between that cuts the connection at COMMIT, before or after the database has it. Not here: what is committed
//! (`transaction.rs`).

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::bench::{Bench, write, write_and_commit};
use crate::servers::postgres_server::connect;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    /// It does not arrive.
    Before,
    /// It is done, and the answer is lost.
    After,
}

/// The port of a go-between, for one connection.
async fn go_between(upstream: u16, cut: Cut) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.expect("one comes");
        let mut server = TcpStream::connect(("127.0.0.1", upstream)).await.expect("it answers");
        let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
        loop {
            tokio::select! {
                read = client.read(&mut asked) => {
                    let Ok(len @ 1..) = read else { return };
                    let is_commit = asked[..len].windows(6).any(|word| word == b"COMMIT");
                    if is_commit && cut == Cut::Before {
                        return;
                    }
                    server.write_all(&asked[..len]).await.expect("it takes it");
                    if is_commit {
                        // Only once it has answered is it done.
                        let answer = server.read(&mut answered).await.expect("it answers");
                        assert!(answered[..answer].starts_with(b"C"), "it is no word of success");
                        return;
                    }
                }
                read = server.read(&mut answered) => {
                    let Ok(len @ 1..) = read else { return };
                    client.write_all(&answered[..len]).await.expect("it takes it");
                }
            }
        }
    });
    port
}

#[tokio::test]
async fn an_effect_whose_commit_was_not_answered_is_done_once() {
    let bench = Bench::start().await;
    for (event, cut) in [("before", Cut::Before), ("after", Cut::After)] {
        let port = go_between(bench.server.port, cut).await;
        let mut client = connect(port).await.expect("it answers");
        let transaction = client.transaction().await.unwrap();
        assert_eq!(write(&transaction, event, 1).await.unwrap(), 1);
        assert!(transaction.commit().await.is_err(), "nobody knows");
        let mut client = bench.connect().await;
        let result = write_and_commit(&mut client, event, 2).await.unwrap();
        assert_eq!(result, if cut == Cut::After { 1 } else { 2 });
        assert_eq!(bench.writes(event).await, 1);
    }
}
