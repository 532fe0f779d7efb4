//! Real servers for tests, each with a folder of its own, which ends with it.
//!
//! Lives here: starting and ending `redis-server` and `postgres` on free ports. Not here: what is asked of them.

use std::fs;
use std::net::TcpListener;
#[cfg(feature = "ledger-postgres")]
use std::os::unix::fs::PermissionsExt;
#[cfg(feature = "ledger-postgres")]
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::sleep;

/// How often a server that starts is looked at, every 50 ms: longer than any takes.
const LOOKS: u32 = 1_200;

/// A process that ends with this.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) folder: TempDir,
}

impl Server {
    /// Ends it without a chance to tidy up.
    #[cfg(feature = "ledger-redis")]
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // PostgreSQL ends its own children on this, at once; Redis ends as it would when it is killed.
        let quit = Command::new("kill").args(["-QUIT", &self.child.id().to_string()]).status();
        if !quit.is_ok_and(|status| status.success()) {
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}

/// A port that nobody listens on, below those that the system hands out by itself: what connects elsewhere meanwhile
/// cannot be given it.
fn free_port() -> u16 {
    let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    let ports = (0..1_000).map(|step| 12_000 + ((seed % 20_000 + step * 7) % 20_000) as u16);
    let mut free = ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("a free port")
}

fn spawn(command: &mut Command, what: &str) -> Child {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    spawned.unwrap_or_else(|error| panic!("{what} has to be installed for this test: {error}"))
}

/// Waits until `answers` does.
async fn until<T>(mut answers: impl AsyncFnMut() -> Option<T>, what: &str) -> T {
    for _ in 0..LOOKS {
        if let Some(answer) = answers().await {
            return answer;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} did not start");
}

#[cfg(feature = "ledger-redis")]
pub(crate) mod redis_server {
    use redis::Client;
    use redis::aio::MultiplexedConnection;

    use super::*;

    /// Starts one; `settings` are its command line.
    pub(crate) async fn start(settings: &[&str]) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let port = free_port();
        Server { child: spawn_in(&folder, port, settings), port, folder }.answering().await
    }

    fn spawn_in(folder: &TempDir, port: u16, settings: &[&str]) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()]);
        command.arg("--dir").arg(folder.path()).args(settings);
        spawn(&mut command, "redis-server")
    }

    impl Server {
        async fn answering(self) -> Self {
            until(async || connect(&self).await, "redis-server").await;
            self
        }

        /// Starts it again, on what is left in its folder.
        pub(crate) async fn start_again(self, settings: &[&str]) -> Self {
            let mut old = self;
            old.kill();
            old.child = spawn_in(&old.folder, old.port, settings);
            old.answering().await
        }
    }

    pub(crate) async fn connect(server: &Server) -> Option<MultiplexedConnection> {
        let client = Client::open(format!("redis://127.0.0.1:{}/", server.port)).expect("an address");
        // A shared machine may be slow.
        let patient = redis::AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(30)));
        let mut connection = client.get_multiplexed_async_connection_with_config(&patient).await.ok()?;
        redis::cmd("PING").exec_async(&mut connection).await.ok()?;
        Some(connection)
    }
}

#[cfg(feature = "ledger-postgres")]
pub(crate) mod postgres_server {
    use tokio_postgres::{Client, Config, NoTls};

    use super::*;

    /// Makes a cluster and starts its server.
    pub(crate) async fn start() -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("it is ours");
        let mut made = program("initdb");
        made.args(["--no-sync", "--username=naven", "--auth=trust", "--encoding=UTF8", "--no-locale"]);
        let made = made.arg("-D").arg(&data).current_dir(folder.path()).output();
        let made = made.unwrap_or_else(|error| panic!("initdb of PostgreSQL has to be installed: {error}"));
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let mut command = program("postgres");
        command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k", "", "-F"]);
        let child = spawn(command.current_dir(folder.path()), "postgres");
        let server = Server { child, port, folder };
        until(async || connect(server.port).await, "postgres").await;
        server
    }

    /// PostgreSQL refuses to run as root, who may be somebody else.
    fn program(name: &str) -> Command {
        let program = located(name);
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
        if !is_root {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
        command
    }

    /// In the path, or where Debian has its versions.
    fn located(name: &str) -> PathBuf {
        let is_in_path = Command::new(name).arg("--version").output().is_ok();
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut there: Vec<_> = versions.map(|version| version.path().join("bin").join(name)).collect();
        there.retain(|program| program.exists());
        there.sort();
        match there.pop() {
            Some(program) if !is_in_path => program,
            _ => PathBuf::from(name),
        }
    }

    pub(crate) fn config(port: u16) -> Config {
        let mut config = Config::new();
        config.host("127.0.0.1").port(port).user("naven").dbname("postgres");
        config
    }

    /// A client, whose connection ends with it.
    pub(crate) async fn connect(port: u16) -> Option<Client> {
        let (client, connection) = config(port).connect(NoTls).await.ok()?;
        tokio::spawn(connection);
        Some(client)
    }
}
