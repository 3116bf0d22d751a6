//! HTTP/2 flow control: computes the windows of streams and connections (RFC 9113 §5.2, §6.9). Also stream ids
//! (§5.1.1).
//!
//! The engine keeps one window for each stream and one for the connection and decides what to send; this module sends
//! nothing.

use super::error::Http2Error;
use super::frame::MAX_STREAM_ID;

/// The window of every stream and of the connection before SETTINGS and WINDOW_UPDATE (RFC 9113 §6.9.2).
pub const WINDOW_DEFAULT: u32 = 65_535;

/// The largest window (RFC 9113 §6.9.1).
pub const MAX_WINDOW: u32 = (1 << 31) - 1;

/// The number of bytes that we may still send, on one stream or on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendWindow(i64);

impl SendWindow {
    /// A window of this many bytes.
    pub fn new(bytes: u32) -> Self {
        Self(bytes.into())
    }

    /// Bytes that may be sent; none while the window is negative.
    #[inline]
    pub fn available(self) -> u32 {
        u32::try_from(self.0.max(0)).unwrap_or(MAX_WINDOW)
    }

    /// Counts bytes sent, at most [`SendWindow::available`].
    #[inline]
    pub fn consume(&mut self, bytes: u32) {
        debug_assert!(bytes <= self.available());
        self.0 -= i64::from(bytes);
    }

    /// Takes back counted bytes that will not be sent.
    pub fn undo(&mut self, bytes: u32) {
        self.0 += i64::from(bytes);
    }

    /// Applies WINDOW_UPDATE for `stream`; 0 is the connection.
    ///
    /// # Errors
    /// An increment of 0 (RFC 9113 §6.9), a window over [`MAX_WINDOW`] (§6.9.1).
    pub fn increase(&mut self, stream: u32, increment: u32) -> Result<(), Http2Error> {
        if increment == 0 {
            return Err(Http2Error::ZeroIncrement { stream });
        }
        let window = self.0 + i64::from(increment);
        if window > i64::from(MAX_WINDOW) {
            return Err(Http2Error::WindowOverflow { stream });
        }
        self.0 = window;
        Ok(())
    }

    /// Applies a changed SETTINGS_INITIAL_WINDOW_SIZE, which may make the window of an open stream negative (RFC 9113
    /// §6.9.2).
    ///
    /// # Errors
    /// A window over [`MAX_WINDOW`], which is an error of the connection.
    pub fn shift(&mut self, change: i64) -> Result<(), Http2Error> {
        let window = self.0 + change;
        if window > i64::from(MAX_WINDOW) {
            return Err(Http2Error::WindowOverflow { stream: 0 });
        }
        self.0 = window;
        Ok(())
    }
}

/// The number of bytes that the peer may still send, and when to raise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveWindow {
    size: u32,
    used: u32,
}

impl ReceiveWindow {
    /// A window of this many bytes.
    pub fn new(size: u32) -> Self {
        Self { size, used: 0 }
    }

    /// Counts DATA received for `stream`, padding included (RFC 9113 §6.9.1).
    ///
    /// # Errors
    /// [`Http2Error::WindowExceeded`].
    #[inline]
    pub fn receive(&mut self, stream: u32, bytes: u32) -> Result<(), Http2Error> {
        match self.used.checked_add(bytes) {
            Some(used) if used <= self.size => {
                self.used = used;
                Ok(())
            }
            _ => Err(Http2Error::WindowExceeded { stream }),
        }
    }

    /// Bytes that the peer may still send.
    #[inline]
    pub fn available(self) -> u32 {
        self.size - self.used
    }

    /// Counts DATA received, at most [`ReceiveWindow::available`].
    #[inline]
    pub fn count(&mut self, bytes: u32) {
        debug_assert!(bytes <= self.available());
        self.used = self.used.saturating_add(bytes);
    }

    /// The increment to send, once half of the window is used; it is counted as sent.
    #[inline]
    pub fn replenish(&mut self) -> Option<u32> {
        if self.used <= self.size / 2 {
            return None;
        }
        Some(std::mem::take(&mut self.used))
    }
}

