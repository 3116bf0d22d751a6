//! Whose turn it is: which connection sends next, and which is read next where more had arrived than one turn may read.

use crate::Slot;
use std::collections::VecDeque;

/// The place of a slot in the two lines. It is stored with the slot's connection, which is in the cache then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// Whether it is in the line of free connections; it may have been closed since: its state says so.
    sends: bool,
    reads: ReadTurn,
}

/// Whether a slot is to be read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReadTurn {
    /// It is read when an event announces input.
    #[default]
    OnEvent,
    /// It is in the line.
    Queued,
    /// It is in the line, and the server has hung up since.
    QueuedHungUp,
}

impl Turn {
    /// Whether it is in the line of free connections.
    #[inline]
    pub(super) fn is_to_send(self) -> bool {
        self.sends
    }

    /// Whether it waits to be read; if so, notes that the server hung up meanwhile.
    #[inline]
    pub(super) fn waits_to_be_read(&mut self, hangup: bool) -> bool {
        let waits = self.reads != ReadTurn::OnEvent;
        if waits {
            self.reads = self.reads.queued(hangup);
        }
        waits
    }
}

impl ReadTurn {
    /// Its place, with whether the server hung up, now or before.
    fn queued(self, hangup: bool) -> Self {
        match self {
            Self::QueuedHungUp => Self::QueuedHungUp,
            Self::OnEvent | Self::Queued if hangup => Self::QueuedHungUp,
            Self::OnEvent | Self::Queued => Self::Queued,
        }
    }
}

/// The lines of a worker.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Free connections, longest free first. An entry may be stale: check its state when taking it.
    free: VecDeque<Slot>,
    /// Slots with more to read than their turn allowed, each once.
    unread: VecDeque<Slot>,
}

impl Turns {
    /// Lines of this many slots at most, both empty.
    pub(super) fn new(count: u32) -> Self {
        Self { free: VecDeque::with_capacity(count as usize), unread: VecDeque::new() }
    }

    /// Adds a connection to the end of the line of free ones.
    #[inline]
    pub(super) fn push_free(&mut self, slot: Slot, turn: &mut Turn) {
        if !turn.sends {
            turn.sends = true;
            self.free.push_back(slot);
        }
    }

    /// Takes the first connection of that line. It may not be free any more.
    #[inline]
    pub(super) fn take_free<'a>(&mut self, turn_of: impl FnOnce(Slot) -> &'a mut Turn) -> Option<Slot> {
        let slot = self.free.pop_front()?;
        turn_of(slot).sends = false;
        Some(slot)
    }

    /// The connections in that line.
    #[inline]
    pub(super) fn free(&self) -> impl ExactSizeIterator<Item = Slot> {
        self.free.iter().copied()
    }

    /// Queues a slot so that the rest of its input is read after the turns of others.
    pub(super) fn read_later(&mut self, slot: Slot, turn: &mut Turn, hangup: bool) {
        if turn.reads == ReadTurn::OnEvent {
            self.unread.push_back(slot);
        }
        turn.reads = turn.reads.queued(hangup);
    }

    /// The number of slots to be read again.
    #[inline]
    pub(super) fn unread(&self) -> usize {
        self.unread.len()
    }

    /// Takes one of them, and whether its server has hung up.
    pub(super) fn next_unread<'a>(
        &mut self,
        turn_of: impl FnOnce(Slot) -> &'a mut Turn,
    ) -> Option<(Slot, bool)> {
        let slot = self.unread.pop_front()?;
        let reads = std::mem::take(&mut turn_of(slot).reads);
        Some((slot, reads == ReadTurn::QueuedHungUp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hang_up_is_kept_until_the_slot_is_read() {
        let (mut turns, mut slots) = (Turns::new(3), [Turn::default(); 3]);
        assert!(!slots[1].waits_to_be_read(true), "its event is handled at once");
        turns.read_later(1, &mut slots[1], false);
        turns.read_later(2, &mut slots[2], true);
        turns.read_later(2, &mut slots[2], false);
        assert!(slots[1].waits_to_be_read(true) && slots[1].waits_to_be_read(false));
        assert_eq!(turns.unread(), 2);
        assert_eq!(turns.next_unread(|slot| &mut slots[slot as usize]), Some((1, true)));
        assert_eq!(turns.next_unread(|slot| &mut slots[slot as usize]), Some((2, true)));
        turns.read_later(1, &mut slots[1], false);
        assert_eq!(turns.next_unread(|slot| &mut slots[slot as usize]), Some((1, false)));
        assert_eq!(turns.next_unread(|slot| &mut slots[slot as usize]), None);
    }

    #[test]
    fn a_connection_is_in_the_line_once() {
        let (mut turns, mut slots) = (Turns::new(2), [Turn::default(); 2]);
        for slot in [1, 0, 1] {
            turns.push_free(slot, &mut slots[slot as usize]);
        }
        assert_eq!(turns.free().collect::<Vec<_>>(), [1, 0]);
        assert_eq!(turns.take_free(|slot| &mut slots[slot as usize]), Some(1));
        assert!(!slots[1].is_to_send() && slots[0].is_to_send());
    }
}
