//! The process, as the system sees it.
//!
//! Lives here: reading `/proc/self`. Where there is none, nothing is told. Not here: the node in it.

use std::fs;

use super::page::{Kind, Page};

/// Adds what the system says. Blocks for as long as that takes.
pub(super) fn tell(page: &mut Page) {
    if let Some(open) = open_files() {
        page.one(Kind::Gauge, "process_open_fds", "Open file descriptors of the process", open as f64);
    }
    if let Some(bytes) = resident_bytes() {
        let help = "Memory of the process that is in RAM";
        page.one(Kind::Gauge, "process_resident_memory_bytes", help, bytes as f64);
    }
}

fn open_files() -> Option<usize> {
    // The listing itself has one open.
    Some(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1))
}

fn resident_bytes() -> Option<u64> {
    resident_of(&fs::read_to_string("/proc/self/status").ok()?)
}

fn resident_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_bytes_are_read_from_their_line() {
        assert_eq!(resident_of("Name:\tnaven\nVmRSS:\t   12 kB\nRssAnon:\t 1 kB\n"), Some(12_288));
        for other in ["", "VmRSS:\t12 MB\n", "VmRSS:\tkB\n", "XVmRSS:\t12 kB\n"] {
            assert_eq!(resident_of(other), None, "{other:?}");
        }
    }
}
