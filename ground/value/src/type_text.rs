//! The text of a type, as SHOW COLUMNS and SHOW CREATE TABLE print it.

use crate::types::NOT_FIXED;
use crate::{Charset, ColumnType, Kind, charset};

impl ColumnType {
    /// The type as SHOW COLUMNS prints it (`int`, `bigint unsigned`, `char(120)`, `enum('a','b')`).
    #[must_use]
    pub fn to_sql(&self) -> String {
        let name = self.kind.name();
        let mut text = match self.kind {
            Kind::Char | Kind::VarChar | Kind::Binary | Kind::VarBinary | Kind::Bit => {
                format!("{name}({})", self.length)
            }
            Kind::Decimal if self.length > 0 => {
                format!("{name}({},{})", self.length, self.decimals)
            }
            Kind::Float | Kind::Double if self.decimals != NOT_FIXED => {
                format!("{name}({},{})", self.length, self.decimals)
            }
            Kind::Time | Kind::DateTime | Kind::Timestamp if self.decimals > 0 => {
                format!("{name}({})", self.decimals)
            }
            Kind::Enum | Kind::Set => self.members_sql(name),
            Kind::TinyInt if self.length == 1 && !self.unsigned => format!("{name}(1)"),
            kind if kind.is_int() && self.zerofill => format!("{name}({})", self.display_width()),
            _ => name.to_owned(),
        };
        let no_sign = matches!(self.kind, Kind::Year | Kind::Bit);
        if self.unsigned && self.kind.is_number() && !no_sign {
            text.push_str(" unsigned");
        }
        if self.zerofill && self.kind != Kind::Year {
            text.push_str(" zerofill");
        }
        text
    }

    fn members_sql(&self, name: &str) -> String {
        let names = self.members.into_iter().flat_map(|m| m.names());
        let charset = self.collation.charset();
        let quoted = names.map(|n| {
            let (text, _) = charset::converted(n, charset, Charset::Utf8mb4);
            format!("'{}'", quote(&String::from_utf8_lossy(&text)))
        });
        format!("{name}({})", quoted.collect::<Vec<_>>().join(","))
    }
}

fn quote(name: &str) -> String {
    name.replace('\\', "\\\\").replace('\'', "''")
}

impl Kind {
    /// The type's name in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::TinyInt => "tinyint",
            Kind::SmallInt => "smallint",
            Kind::MediumInt => "mediumint",
            Kind::Int => "int",
            Kind::BigInt => "bigint",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::Decimal => "decimal",
            Kind::Bit => "bit",
            Kind::Char => "char",
            Kind::VarChar => "varchar",
            Kind::Binary => "binary",
            Kind::VarBinary => "varbinary",
            Kind::TinyText => "tinytext",
            Kind::Text => "text",
            Kind::MediumText => "mediumtext",
            Kind::LongText => "longtext",
            Kind::TinyBlob => "tinyblob",
            Kind::Blob => "blob",
            Kind::MediumBlob => "mediumblob",
            Kind::LongBlob => "longblob",
            Kind::Enum => "enum",
            Kind::Set => "set",
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::DateTime => "datetime",
            Kind::Timestamp => "timestamp",
            Kind::Year => "year",
            Kind::Json => "json",
            Kind::Geometry => "geometry",
        }
    }
}