/// The ids of a client's streams: odd, increasing, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamIds {
    next: u32,
}

impl Default for StreamIds {
    fn default() -> Self {
        Self { next: 1 }
    }
}

impl StreamIds {
    /// The id that [`StreamIds::advance`] would use; None when all ids are used and the connection must be replaced.
    #[inline]
    pub fn peek(self) -> Option<u32> {
        (self.next <= MAX_STREAM_ID).then_some(self.next)
    }

    /// Uses or skips an id: a skipped id counts as a closed stream (RFC 9113 §5.1.1).
    #[inline]
    pub fn advance(&mut self) {
        self.next = self.next.saturating_add(2);
    }

    /// Takes back the ids from `first` on, which were not used.
    pub fn undo_from(&mut self, first: u32) {
        self.next = self.next.min(first);
    }

    /// Whether the peer may refer to this stream: it was opened, or an id above it was.
    #[inline]
    pub fn was_opened(self, stream: u32) -> bool {
        stream % 2 == 1 && stream < self.next
    }

    /// The highest id used; 0 before the first.
    pub fn last(self) -> u32 {
        self.next.saturating_sub(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_send_window_may_become_negative_and_never_too_large() {
        let mut window = SendWindow::new(WINDOW_DEFAULT);
        window.consume(60_000);
        assert_eq!(window.shift(-20_000), Ok(()));
        assert_eq!(window.available(), 0);
        assert_eq!(window.increase(1, 20_000), Ok(()));
        assert_eq!(window.available(), 5_535);
        assert_eq!(window.increase(1, 0), Err(Http2Error::ZeroIncrement { stream: 1 }));
        assert_eq!(window.increase(1, MAX_WINDOW), Err(Http2Error::WindowOverflow { stream: 1 }));
        assert_eq!(window.shift(i64::from(MAX_WINDOW)), Err(Http2Error::WindowOverflow { stream: 0 }));
        assert_eq!(window.available(), 5_535, "an error changes nothing");
    }

    #[test]
    fn a_receive_window_is_replenished_at_half() {
        let mut window = ReceiveWindow::new(100);
        assert_eq!((window.receive(1, 50), window.replenish()), (Ok(()), None));
        assert_eq!((window.receive(1, 1), window.replenish()), (Ok(()), Some(51)));
        assert_eq!(window.receive(1, 101), Err(Http2Error::WindowExceeded { stream: 1 }));
        assert_eq!(window.receive(1, 100), Ok(()));
        assert_eq!(window.receive(1, u32::MAX), Err(Http2Error::WindowExceeded { stream: 1 }));
    }

    #[test]
    fn stream_ids_are_odd_and_end() {
        let mut ids = StreamIds::default();
        assert_eq!((ids.peek(), ids.last(), ids.was_opened(1)), (Some(1), 0, false));
        ids.advance();
        assert_eq!((ids.peek(), ids.last()), (Some(3), 1));
        assert!(ids.was_opened(1) && !ids.was_opened(3) && !ids.was_opened(2) && !ids.was_opened(0));
        let mut ids = StreamIds { next: MAX_STREAM_ID };
        assert_eq!(ids.peek(), Some(MAX_STREAM_ID));
        ids.advance();
        assert_eq!((ids.peek(), ids.last()), (None, MAX_STREAM_ID));
    }

    proptest! {
        /// A peer that obeys the window never causes an error and can always send again.
        #[test]
        fn both_ends_of_a_window_agree(size in 1..10_000u32, sends in proptest::collection::vec(1..20_000u32, 0..50)) {
            let mut sender = SendWindow::new(size);
            let mut receiver = ReceiveWindow::new(size);
            for wanted in sends {
                let sent = wanted.min(sender.available());
                prop_assert!(sent > 0);
                sender.consume(sent);
                prop_assert_eq!(receiver.receive(1, sent), Ok(()));
                if let Some(increment) = receiver.replenish() {
                    sender.increase(1, increment).unwrap();
                }
            }
        }
    }
}
