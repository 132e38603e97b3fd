//! Test support: proves that code writes no memory that other threads see.
