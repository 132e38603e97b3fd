//! Histograms: how often which values of a column occur.
//!
//! 1. A value is its key (memcomparable bytes of its column's type) and how MySQL's JSON writes it: who
//! compares needs no type. 2. Buckets ascend, and so do their cumulative frequencies, which count the
//! NULLs in the whole but in no bucket.

use std::fmt::Write;
use stdx::bytes::{Put, Reader, Truncated};

const VERSION: u8 = 1;

/// An end of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketEnd {
    /// Its key.
    pub key: Vec<u8>,
    /// JSON text of it.
    pub json: String,
}

/// Values that lie side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    /// Least value.
    pub low: BucketEnd,
    /// Largest value; that of `low` in a singleton histogram.
    pub high: BucketEnd,
    /// Share of the rows up to here.
    pub cumulative: f64,
    /// Different values.
    pub distinct: u64,
}

/// A histogram of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// One bucket per value; else equi-height.
    pub singleton: bool,
    /// MySQL's word for the type of the values: `int`, `string`.
    pub data_type: String,
    /// Number of the column's collation.
    pub collation: u16,
    /// Share of NULLs.
    pub nulls: f64,
    /// Share of the rows that were looked at.
    pub sampling_rate: f64,
    /// When it was made, in microseconds since 1970.
    pub updated_us: i64,
    /// WITH n BUCKETS.
    pub buckets_asked: u64,
    /// AUTO UPDATE.
    pub auto_update: bool,
    /// Its buckets.
    pub buckets: Vec<Bucket>,
}

impl Histogram {
    /// Share of the rows that equal a value.
    pub fn equal(&self, key: &[u8]) -> f64 {
        let at = self.buckets.partition_point(|b| &b.high.key[..] < key);
        match self.buckets.get(at) {
            Some(bucket) if &bucket.low.key[..] <= key => {
                self.height(at) / bucket.distinct.max(1) as f64
            }
            _ => 0.0,
        }
    }

    /// Share of the rows below a value, or up to it.
    pub fn below(&self, key: &[u8], inclusive: bool) -> f64 {
        let at = self.buckets.partition_point(|b| &b.high.key[..] < key);
        let before = at.checked_sub(1).map_or(0.0, |at| self.buckets[at].cumulative);
        let Some(bucket) = self.buckets.get(at) else { return before };
        let own = if inclusive { self.equal(key) } else { 0.0 };
        if key <= &bucket.low.key[..] {
            return before + own;
        }
        let share = position(&bucket.low.key, &bucket.high.key, key);
        (before + self.height(at) * share + own).min(bucket.cumulative)
    }

    /// Share of the rows that are not NULL.
    pub fn not_null(&self) -> f64 {
        1.0 - self.nulls
    }

    fn height(&self, at: usize) -> f64 {
        let before = at.checked_sub(1).map_or(0.0, |at| self.buckets[at].cumulative);
        self.buckets[at].cumulative - before
    }

    /// As MySQL writes it; `updated` is its time as text.
    pub fn json(&self, updated: &str) -> String {
        let mut text = String::from("{\"buckets\": [");
        for (at, bucket) in self.buckets.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let (low, high, cumulative) =
                (&bucket.low.json, &bucket.high.json, json_number(bucket.cumulative));
            let _ = match self.singleton {
                true => write!(text, "{comma}[{low}, {cumulative}]"),
                false => write!(text, "{comma}[{low}, {high}, {cumulative}, {}]", bucket.distinct),
            };
        }
        let kind = if self.singleton { "singleton" } else { "equi-height" };
        let _ = write!(
            text,
            "], \"data-type\": \"{}\", \"auto-update\": {}, \"null-values\": {}, \"collation-id\": {}, \
             \"last-updated\": \"{updated}\", \"sampling-rate\": {}, \"histogram-type\": \"{kind}\", \
             \"number-of-buckets-specified\": {}}}",
            self.data_type,
            self.auto_update,
            json_number(self.nulls),
            self.collation,
            json_number(self.sampling_rate),
            self.buckets_asked,
        );
        text
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, u8::from(self.singleton), u8::from(self.auto_update)];
        out.put_u16_le(self.collation);
        out.put_u64_le(self.updated_us as u64);
        out.put_u64_le(self.buckets_asked);
        [self.nulls, self.sampling_rate].iter().for_each(|v| out.put_u64_le(v.to_bits()));
        put(&mut out, self.data_type.as_bytes());
        out.put_u32_le(self.buckets.len() as u32);
        for bucket in &self.buckets {
            for end in [&bucket.low, &bucket.high] {
                put(&mut out, &end.key);
                put(&mut out, end.json.as_bytes());
            }
            out.put_u64_le(bucket.cumulative.to_bits());
            out.put_u64_le(bucket.distinct);
        }
        out
    }

    /// Reads the stored form; `None` if it makes no sense.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Histogram> {
        decode(&mut Reader::new(bytes)).ok().flatten()
    }
}

