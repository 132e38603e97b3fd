//! A value alone on its cache lines.

use std::ops::{Deref, DerefMut};

/// Aligns a value to 128 bytes: two lines, because the adjacent-line prefetcher pairs them.
#[derive(Debug, Default, Clone, Copy)]
#[repr(align(128))]
pub struct CacheLine<T>(pub T);

impl<T> Deref for CacheLine<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CacheLine<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::CacheLine;

    #[test]
    fn two_values_never_share_a_line_pair() {
        let two = [CacheLine(1u8), CacheLine(2u8)];
        assert_eq!(std::mem::size_of_val(&two), 256);
        assert_eq!(std::mem::align_of::<CacheLine<u8>>(), 128);
        assert_eq!(*two[1], 2);
    }
}
