//! Where the fuzzer comes in: with an allocator that gives no piece larger than any input explains.
//!
//! Lives here: the bound, and what a target is in an ordinary build, which only sees whether it compiles. A program
//! that is refused memory aborts, and the fuzzer keeps the input.

/// A target: `entry!(most bytes of memory in one piece, |input| what checks it)`.
macro_rules! entry {
    ($piece_bytes_max:expr, |$input:ident| $check:expr) => {
        #[cfg(fuzzing)]
        #[global_allocator]
        static MEMORY: entry::bounded::BoundedMemory = entry::bounded::BoundedMemory::upto($piece_bytes_max);

        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|$input: &[u8]| $check);

        #[cfg(not(fuzzing))]
        fn main() {
            eprintln!("built without a fuzzer: ci/fuzz.sh builds it with one");
            std::process::exit(2);
        }
    };
}

pub(crate) use entry;

#[cfg(fuzzing)]
pub(crate) mod bounded {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::ptr;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    /// Set by the first refusal. Who prints the backtrace of it, or of a panic, reads all debug information.
    static HAS_REFUSED: AtomicBool = AtomicBool::new(false);

    pub(crate) struct BoundedMemory {
        /// Largest piece, in bytes. Inputs have a few thousand.
        piece_bytes_max: usize,
    }

    impl BoundedMemory {
        /// Memory in pieces of at most so many bytes.
        pub(crate) const fn upto(piece_bytes_max: usize) -> Self {
            Self { piece_bytes_max }
        }
    }

    // SAFETY: every piece comes from the system's allocator and goes back to it; a null pointer is a refusal.
    unsafe impl GlobalAlloc for BoundedMemory {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let is_too_large = layout.size() > self.piece_bytes_max && !thread::panicking();
            if is_too_large && !HAS_REFUSED.swap(true, Ordering::Relaxed) {
                return ptr::null_mut();
            }
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
            unsafe { System.dealloc(piece, layout) }
        }
    }
}
