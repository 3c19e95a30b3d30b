//! RFC 9260 §6.2 and RFC 1122 §4.2.3.3.

use proptest::prelude::*;

use super::*;

const SIZE: u32 = 64_000;
const PMDCS: usize = 1452;

/// A window of `SIZE` whose last SACK said `told`.
fn told(told: u32) -> ReceiveWindow {
    let mut window = ReceiveWindow::new(SIZE);
    window.on_sacked(told);
    window
}

//= RFC 9260 6.2-23 6.2-24
#[test]
fn what_is_buffered_is_subtracted() {
    // RFC 9260 §6.2 B and C.
    let window = ReceiveWindow::new(SIZE);
    assert_eq!(window.advertised(0), SIZE);
    assert_eq!(window.advertised(1000), SIZE - 1000);
    assert_eq!(window.advertised(SIZE as usize), 0);
    assert_eq!(window.advertised(usize::MAX), 0);
}

#[test]
fn a_closing_window_is_told_as_it_is() {
    let mut window = ReceiveWindow::new(SIZE);
    for free in [3000u32, 1499, 700, 1, 0] {
        let buffered = (SIZE - free) as usize;
        assert_eq!(window.advertised(buffered), free);
        window.on_sacked(free);
    }
}

#[test]
fn a_closed_window_does_not_open_by_crumbs() {
    let window = told(0);
    assert_eq!(window.advertised(SIZE as usize - 1499), 0);
    assert_eq!(window.advertised(SIZE as usize - 1500), 1500);
    // A small one stays as it is.
    assert_eq!(told(100).advertised(SIZE as usize - 1499), 100);
}

#[test]
fn data_that_arrives_uses_up_what_was_told() {
    let mut window = told(1000);
    window.on_received(900);
    // The application read 500 bytes meanwhile; the right edge stays all the same.
    assert_eq!(window.advertised((SIZE - 600) as usize), 100);
    window.on_received(200);
    assert_eq!(window.advertised((SIZE - 600) as usize), 0);
}

#[test]
fn updates_come_for_a_quarter_of_the_buffer() {
    let window = told(20_000);
    let buffered = |free: u32| (SIZE - free) as usize;
    assert!(!window.update_due(buffered(20_000), PMDCS));
    assert!(!window.update_due(buffered(35_999), PMDCS));
    assert!(window.update_due(buffered(36_000), PMDCS));
    // A window that shrank needs no update.
    assert!(!window.update_due(buffered(100), PMDCS));
}

#[test]
fn a_stuck_sender_is_told_earlier() {
    // Two chunks are less than a sixteenth of the buffer here.
    assert!(!told(0).update_due((SIZE - 3_999) as usize, PMDCS));
    assert!(told(0).update_due((SIZE - 4_000) as usize, PMDCS));
    assert!(told(1451).update_due((SIZE - 5_451) as usize, PMDCS));
    assert!(!told(1452).update_due((SIZE - 6_000) as usize, PMDCS));
    // Two chunks are more than a sixteenth.
    assert!(!told(0).update_due((SIZE - 17_999 + 2000) as usize, 9_000));
    assert!(told(0).update_due((SIZE - 16_000) as usize, 9_000));
}

#[test]
fn small_buffers_reopen_too() {
    for size in [1, 3, 1500, 4096] {
        let mut window = ReceiveWindow::new(size);
        window.on_sacked(0);
        assert_eq!(window.advertised(0), size);
        assert!(window.update_due(0, PMDCS), "{size}");
        assert!(!window.update_due(size as usize, PMDCS), "{size}");
    }
    assert!(!ReceiveWindow::new(0).update_due(0, PMDCS));
}

proptest! {
    //= RFC 9260 6.2-6 6.2-12
    /// RFC 1122 §4.2.3.3: the right edge advances by a full-sized packet (or a good part of the
    /// buffer) or not at all; and it is never taken back while the window closes.
    #[test]
    fn the_right_edge_moves_in_large_steps_and_never_back(
        size in 4096u32..200_000,
        steps in prop::collection::vec((any::<bool>(), 1usize..3000), 1..300),
    ) {
        let mut window = ReceiveWindow::new(size);
        let (mut received, mut buffered) = (0u64, 0usize);
        let mut edge = u64::from(size);
        let least = u64::from(MIN_OPENING.min(size / 4));
        for (arrives, bytes) in steps {
            if arrives {
                if window.advertised(buffered) == 0 {
                    continue;
                }
                buffered += bytes;
                received += bytes as u64;
                window.on_received(bytes);
            } else {
                buffered -= bytes.min(buffered);
                if !window.update_due(buffered, PMDCS) {
                    continue;
                }
            }
            let a_rwnd = window.advertised(buffered);
            prop_assert!(u64::from(a_rwnd) <= u64::from(size));
            prop_assert!(u64::from(a_rwnd) <= (u64::from(size)).saturating_sub(buffered as u64));
            let new_edge = received + u64::from(a_rwnd);
            // The last chunk may exceed the window.
            if received <= edge {
                prop_assert!(new_edge + 3000 > edge, "{} {}", edge, new_edge);
            }
            if a_rwnd > 0 && u64::from(a_rwnd) < least {
                prop_assert!(new_edge <= edge, "opened to a silly {}", a_rwnd);
            }
            edge = edge.max(new_edge);
            window.on_sacked(a_rwnd);
        }
    }
}
