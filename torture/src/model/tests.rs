//! The full size of every change.

use super::Size;

#[test]
fn every_state_of_the_small_model_keeps_every_promise() {
    let explored = Size::default().explore();
    println!("{explored}");
    assert!(explored.broken.is_empty(), "{explored}");
    assert_eq!(explored.unseen(), [], "{explored}");
    assert!(explored.states > 1_000_000, "{explored}");
}
