//! PARTITION BY and partition definitions.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `PARTITION BY ...`
    pub(crate) fn partition_by(&mut self) -> Result<PartitionBy> {
        self.expect_kw(Kw::PARTITION)?;
        self.expect_kw(Kw::BY)?;
        let method = match self.kw() {
            Kw::RANGE | Kw::LIST => self.range_or_list()?,
            _ => self.hash_or_key(true)?,
        };
        let count = if self.eat_kw(Kw::PARTITIONS) { Some(self.whole_number()?) } else { None };
        let mut sub = None;
        if self.eat_kw(Kw::SUBPARTITION) {
            self.expect_kw(Kw::BY)?;
            let method = self.hash_or_key(false)?;
            let counted = self.eat_kw(Kw::SUBPARTITIONS);
            sub = Some((method, if counted { Some(self.whole_number()?) } else { None }));
        }
        let partitions = match self.kind() {
            TokenKind::Open => self.partition_definitions()?,
            _ => Vec::new(),
        };
        Ok(PartitionBy { method, count, sub, partitions })
    }

    fn range_or_list(&mut self) -> Result<PartitionMethod> {
        let range = self.bump().kw == Kw::RANGE;
        if self.eat_kw(Kw::COLUMNS) {
            let columns = self.parenthesised(Self::ident)?;
            return Ok(match range {
                true => PartitionMethod::RangeColumns(columns),
                false => PartitionMethod::ListColumns(columns),
            });
        }
        let expr = self.bit_expr_in_parentheses()?;
        Ok(if range { PartitionMethod::Range(expr) } else { PartitionMethod::List(expr) })
    }

    /// HASH or KEY; only a partition's KEY may have an empty column list.
    fn hash_or_key(&mut self, empty_list: bool) -> Result<PartitionMethod> {
        let linear = self.eat_kw(Kw::LINEAR);
        if self.expect_any(&[Kw::HASH, Kw::KEY])? == Kw::HASH {
            return Ok(PartitionMethod::Hash { linear, expr: self.bit_expr_in_parentheses()? });
        }
        let mut algorithm = None;
        if self.eat_kw(Kw::ALGORITHM) {
            self.expect(TokenKind::Eq)?;
            let place = self.place();
            let number = self.whole_number()?;
            if !matches!(number, 1 | 2) {
                self.rewind(place);
                return self.fail();
            }
            algorithm = Some(number);
        }
        self.expect(TokenKind::Open)?;
        let columns = match self.kind() {
            TokenKind::Close if empty_list => Vec::new(),
            _ => self.comma_list(Self::ident)?,
        };
        self.expect(TokenKind::Close)?;
        Ok(PartitionMethod::Key { linear, algorithm, columns })
    }

    fn bit_expr_in_parentheses(&mut self) -> Result<Expr> {
        self.expect(TokenKind::Open)?;
        let expr = self.nested(|p| p.bit_expr(1))?;
        self.expect(TokenKind::Close)?;
        Ok(expr)
    }

    /// `( PARTITION p ..., ... )`.
    pub(crate) fn partition_definitions(&mut self) -> Result<Vec<PartitionDef>> {
        self.parenthesised(|p| {
            p.expect_kw(Kw::PARTITION)?;
            let name = p.ident()?;
            let values = p.partition_values()?;
            let options = p.partition_options()?;
            let mut subpartitions = Vec::new();
            if p.kind() == TokenKind::Open {
                subpartitions = p.parenthesised(|p| {
                    p.expect_kw(Kw::SUBPARTITION)?;
                    let name = p.ident_or_text()?;
                    let options = p.partition_options()?;
                    Ok(PartitionDef { name, values: None, options, subpartitions: Vec::new() })
                })?;
            }
            Ok(PartitionDef { name, values, options, subpartitions })
        })
    }

    fn partition_values(&mut self) -> Result<Option<PartitionValues>> {
        if !self.eat_kw(Kw::VALUES) {
            return Ok(None);
        }
        if self.expect_any(&[Kw::LESS, Kw::IN])? == Kw::LESS {
            self.expect_kw(Kw::THAN)?;
            if self.eat_kw(Kw::MAXVALUE) {
                return Ok(Some(PartitionValues::LessThan(vec![None])));
            }
            return Ok(Some(PartitionValues::LessThan(self.value_items()?)));
        }
        // IN ((1, 2), (3, 4)) holds rows; IN ((1) + 1, 2) does not.
        let rows = self.nth(1).kind == TokenKind::Open
            && matches!(self.nth(self.after_matching(1)).kind, TokenKind::Comma | TokenKind::Close);
        if rows {
            return Ok(Some(PartitionValues::In(self.parenthesised(Self::value_items)?)));
        }
        let values = self.value_items()?;
        Ok(Some(PartitionValues::In(values.into_iter().map(|value| vec![value]).collect())))
    }

    /// `( expr | MAXVALUE, ... )`.
    fn value_items(&mut self) -> Result<Vec<Option<Expr>>> {
        self.parenthesised(|p| {
            if p.eat_kw(Kw::MAXVALUE) {
                return Ok(None);
            }
            p.nested(|p| p.bit_expr(1)).map(Some)
        })
    }

    fn partition_options(&mut self) -> Result<Vec<(String, String)>> {
        let mut options = Vec::new();
        loop {
            let word = self.kw();
            if word == Kw::STORAGE {
                self.bump();
                if self.kw() != Kw::ENGINE {
                    return self.fail();
                }
                continue;
            }
            let mut name = word.text().to_string();
            let value: fn(&mut Self) -> Result<String> = match word {
                Kw::TABLESPACE => Self::ident,
                Kw::ENGINE => Self::ident_or_text,
                Kw::NODEGROUP | Kw::MAX_ROWS | Kw::MIN_ROWS => {
                    |p| p.whole_number().map(|n| n.to_string())
                }
                Kw::COMMENT => Self::text,
                Kw::DATA | Kw::INDEX => {
                    self.bump();
                    if self.kw() != Kw::DIRECTORY {
                        return self.fail();
                    }
                    name.push_str(" DIRECTORY");
                    Self::text
                }
                _ => return Ok(options),
            };
            self.bump();
            self.eat(TokenKind::Eq);
            options.push((name, value(self)?));
        }
    }

    /// Names of partitions, or ALL (then empty).
    pub(crate) fn partition_names(&mut self) -> Result<Vec<String>> {
        if self.eat_kw(Kw::ALL) { Ok(Vec::new()) } else { self.comma_list(Self::ident) }
    }
}
