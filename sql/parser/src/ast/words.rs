//! Words for nodes of the tree, for error texts and for what is printed of them.

use super::{AggregateKind, AlterAction, BinaryOp, Expr, IntervalUnit, MaintainVerb, TypeKind};

impl IntervalUnit {
    /// The unit's word in lower case.
    pub fn word(self) -> &'static str {
        match self {
            IntervalUnit::Microsecond => "microsecond",
            IntervalUnit::Second => "second",
            IntervalUnit::Minute => "minute",
            IntervalUnit::Hour => "hour",
            IntervalUnit::Day => "day",
            IntervalUnit::Week => "week",
            IntervalUnit::Month => "month",
            IntervalUnit::Quarter => "quarter",
            IntervalUnit::Year => "year",
            IntervalUnit::SecondMicrosecond => "second_microsecond",
            IntervalUnit::MinuteMicrosecond => "minute_microsecond",
            IntervalUnit::MinuteSecond => "minute_second",
            IntervalUnit::HourMicrosecond => "hour_microsecond",
            IntervalUnit::HourSecond => "hour_second",
            IntervalUnit::HourMinute => "hour_minute",
            IntervalUnit::DayMicrosecond => "day_microsecond",
            IntervalUnit::DaySecond => "day_second",
            IntervalUnit::DayMinute => "day_minute",
            IntervalUnit::DayHour => "day_hour",
            IntervalUnit::YearMonth => "year_month",
        }
    }
}

impl AggregateKind {
    /// The function's name without underscores, as error texts about windows show it.
    pub fn word(self) -> &'static str {
        match self {
            AggregateKind::Count => "count",
            AggregateKind::Sum => "sum",
            AggregateKind::Min => "min",
            AggregateKind::Max => "max",
            AggregateKind::Avg => "avg",
            AggregateKind::BitAnd => "bitand",
            AggregateKind::BitOr => "bitor",
            AggregateKind::BitXor => "bitxor",
            AggregateKind::GroupConcat => "groupconcat",
            AggregateKind::JsonArrayAgg => "jsonarrayagg",
            AggregateKind::JsonObjectAgg => "jsonobjectagg",
            AggregateKind::StddevPop => "stddevpop",
            AggregateKind::StddevSamp => "stddevsamp",
            AggregateKind::VarPop => "varpop",
            AggregateKind::VarSamp => "varsamp",
            AggregateKind::StCollect => "stcollect",
        }
    }
}

impl MaintainVerb {
    /// The verb in lower case.
    pub fn word(self) -> &'static str {
        match self {
            MaintainVerb::Analyze => "analyze",
            MaintainVerb::Check => "check",
            MaintainVerb::Checksum => "checksum",
            MaintainVerb::Optimize => "optimize",
            MaintainVerb::Repair => "repair",
        }
    }
}

impl AlterAction {
    /// The statement's words in upper case, as error 1235 names what no table here has.
    pub fn construct(&self) -> &'static str {
        match self {
            AlterAction::DiscardTablespace => "ALTER TABLE DISCARD TABLESPACE",
            AlterAction::ImportTablespace => "ALTER TABLE IMPORT TABLESPACE",
            AlterAction::SecondaryLoad(_) => "ALTER TABLE SECONDARY LOAD",
            AlterAction::SecondaryUnload(_) => "ALTER TABLE SECONDARY UNLOAD",
            AlterAction::PartitionBy(_) => "ALTER TABLE PARTITION BY",
            AlterAction::RemovePartitioning => "ALTER TABLE REMOVE PARTITIONING",
            AlterAction::AddPartitions { .. } => "ALTER TABLE ADD PARTITIONS",
            AlterAction::DropPartitions(_) => "ALTER TABLE DROP PARTITIONS",
            AlterAction::ReorganizePartitions { .. } => "ALTER TABLE REORGANIZE PARTITIONS",
            AlterAction::CoalescePartitions(_) => "ALTER TABLE COALESCE PARTITIONS",
            AlterAction::ExchangePartition { .. } => "ALTER TABLE EXCHANGE PARTITION",
            AlterAction::Partitions { .. } => "ALTER TABLE PARTITIONS",
            _ => "ALTER TABLE",
        }
    }
}

impl Expr {
    /// What kind of an expression it is, in upper case.
    pub fn construct(&self) -> &'static str {
        match self {
            Expr::Literal(_) => "LITERAL",
            Expr::Param(_) => "PARAM",
            Expr::Lifted(..) => "LIFTED",
            Expr::Column(_) => "COLUMN",
            Expr::UserVar(_) => "USERVAR",
            Expr::AssignUserVar(..) => "ASSIGNUSERVAR",
            Expr::SystemVar(_) => "SYSTEMVAR",
            Expr::Unary(..) => "UNARY",
            Expr::Binary(..) => "BINARY",
            Expr::Is { .. } => "IS",
            Expr::Between { .. } => "BETWEEN",
            Expr::In { .. } => "IN",
            Expr::InQuery { .. } => "INQUERY",
            Expr::Like { .. } => "LIKE",
            Expr::Regexp { .. } => "REGEXP",
            Expr::MemberOf(..) => "MEMBEROF",
            Expr::Quantified { .. } => "QUANTIFIED",
            Expr::Exists(_) => "EXISTS",
            Expr::Subquery(_) => "SUBQUERY",
            Expr::Row(_) => "ROW",
            Expr::Case { .. } => "CASE",
            Expr::Call(_) => "CALL",
            Expr::Aggregate(_) => "AGGREGATE",
            Expr::Cast { .. } => "CAST",
            Expr::ConvertUsing(..) => "CONVERTUSING",
            Expr::Collate(..) => "COLLATE",
            Expr::Interval(..) => "INTERVAL",
            Expr::Match { .. } => "MATCH",
            Expr::DefaultOf(_) => "DEFAULTOF",
            Expr::Default => "DEFAULT",
            Expr::ValuesOf(_) => "VALUESOF",
            Expr::JsonPath { .. } => "JSONPATH",
            Expr::Odbc(..) => "ODBC",
            Expr::JsonValue(_) => "JSONVALUE",
        }
    }
}

impl TypeKind {
    /// The word of a type that no column here can have.
    pub fn construct(self) -> &'static str {
        match self {
            TypeKind::Vector => "VECTOR",
            TypeKind::Geometry => "GEOMETRY",
            TypeKind::Point => "POINT",
            TypeKind::LineString => "LINESTRING",
            TypeKind::Polygon => "POLYGON",
            TypeKind::MultiPoint => "MULTIPOINT",
            TypeKind::MultiLineString => "MULTILINESTRING",
            TypeKind::MultiPolygon => "MULTIPOLYGON",
            TypeKind::GeometryCollection => "GEOMETRYCOLLECTION",
            _ => "this type",
        }
    }
}

impl BinaryOp {
    /// Its sign, where it is one that compares no rows with ANY or ALL.
    pub fn construct(self) -> &'static str {
        match self {
            BinaryOp::SoundsLike => "SoundsLike",
            BinaryOp::NullSafeEq => "NullSafeEq",
            _ => "this operator",
        }
    }
}
