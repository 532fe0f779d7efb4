//! A command that is run to its end.
//!
//! Lives here: running `naven` with a time limit. Not here: servers, which do not end (`server.rs`).

use std::process::{Command, Output, Stdio};

/// How a command ended, as text.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `naven` with these arguments and variables, and none of the caller's own.
pub(crate) fn run(args: &[&str], variables: &[(&str, &str)]) -> Ended {
    run_with_input(args, variables, "")
}

/// The same with something on standard input.
pub(crate) fn run_with_input(args: &[&str], variables: &[(&str, &str)], input: &str) -> Ended {
    use std::io::Write;

    let mut command = naven();
    command.args(args).envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("naven starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    // A command that reads nothing may have closed it.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("naven ends").into()
}

/// The binary under test, without variables that are meant for the caller's own server.
pub(crate) fn naven() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_naven"));
    for name in [
        "NAVEN_ADMIN_KEY",
        "NAVEN_ALLOWED_HOSTS",
        "NAVEN_API_KEY",
        "NAVEN_API_URL",
        "NAVEN_CA_FILE",
        "NAVEN_CONFIG",
        "NAVEN_CORS_ORIGINS",
        "NAVEN_DATA",
        "NAVEN_ENGINE",
        "NAVEN_HTTP",
        "NAVEN_IMPORT_SOURCE",
        "NAVEN_LEASE_TOKEN",
        "NAVEN_LOG",
        "NAVEN_QUEUE_ID",
        "NAVEN_REDIS",
        "NAVEN_REDIS_NO_AUTH",
        "NAVEN_REDIS_URL",
        "NAVEN_SEGMENT_BYTES",
        "NAVEN_TLS_CERT",
        "NAVEN_TLS_KEY",
        "NAVEN_TRUSTED_PROXIES",
    ] {
        command.env_remove(name);
    }
    command
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}