fn decode(r: &mut Reader<'_>) -> Result<Option<Histogram>, Truncated> {
    if r.u8()? != VERSION {
        return Ok(None);
    }
    let (singleton, auto_update) = (r.u8()? != 0, r.u8()? != 0);
    let collation = r.u16_le()?;
    let (updated_us, buckets_asked) = (r.u64_le()? as i64, r.u64_le()?);
    let (nulls, sampling_rate) = (share(r)?, share(r)?);
    let data_type = text(r)?;
    let mut buckets = Vec::new();
    for _ in 0..r.u32_le()? {
        let low = BucketEnd { key: bytes(r)?, json: text(r)? };
        let high = BucketEnd { key: bytes(r)?, json: text(r)? };
        buckets.push(Bucket { low, high, cumulative: share(r)?, distinct: r.u64_le()? });
    }
    Ok(Some(Histogram {
        singleton,
        data_type,
        collation,
        nulls,
        sampling_rate,
        updated_us,
        buckets_asked,
        auto_update,
        buckets,
    }))
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_u32_le(bytes.len() as u32);
    out.put_bytes(bytes);
}

fn bytes(r: &mut Reader<'_>) -> Result<Vec<u8>, Truncated> {
    let length = r.u32_le()? as usize;
    Ok(r.take(length)?.to_vec())
}

fn text(r: &mut Reader<'_>) -> Result<String, Truncated> {
    Ok(String::from_utf8_lossy(&bytes(r)?).into_owned())
}

fn share(r: &mut Reader<'_>) -> Result<f64, Truncated> {
    let v = f64::from_bits(r.u64_le()?);
    Ok(if v.is_finite() { v.clamp(0.0, 1.0) } else { 0.0 })
}

/// A number as histograms' JSON writes it: with a point.
#[must_use]
pub fn json_number(v: f64) -> String {
    let text = v.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

/// Where a key lies between two others, 0 to 1: by the first bytes in which those differ.
fn position(low: &[u8], high: &[u8], key: &[u8]) -> f64 {
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let tail = |key: &[u8]| {
        let byte = |at: usize| u64::from(key.get(same + at).copied().unwrap_or(0));
        (0..7).fold(0, |all, at| all << 8 | byte(at)) as f64
    };
    let (low, high, key) = (tail(low), tail(high), tail(key));
    if high <= low { 0.5 } else { ((key - low) / (high - low)).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(value: u32) -> BucketEnd {
        BucketEnd { key: value.to_be_bytes().to_vec(), json: value.to_string() }
    }

    fn histogram(singleton: bool, buckets: &[(u32, u32, f64, u64)]) -> Histogram {
        let bucket = |&(low, high, cumulative, distinct): &(u32, u32, f64, u64)| Bucket {
            low: end(low),
            high: end(high),
            cumulative,
            distinct,
        };
        Histogram {
            singleton,
            data_type: "int".into(),
            collation: 8,
            nulls: 0.25,
            sampling_rate: 1.0,
            updated_us: 1,
            buckets_asked: 100,
            auto_update: false,
            buckets: buckets.iter().map(bucket).collect(),
        }
    }

    fn key(value: u32) -> Vec<u8> {
        value.to_be_bytes().to_vec()
    }

    #[test]
    fn shares_are_those_of_the_buckets() {
        let single = histogram(true, &[(1, 1, 0.5, 1), (3, 3, 0.75, 1)]);
        assert_eq!(single.equal(&key(1)), 0.5);
        assert_eq!(single.equal(&key(2)), 0.0);
        assert_eq!(single.below(&key(3), false), 0.5);
        assert_eq!(single.below(&key(3), true), 0.75);
        assert_eq!(single.below(&key(9), true), 0.75);
        let height = histogram(false, &[(0, 100, 0.5, 101), (101, 300, 0.75, 200)]);
        assert!((height.below(&key(50), false) - 0.25).abs() < 0.01);
        assert!((height.below(&key(200), false) - 0.625).abs() < 0.01);
        assert!((height.equal(&key(7)) - 0.5 / 101.0).abs() < 1e-9);
    }

    #[test]
    fn the_stored_form_comes_back() {
        let one = histogram(false, &[(0, 100, 0.5, 101), (101, 300, 0.75, 200)]);
        let bytes = one.encode();
        assert_eq!(Histogram::decode(&bytes), Some(one));
        (0..bytes.len()).for_each(|n| assert_eq!(Histogram::decode(&bytes[..n]), None));
    }

    #[test]
    fn json_is_as_mysql_writes_it() {
        let text =
            histogram(true, &[(1, 1, 0.5, 1), (3, 3, 0.75, 1)]).json("2020-01-01 00:00:00.000000");
        assert_eq!(
            text,
            "{\"buckets\": [[1, 0.5], [3, 0.75]], \"data-type\": \"int\", \"auto-update\": false, \
             \"null-values\": 0.25, \"collation-id\": 8, \"last-updated\": \"2020-01-01 \
             00:00:00.000000\", \"sampling-rate\": 1.0, \"histogram-type\": \"singleton\", \
             \"number-of-buckets-specified\": 100}"
        );
    }
}
