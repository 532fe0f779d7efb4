//! The same folder and log on the machine's own file system.
//!
//! Lives here: rights, the lock, and one log written and read. Not here: crashes, which a real disk
//! cannot be asked for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use naven_api::Timestamp;
use naven_core::LeaseTime;
use naven_store::embedded::disk::{Disk, RealDisk, Site};
use naven_store::embedded::folder::Folder;
use naven_store::embedded::log::{Commit, Committed, FIRST_LSN, Log, segment::segment_bytes_for};
use naven_store::embedded::storage_error::StorageError;

use super::script::{batch, new_store};

/// A folder that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn a_log_on_a_real_disk_is_read_back_and_its_files_are_the_owners_alone() {
    let scratch = Scratch::new("log-real");
    let root = scratch.0.join("deep/folder");
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(&root).unwrap());
    let folder = Folder::open(&*disk, new_store).unwrap();
    let (log, _) = Log::open(Arc::clone(&disk), &folder.meta, FIRST_LSN, &mut |_, _| Ok(())).unwrap();
    let commit = Commit::start(log, Box::new(|failed| panic!("{failed}"))).unwrap();
    let mut lsn = FIRST_LSN;
    let (told, durable) = std::sync::mpsc::channel();
    for _ in 0..300 {
        let next = batch(lsn, 0);
        lsn = next.next_lsn();
        let told = told.clone();
        commit.push(next, Box::new(move |committed| told.send(committed).unwrap()));
    }
    commit.close(Timestamp::from_ms(7), LeaseTime::from_ms(8)).unwrap();
    drop(told);
    assert!(durable.iter().inspect(|told| assert_eq!(*told, Committed::Durable)).count() == 300);
    let mut read = 0;
    let (_, recovered) = Log::open(Arc::clone(&disk), &folder.meta, FIRST_LSN, &mut |header, payload| {
        assert_eq!(payload, batch(header.lsn, 0).payload.get(..payload.len()).unwrap());
        read += 1;
        Ok(())
    })
    .unwrap();
    assert!(recovered.was_sealed && read == 301, "{recovered:?}");
    assert_eq!(recovered.last.unwrap().lease, LeaseTime::from_ms(8));

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&root), mode(&root.join("log"))), (0o700, 0o700));
    for name in ["meta", "secret", "lock"] {
        assert_eq!(mode(&root.join(name)), 0o600, "{name}");
    }
    for file in fs::read_dir(root.join("log")).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn a_real_folder_that_others_can_write_to_is_refused() {
    let scratch = Scratch::new("log-open-to-others");
    fs::create_dir_all(&scratch.0).unwrap();
    for mode in [0o770, 0o702, 0o777] {
        fs::set_permissions(&scratch.0, fs::Permissions::from_mode(mode)).unwrap();
        let refused = RealDisk::open(&scratch.0);
        assert!(matches!(refused, Err(StorageError::OpenToOthers { .. })), "{mode:o}: {refused:?}");
    }
    fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(RealDisk::open(&scratch.0).is_ok());
}

#[test]
fn a_real_folder_in_use_is_refused_and_a_file_is_no_folder() {
    let scratch = Scratch::new("log-in-use");
    let disk = RealDisk::open(&scratch.0).unwrap();
    let held = Folder::open(&disk, new_store).unwrap();
    let second = RealDisk::open(&scratch.0).unwrap();
    assert!(matches!(Folder::open(&second, new_store), Err(StorageError::InUse)));
    drop(held);
    assert!(!Folder::open(&second, new_store).unwrap().is_new);
    assert!(matches!(RealDisk::open(&scratch.0.join("meta")), Err(StorageError::NotOurs { .. })));
}

#[test]
fn a_real_folder_that_cannot_be_looked_up_or_made_is_told_by_its_path_and_nothing_is_made() {
    let scratch = Scratch::new("log-no-way");
    fs::create_dir_all(&scratch.0).unwrap();
    fs::write(scratch.0.join("file"), b"mine").unwrap();
    std::os::unix::fs::symlink("loop", scratch.0.join("loop")).unwrap();
    std::os::unix::fs::symlink("nowhere/at/all", scratch.0.join("dangling")).unwrap();
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    // A file on the way; links that lead round, and nowhere; a name that no file system takes.
    for way in ["file/below", "loop", "loop/below", "dangling", &"x".repeat(300), "file/a/b"] {
        let root = scratch.0.join(way);
        for opened in [RealDisk::open(&root), RealDisk::read_only(&root)] {
            let Err(StorageError::Disk(error)) = opened else { panic!("{way}: {opened:?}") };
            assert_eq!(error.site, Site("folder.open"), "{way}");
            assert!(error.to_string().contains(&root.display().to_string()), "{error}");
        }
    }
    assert!(matches!(RealDisk::read_only(&scratch.0.join("file")), Err(StorageError::NotOurs { .. })));
    assert!(matches!(RealDisk::read_only(&scratch.0.join("none")), Err(StorageError::Disk(_))));
    assert_eq!((names(), fs::read(scratch.0.join("file")).unwrap()), (before, b"mine".to_vec()));
}

#[test]
fn a_real_disk_does_what_its_traits_say() {
    const SITE: Site = Site("test");
    let scratch = Scratch::new("log-disk");
    let disk = RealDisk::open(&scratch.0).unwrap();
    assert!(disk.free_bytes(SITE).unwrap() > 0);
    let file = disk.create(SITE, "a", 3_000_000).unwrap();
    assert_eq!(file.len(SITE).unwrap(), 3_000_000);
    assert!(disk.create(SITE, "a", 1).is_err(), "it is there already");
    file.write_at(SITE, 2_999_999, b"xyz").unwrap();
    file.sync(SITE).unwrap();
    let mut bytes = [1; 4];
    file.read_at(SITE, 2_999_998, &mut bytes).unwrap();
    assert_eq!(bytes, *b"\0xyz");
    assert!(file.read_at(SITE, 2_999_999, &mut bytes).is_err(), "it ends before");
    file.set_len(SITE, 10).unwrap();
    assert!(file.read_all(SITE, "a", 9).is_err(), "it is longer");
    assert_eq!(file.read_all(SITE, "a", 10).unwrap(), [0; 10]);
    disk.rename(SITE, "a", "b").unwrap();
    disk.make_folder(SITE, "c").unwrap();
    disk.make_folder(SITE, "c").unwrap();
    disk.sync_dir(SITE, "").unwrap();
    assert_eq!(disk.list(SITE, "").unwrap(), ["b", "c"]);
    disk.remove(SITE, "b").unwrap();
    assert!(disk.open(SITE, "b").err().unwrap().is_missing());
    assert!(disk.remove(SITE, "b").unwrap_err().is_missing());
    assert!(disk.list(SITE, "d").unwrap_err().is_missing());
}

#[test]
fn a_new_log_has_segments_of_a_sixteenth_of_the_free_space_within_bounds() {
    for (free, segment) in [
        (0, 256 << 10),
        (8 << 20, 512 << 10),
        ((16 << 20) - 1, 512 << 10),
        (16 << 20, 1 << 20),
        (1 << 30, 64 << 20),
        (u64::MAX, 64 << 20),
    ] {
        assert_eq!(segment_bytes_for(free), segment, "{free} bytes free");
    }
}
