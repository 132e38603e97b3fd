//! FORMAT: a number as the people of a place write it.

use super::call::{Answer, Call, NULL, SCALAR_BYTES};
use super::{Function, function};
use crate::build::Derive;
use crate::{SqlError, WarningLevel};
use value::{ColumnType, Datum, Decimal};

pub static FUNCTIONS: &[Function] = &[function(
    "format",
    (2, 3),
    format_type,
    format,
    "a number with thousands apart and so many decimals",
)
.sees_null()];

type Derived = Result<ColumnType, SqlError>;

fn format_type(d: &mut Derive<'_>) -> Derived {
    let ty = d.ty(0);
    let digits = match ty.kind {
        kind if kind.is_int() || kind == value::Kind::Decimal => {
            crate::build::widths::precision(&ty)
        }
        _ => d.chars(0),
    };
    Ok(d.own_string(digits + digits.saturating_sub(1) / 3 + 32))
}

fn format<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) || c.is_null(1) {
        return Ok(NULL);
    }
    let decimals = c.int(1).clamp(0, 30) as usize;
    let number = rounded(c, decimals);
    let NumberFormat { point, separator, group } = match c.len() > 2 {
        true => number_format_of(c, 2),
        false => EN_US,
    };
    let (whole, fraction) = number.split_at(number.len() - usize::from(decimals > 0) - decimals);
    let sign = usize::from(whole.first() == Some(&b'-'));
    let mut out = Vec::with_capacity(2 * number.len());
    out.extend_from_slice(&whole[..sign]);
    // The last group has three digits, the first what is left of the others.
    let (before, last) = whole[sign..].split_at(whole[sign..].len().saturating_sub(3));
    let (first, others) = before.split_at(before.len() % group);
    for digits in std::iter::once(first).chain(others.chunks(group)).filter(|d| !d.is_empty()) {
        out.extend_from_slice(digits);
        out.extend_from_slice(separator.as_bytes());
    }
    out.extend_from_slice(last);
    if let Some(digits) = fraction.get(1..) {
        out.extend_from_slice(point.as_bytes());
        out.extend_from_slice(digits);
    }
    Ok(out.into())
}

/// The number that FORMAT is given, with so many digits behind the point.
fn rounded(c: &mut Call<'_, '_>, decimals: usize) -> Vec<u8> {
    let kind = c.ty(0).kind;
    if !(kind.is_int() || matches!(kind, value::Kind::Decimal | value::Kind::Bit)) {
        let double = c.double(0);
        // Digits of so small a number are those of a whole one; a zero may have a sign.
        let units = (double * 10f64.powi(decimals as i32)).round_ties_even();
        if units != 0.0 && units.abs() < (1_u64 << 52) as f64 {
            let mut text = Vec::with_capacity(SCALAR_BYTES);
            Decimal::from_i128(units as i128, decimals as u8).append_text(&mut text);
            return text;
        }
        let double = super::numeric::round_double(double, decimals as i64);
        return format!("{double:.decimals$}").into_bytes();
    }
    let mut text = Vec::with_capacity(SCALAR_BYTES);
    let scale = match c.datum(0) {
        Datum::Int(v) => {
            value::format::append_int(v, &mut text);
            0
        }
        Datum::UInt(v) => {
            value::format::append_uint(v, &mut text);
            0
        }
        other => {
            let exact = match other {
                Datum::Decimal(exact) => exact,
                _ => c.decimal(0),
            };
            let scale = decimals.min(exact.scale().into());
            // Only 65 nines have no room when they are rounded.
            exact.round(scale as i32).unwrap_or(exact).append_text(&mut text);
            scale
        }
    };
    if scale == 0 && decimals > 0 {
        text.push(b'.');
    }
    text.extend(std::iter::repeat_n(b'0', decimals - scale));
    text
}

/// How a locale writes numbers.
struct NumberFormat {
    point: &'static str,
    separator: &'static str,
    /// Digits of a group but the last, which has three.
    group: usize,
}

const EN_US: NumberFormat = NumberFormat { point: ".", separator: ",", group: 3 };

/// The numbers of the locale that an argument names; of one that MySQL does not know (warning 1649) as of en_US.
fn number_format_of(c: &mut Call<'_, '_>, n: usize) -> NumberFormat {
    let locale = match c.is_null(n) {
        true => "NULL".into(),
        false => String::from_utf8_lossy(&c.text(n)).into_owned(),
    };
    number_format(&locale).unwrap_or_else(|| {
        c.env.warn(WarningLevel::Warning, 1649, format!("Unknown locale: '{locale}'"));
        EN_US
    })
}

/// The numbers of a locale; `None` when MySQL knows no such locale.
fn number_format(locale: &str) -> Option<NumberFormat> {
    /// MySQL's locales that write a comma for the point: separator, names.
    const COMMA: &[(&str, &str)] = &[
        (
            ".",
            "be_by da_dk de_be de_de de_lu es_ar es_bo es_cl es_co es_ec es_es es_py es_uy es_ve \
             fo_fo hu_hu id_id is_is lt_lt mn_mn nb_no no_no ro_ro ru_ua sq_al tr_tr uk_ua vi_vn",
        ),
        (
            "",
            "ca_es de_at el_gr eu_es fr_be fr_ca fr_ch fr_fr fr_lu gl_es hr_hr it_it nl_be nl_nl \
             pl_pl pt_br pt_pt sl_si",
        ),
        (" ", "cs_cz es_cr et_ee fi_fi lv_lv mk_mk ru_ru sk_sk sv_fi sv_se"),
        ("'", "it_ch rm_ch"),
        ("\0", "bg_bg"),
    ];
    /// Locales that write a point: separator, digits of a group, names.
    const POINT: &[(&str, usize, &str)] = &[
        (
            ",",
            3,
            "ar_ae ar_bh ar_dz ar_eg ar_in ar_iq ar_jo ar_kw ar_lb ar_ly ar_ma ar_om ar_qa ar_sd \
             ar_sy ar_tn ar_ye en_au en_ca en_gb en_nz en_ph en_us en_za en_zw es_do es_gt es_hn \
             es_mx es_ni es_pa es_pe es_pr es_sv es_us gu_in he_il hi_in ja_jp ko_kr ms_my th_th \
             ur_pk zh_cn zh_hk zh_tw",
        ),
        (",", 2, "en_in ta_in te_in"),
        ("", 3, "ar_sa sr_rs"),
        ("'", 3, "de_ch"),
    ];
    let lower = locale.to_ascii_lowercase();
    let among = |names: &str| names.split(' ').any(|name| name == lower);
    let comma = COMMA.iter().find(|(_, names)| among(names));
    let comma = comma.map(|(separator, _)| NumberFormat { point: ",", separator, group: 3 });
    comma.or_else(|| {
        let (separator, group, _) = POINT.iter().find(|(.., names)| among(names))?;
        Some(NumberFormat { point: ".", separator, group: *group })
    })
}
