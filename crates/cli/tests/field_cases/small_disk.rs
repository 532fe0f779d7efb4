//! A disk of a few megabytes, which nobody sees but the servers on it.
//!
//! Lives here: a file system in memory within mounts of its own, so that a test that fails leaves nothing
//! mounted. Not here: what is done on it (`fc20_full_disk.rs`).
//!
//! This needs the right to mount, which root has. Where it is missing the test fails: a disk that fills
//! cannot be had otherwise.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::Start;

/// Mounts the disk, says so, and holds on to the mounts until its input ends.
const HOLD: &str = r#"mount -t tmpfs -o "size=$1,mode=0700" naven "$2" && echo mounted && exec cat"#;
/// What is in the way of others, and can be removed.
const BALLAST: &str = "ballast";

/// The disk. Dropped, it is gone.
pub(crate) struct SmallDisk {
    /// The process whose mounts it is in. It ends with this process, too, as its input does.
    holder: Child,
    place: TempDir,
}

impl SmallDisk {
    /// A disk of so many bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        let place = tempfile::tempdir().expect("a temporary folder");
        let mut holder = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", HOLD, "sh", &bytes.to_string()])
            .arg(place.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("unshare, of the package util-linux, is there");
        let mut line = String::new();
        let said = BufReader::new(holder.stdout.take().expect("stdout is piped")).read_line(&mut line);
        if said.is_err() || line != "mounted\n" {
            let mut why = String::new();
            let _ = holder.stderr.take().expect("stderr is piped").read_to_string(&mut why);
            panic!("a disk of its own cannot be mounted ({}): this test has to run as root", why.trim());
        }
        Self { holder, place }
    }

    /// A server whose data is on it.
    pub(crate) fn serve(&self) -> Start {
        let data = self.place.path().join("naven-data");
        let data = data.to_str().expect("temporary folders have plain names");
        Start::serve().mounts_of(self.holder.id()).args(&["--data", data])
    }

    /// Fills so many bytes of it with what can be removed.
    pub(crate) fn load(&self, bytes: usize) {
        fs::write(self.seen(BALLAST), vec![1; bytes]).expect("there is room for it yet");
    }

    /// Removes that again.
    pub(crate) fn unload(&self) {
        fs::remove_file(self.seen(BALLAST)).expect("it is there");
    }

    /// Mounts it again: `ro` or `rw`. Nobody may have a file open for writing.
    pub(crate) fn remount(&self, how: &str) {
        let status = Command::new("nsenter")
            .arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id()))
            .args(["mount", "-o", &format!("remount,{how}")])
            .arg(self.place.path())
            .status();
        assert!(status.expect("nsenter, of the package util-linux, is there").success(), "remount,{how}");
    }

    /// A file of it, as it is seen from here.
    fn seen(&self, name: &str) -> PathBuf {
        let place = self.place.path().strip_prefix("/").expect("temporary folders are absolute");
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(place).join(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // One that has ended already needs no killing.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
