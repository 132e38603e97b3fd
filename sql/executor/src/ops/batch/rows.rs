//! The rows of a batch, one behind the other as they are stored.

/// Room for the ends of so many rows is kept from run to run.
const ENDS_SPARE_MAX: usize = 128;

/// Rows behind each other.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
    /// Rows that it takes.
    rows_max: usize,
    /// It takes no more rows where another one like the last would have it have more bytes.
    bytes_max: usize,
}

impl Batch {
    /// Forgets the rows, and takes so many, but for the first one in so many bytes.
    pub fn begin(&mut self, rows_max: usize, bytes_max: usize) {
        self.clear();
        (self.rows_max, self.bytes_max) = (rows_max, bytes_max);
        if self.bytes.capacity() < bytes_max {
            // There is nothing to be taken along.
            self.bytes = Vec::with_capacity(bytes_max);
        }
    }

    /// Forgets the rows.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a row; `true`: it is the last one that has room.
    #[inline]
    pub fn push(&mut self, row: &[u8]) -> bool {
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
        self.ends.len() >= self.rows_max || self.bytes.len() + row.len() > self.bytes_max
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[*start..*end])
    }

    /// Gives back the memory: the next statement takes its own, so that many prepared ones keep little.
    pub fn trim(&mut self) {
        self.bytes = Vec::new();
        self.ends.clear();
        if self.ends.capacity() > ENDS_SPARE_MAX {
            self.ends.shrink_to(ENDS_SPARE_MAX);
        }
    }

    /// Memory it takes, in bytes.
    pub fn kept_bytes(&self) -> usize {
        self.bytes.capacity() + 8 * self.ends.capacity()
    }
}
