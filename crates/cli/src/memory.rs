//! Memory: how much this process may have, and what of that large requests and large answers may take.
//!
//! Lives here: finding the limit, and sharing it out. Not here: the room itself (`naven-server`), and what the engine
//! holds, which has bounds of its own.
//!
//! Clients decide how much is sent and how much is left unread. Were that to have no bound, anybody with a key could
//! end the process: who has used up its memory is ended by the system.

use std::path::Path;

use rustix::process::{Resource, getrlimit};
use tracing::info;

/// A large request, and a large answer, is held in up to three forms while it is under way: as it is sent, as it is
/// understood, and as it is kept. Half of the memory is for the engine and everything small, so each may have this part.
const PART: u64 = 12;
/// Below so many bytes the largest single request would find no room.
const LEAST: u64 = 8 << 20;

/// What of the memory large requests, and large answers, may take: up to `most` each.
pub(crate) fn for_large(most: usize) -> usize {
    let limit = limit();
    let large = shared_out(limit, most);
    if let Some(limit) = limit.filter(|_| large < most) {
        info!(
            "{} MiB of memory leave room for {} MiB of large requests, and of large answers",
            limit >> 20,
            large >> 20
        );
    }
    large
}

fn shared_out(limit: Option<u64>, most: usize) -> usize {
    let Some(limit) = limit else { return most };
    most.min(usize::try_from((limit / PART).max(LEAST)).unwrap_or(most))
}

/// The least of the bounds on this process' memory.
fn limit() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let own = [Resource::Data, Resource::As].into_iter().filter_map(|resource| getrlimit(resource).current);
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| of_machine(&text));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let of_groups = files_of(&groups).into_iter().filter_map(|file| of_group(&read(Path::new(&file))?));
    own.chain(machine).chain(of_groups).min()
}

/// All the memory of the machine, as it tells.
fn of_machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The bound of a control group, where it has one.
fn of_group(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Where the bounds of the control groups stand that a process is in by `text`, and of those around them. Within a
/// container its own group is often seen as the outermost one.
fn files_of(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(kinds), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (folder, name) = match kinds {
            "" => ("/sys/fs/cgroup", "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let around = Path::new(path.trim_start_matches('/')).ancestors();
        files.extend(
            around.map(|path| Path::new(folder).join(path).join(name).to_string_lossy().into_owned()),
        );
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_things_have_a_part_of_little_memory_and_no_more_of_much() {
        let most = 256 << 20;
        assert_eq!(shared_out(None, most), most);
        assert_eq!(shared_out(Some(64 << 30), most), most);
        assert_eq!(shared_out(Some(3 << 30), most), most);
        assert_eq!(shared_out(Some(600 << 20), most), 50 << 20);
        assert_eq!(shared_out(Some(16 << 20), most), 8 << 20, "the largest request finds room at any time");
    }

    #[test]
    fn the_bounds_of_a_group_and_of_those_around_it_count() {
        let files = files_of("4:cpu,cpuacct:/a\n3:memory:/a/b\n0::/c\n");
        let v1 = ["memory/a/b", "memory/a", "memory"]
            .map(|path| format!("/sys/fs/cgroup/{path}/memory.limit_in_bytes"));
        let v2 = ["/sys/fs/cgroup/c/memory.max", "/sys/fs/cgroup/memory.max"].map(str::to_owned);
        assert_eq!(files, [v1.to_vec(), v2.to_vec()].concat());
        assert_eq!((of_group("max\n"), of_group("536870912\n")), (None, Some(512 << 20)));
        assert_eq!(of_machine("MemTotal:       24607252 kB\nMemFree: 1 kB\n"), Some(24_607_252 << 10));
    }
}
