//! Vocabulary: page, LSN, transaction and table ids, limits, storage error kinds.
