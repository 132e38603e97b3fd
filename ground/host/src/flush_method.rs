//! `innodb_flush_method`: how files are opened and made durable.

/// How data and log files are written and made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushMethod {
    /// Through the page cache, then `fdatasync`.
    Fsync,
    /// Through the page cache; log writes are durable by themselves.
    ODsync,
    /// Past the page cache where the file system allows it, then `fdatasync`.
    #[default]
    ODirect,
    /// Past the page cache; `fdatasync` of data files only after they grew. For devices whose
    /// cache survives a power cut.
    ODirectNoFsync,
    /// As [`FlushMethod::Fsync`], and data files are not synced. For tests only.
    Littlesync,
    /// As [`FlushMethod::Littlesync`]. For tests only.
    Nosync,
}

impl FlushMethod {
    /// All methods, in the order of MySQL's numbers.
    pub const ALL: [FlushMethod; 6] = [
        FlushMethod::Fsync,
        FlushMethod::ODsync,
        FlushMethod::Littlesync,
        FlushMethod::Nosync,
        FlushMethod::ODirect,
        FlushMethod::ODirectNoFsync,
    ];

    /// The name, as the variable shows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FlushMethod::Fsync => "fsync",
            FlushMethod::ODsync => "O_DSYNC",
            FlushMethod::Littlesync => "littlesync",
            FlushMethod::Nosync => "nosync",
            FlushMethod::ODirect => "O_DIRECT",
            FlushMethod::ODirectNoFsync => "O_DIRECT_NO_FSYNC",
        }
    }

    /// The method of a name in any case, or of MySQL's number.
    #[must_use]
    pub fn from_name(name: &str) -> Option<FlushMethod> {
        if let Ok(number) = name.parse::<usize>() {
            return FlushMethod::ALL.get(number).copied();
        }
        FlushMethod::ALL.into_iter().find(|m| m.name().eq_ignore_ascii_case(name))
    }

    /// Whether files are opened past the page cache.
    #[must_use]
    pub fn is_direct(self) -> bool {
        matches!(self, FlushMethod::ODirect | FlushMethod::ODirectNoFsync)
    }

    /// Whether data files are synced after their pages were written.
    #[must_use]
    pub fn syncs_data(self) -> bool {
        matches!(self, FlushMethod::Fsync | FlushMethod::ODsync | FlushMethod::ODirect)
    }

    /// Whether data files are synced after they grew.
    #[must_use]
    pub fn syncs_growth(self) -> bool {
        self.syncs_data() || self == FlushMethod::ODirectNoFsync
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back() {
        for (number, method) in FlushMethod::ALL.into_iter().enumerate() {
            assert_eq!(FlushMethod::from_name(&method.name().to_lowercase()), Some(method));
            assert_eq!(FlushMethod::from_name(&number.to_string()), Some(method));
        }
        assert_eq!(FlushMethod::from_name("O_SYNC"), None);
        assert_eq!(FlushMethod::from_name("6"), None);
    }
}
