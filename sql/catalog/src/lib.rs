//! Dictionary, definition cache, open-table handles, accounts.
