//! Buffer pool: translation words, frames, cleaner, mini-transactions.
