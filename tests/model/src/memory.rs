//! What a leader has seen, as a number: the product's own [`Seen`], counted from a fixed time before now, so that equal memories are equal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mcm_migration_core::plan::{Moment, Seen};

/// One tick of the model's clock.
pub const TICK: Duration = Duration::from_secs(300);
/// How many ticks are told apart; what is older counts as that old.
pub const HORIZON: u8 = 3;
/// Now, counted from the horizon.
pub const NOW: Moment = Duration::from_secs(300 * HORIZON as u64);

/// A moment that many ticks ago.
#[must_use]
pub fn ago(ticks: u8) -> Moment {
    NOW.saturating_sub(TICK * u32::from(ticks))
}

#[derive(Default)]
struct Book {
    numbers: HashMap<Arc<Seen>, u32>,
    memories: Vec<Arc<Seen>>,
}

fn book() -> &'static Mutex<Book> {
    static BOOK: OnceLock<Mutex<Book>> = OnceLock::new();
    BOOK.get_or_init(|| {
        let nothing = Arc::new(Seen::default());
        Mutex::new(Book { numbers: [(Arc::clone(&nothing), 0)].into(), memories: vec![nothing] })
    })
}

/// The number of a memory; nothing seen is 0.
pub fn number(seen: Seen) -> u32 {
    let mut book = book().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(number) = book.numbers.get(&seen) {
        return *number;
    }
    let seen = Arc::new(seen);
    let number = u32::try_from(book.memories.len()).unwrap_or(u32::MAX);
    book.numbers.insert(Arc::clone(&seen), number);
    book.memories.push(seen);
    number
}

/// The memory of a number.
pub fn memory(number: u32) -> Arc<Seen> {
    let book = book().lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(&book.memories[number as usize])
}
