//! What the system counts for a process.
//!
//! Lives here: CPU time, memory and bytes written, read from `/proc`. Not here: starting a process
//! (`server.rs`).

use std::fs;
use std::time::Duration;

use anyhow::Context;

/// A running process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) pid: u32,
}

impl Process {
    /// CPU time since its start, in user and system mode. The system counts in steps of about 10 ms.
    ///
    /// # Errors
    /// Where it is gone.
    pub(crate) fn cpu(self) -> anyhow::Result<Duration> {
        let ticks = cpu_ticks(&self.read("stat")?).context("the CPU time in /proc/PID/stat")?;
        Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
    }

    /// Memory that it has in RAM now, in bytes.
    ///
    /// # Errors
    /// Where it is gone.
    pub(crate) fn resident_bytes(self) -> anyhow::Result<u64> {
        let kib = labelled(&self.read("status")?, "VmRSS:").context("VmRSS in /proc/PID/status")?;
        Ok(kib << 10)
    }

    /// The most that it ever had in RAM, in bytes.
    ///
    /// # Errors
    /// Where it is gone.
    pub(crate) fn resident_bytes_max(self) -> anyhow::Result<u64> {
        let kib = labelled(&self.read("status")?, "VmHWM:").context("VmHWM in /proc/PID/status")?;
        Ok(kib << 10)
    }

    /// Bytes that it has handed to the system to be written, to files mostly. What reaches the disk is
    /// counted too, as `write_bytes`, but by whole folios of the page cache, which may be a hundred times
    /// as much.
    ///
    /// # Errors
    /// Where it is gone.
    pub(crate) fn written_bytes(self) -> anyhow::Result<u64> {
        labelled(&self.read("io")?, "wchar:").context("wchar in /proc/PID/io")
    }

    fn read(self, file: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{file}", self.pid);
        fs::read_to_string(&path).with_context(|| format!("{path}: the server is gone"))
    }
}

/// utime and stime: the 14th and the 15th field. The second is a name in brackets that may hold anything.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The number behind a label at the beginning of a line.
fn labelled(text: &str, label: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 12 30 0 0 20 0 1 0 99 1 1";
        assert_eq!(cpu_ticks(stat), Some(42));
        assert_eq!(cpu_ticks("7 (a) S 1"), None);
    }

    #[test]
    fn numbers_are_found_by_their_labels() {
        let status = "VmPeak:\t 9 kB\nVmRSS:\t   1234 kB\n";
        assert_eq!(labelled(status, "VmRSS:"), Some(1_234));
        assert_eq!(labelled("rchar: 1\nwchar: 4096\nwrite_bytes: 2\n", "wchar:"), Some(4_096));
        assert_eq!(labelled(status, "VmHWM:"), None);
    }

    #[test]
    fn this_process_can_be_counted() {
        let own = Process { pid: std::process::id() };
        assert!(own.resident_bytes().expect("it runs") > 0);
        assert!(own.resident_bytes_max().expect("it runs") >= own.resident_bytes().expect("it runs") / 2);
        own.cpu().expect("it runs");
        own.written_bytes().expect("it runs");
    }
}
