//! Parallel work on the records of a round: parsing a trial takes about 0.2 ms, simulating the ranks of a table longer.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Applies `work` to each item, in one thread for each core that this thread may use. The results are in the order of
/// the items and the same as without threads.
pub fn map_parallel<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    map_in_threads(threads, items, work)
}

fn map_in_threads<T: Send, R: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = threads.min(items.len());
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        while let Some((place, item)) = next() {
            let result = work(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without another thread, this one does all of the work.
            let _ = thread::Builder::new().name("map".to_owned()).spawn_scoped(scope, run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn items_are_processed_in_parallel_and_stay_in_order() {
        // A single thread would never pass the barrier.
        let both = Barrier::new(2);
        let doubled = map_in_threads(2, (0..10).collect(), |item| {
            both.wait();
            item * 2
        });
        assert_eq!(doubled, (0..10).map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(map_parallel(Vec::<u8>::new(), |item| item), Vec::<u8>::new());
    }
}
