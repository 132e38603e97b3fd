use crate::{Chart, Kind, Mark, Series, XTicks, panels, si};
use roxmltree::Document;

const KINDS: [Kind; 3] = [Kind::StackedArea, Kind::Lines, Kind::Bars];

fn series(name: &str, points: &[(f64, f64)]) -> Series {
    Series { name: name.to_string(), points: points.to_vec() }
}

fn chart(series: Vec<Series>) -> Chart {
    Chart { title: "Waits".into(), y_label: "waits/s".into(), series, ..Chart::default() }
}

/// Name and points of every series, as the browser reads them.
fn read_back(svg: &str) -> Vec<(String, Vec<(f64, f64)>)> {
    let document = Document::parse(svg).expect("well-formed");
    let all = document.descendants().filter(|n| n.has_attribute("data-series"));
    all.map(|node| {
        let points = node.attribute("data-points").unwrap().split_whitespace();
        let points = points.map(|point| {
            let (x, y) = point.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        });
        (node.attribute("data-series").unwrap().to_string(), points.collect())
    })
    .collect()
}

/// Every number of every attribute that places something: none may be missing or outside of all reason.
fn check_places(svg: &str) {
    let document = Document::parse(svg).expect("well-formed");
    for node in document.descendants() {
        for name in ["x", "y", "width", "height", "cx", "cy", "x1", "x2", "y1", "y2"] {
            let Some(value) = node.attribute(name) else { continue };
            let number: f64 = value.parse().unwrap_or_else(|_| panic!("{name}={value}"));
            assert!(number.is_finite() && number.abs() < 5000.0, "{name}={value} in {svg}");
        }
        let path = node.attribute("d").unwrap_or("");
        assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
    }
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).expect("well-formed");
    let all = document.descendants().filter(|n| n.has_tag_name("text"));
    all.map(|n| n.text().unwrap_or("").trim().to_string()).collect()
}

#[test]
fn every_series_is_there_with_its_points() {
    let given = vec![
        series("io", &[(1.0, 10.5), (2.0, 20.0), (3.0, 0.0)]),
        series("lock", &[(1.0, 1.0), (3.0, 0.000_012)]),
    ];
    for kind in KINDS {
        let svg = chart(given.clone()).draw(kind);
        let expected: Vec<_> = given.iter().map(|s| (s.name.clone(), s.points.clone())).collect();
        assert_eq!(read_back(&svg), expected, "{kind:?}");
        check_places(&svg);
        assert_eq!(svg.matches("data-legend=").count(), 2, "{kind:?}");
        assert!(texts(&svg).contains(&"Waits".to_string()));
    }
}

#[test]
fn a_stack_lies_on_the_layers_below() {
    let svg =
        chart(vec![series("a", &[(0.0, 1.0), (1.0, 1.0)]), series("b", &[(0.0, 3.0), (1.0, 1.0)])]);
    let svg = svg.stacked_area();
    let document = Document::parse(&svg).unwrap();
    let plot = document.descendants().find(|n| n.attribute("class") == Some("plot")).unwrap();
    let edge = |name| plot.attribute(name).unwrap().parse::<f64>().unwrap();
    let y_of = |value: f64| edge("y") + edge("height") * (1.0 - value / edge("data-y-max"));
    let path = |name| {
        let group =
            document.descendants().find(|n| n.attribute("data-series") == Some(name)).unwrap();
        group.descendants().find_map(|n| n.attribute("d")).unwrap().to_string()
    };
    let expected = |upper: [f64; 2], lower: [f64; 2]| {
        let (left, right) = (edge("x"), edge("x") + edge("width"));
        let [a, b, c, d] = [upper[0], upper[1], lower[1], lower[0]].map(y_of);
        format!("M{left:.1} {a:.1}L{right:.1} {b:.1}L{right:.1} {c:.1}L{left:.1} {d:.1}Z")
    };
    assert_eq!(path("a"), expected([1.0, 1.0], [0.0, 0.0]));
    assert_eq!(path("b"), expected([4.0, 2.0], [1.0, 1.0]));
}

#[test]
fn names_are_text_whatever_they_hold() {
    let broken = String::from_utf8_lossy(b"caf\xe9 \xff\xfe").into_owned();
    let hostile = [
        "</g><script>alert(1)</script>",
        "\"' onload=\"x",
        "&amp;&#0;]]>",
        "a\0b\u{1}\u{1b}[31m",
        "\u{202e}up",
        "\u{ffff}",
        &broken,
        "",
    ];
    for kind in KINDS {
        let given = hostile.iter().map(|name| series(name, &[(0.0, 1.0), (1.0, 2.0)])).collect();
        let mut chart = chart(given);
        chart.title = hostile.join(" ");
        chart.subtitle = hostile[0].into();
        chart.x_label = hostile[3].into();
        chart.y_label = hostile[2].into();
        chart.y_unit = hostile[0].into();
        chart.marks = hostile.iter().map(|label| Mark { x: 0.5, label: (*label).into() }).collect();
        if kind == Kind::Bars {
            chart.x_ticks = XTicks::Names(vec![hostile[0].into(), hostile[3].into()]);
        }
        let svg = chart.draw(kind);
        let back = read_back(&svg);
        assert_eq!(back.len(), hostile.len());
        assert_eq!(back[0].0, hostile[0], "markup comes back as the text that it was");
        assert_eq!(back[3].0, "a\u{fffd}b\u{fffd}\u{fffd}[31m");
        let document = Document::parse(&svg).unwrap();
        assert!(
            document.descendants().all(|n| !n.has_tag_name("script") && !n.has_attribute("onload"))
        );
    }
}

#[test]
fn no_number_breaks_a_chart() {
    let odd: [&[(f64, f64)]; 9] = [
        &[],
        &[(1.0, 5.0)],
        &[(f64::NAN, 1.0), (1.0, f64::NAN), (2.0, f64::INFINITY), (3.0, 1.0)],
        &[(1.0, 0.0), (2.0, 0.0)],
        &[(7.0, 3.0), (7.0, 4.0)],
        &[(0.0, -5.0), (1.0, 5.0)],
        &[(-1.0, 1e300), (1e308, 1.0), (f64::MAX, f64::MIN)],
        &[(1.0, 1e289), (2.0, -1e289)],
        &[(1.0, 1e-300), (2.0, 5e-324)],
    ];
    let scales = [
        XTicks::Numbers,
        XTicks::Log2,
        XTicks::TimeOfDay { utc_offset_s: -3600 },
        XTicks::Names(vec!["a".into(), "b".into()]),
        XTicks::Names(Vec::new()),
    ];
    for kind in KINDS {
        for scale in &scales {
            for points in odd {
                for range in
                    [None, Some((5.0, 5.0)), Some((9.0, 1.0)), Some((f64::NAN, f64::INFINITY))]
                {
                    let mut chart = chart(vec![series("odd", points), series("none", &[])]);
                    chart.x_ticks = scale.clone();
                    chart.x_range = range;
                    chart.marks = vec![Mark { x: f64::NAN, label: "never".into() }];
                    let svg = chart.draw(kind);
                    check_places(&svg);
                    assert_eq!(read_back(&svg).len(), 2);
                    assert!(!svg.contains("never"));
                }
            }
        }
        check_places(&chart(Vec::new()).draw(kind));
        for size in [(0, 0), (1, 5000), (u32::MAX, 1)] {
            let given = (0..100).map(|at| series(&format!("name {at}"), &[(0.0, 1.0)])).collect();
            let chart = Chart { size, ..chart(given) };
            assert_eq!(read_back(&chart.draw(kind)).len(), 100);
        }
    }
}

#[test]
fn a_line_has_a_gap_where_a_point_is_missing() {
    let points = [(0.0, 1.0), (1.0, 1.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, 1.0)];
    let svg = chart(vec![series("a", &points)]).lines();
    let document = Document::parse(&svg).unwrap();
    let path = document.descendants().find_map(|n| n.attribute("d")).unwrap();
    assert_eq!(path.matches('M').count(), 2, "{path}");
    assert_eq!(read_back(&svg)[0].1.len(), 4);
}

#[test]
fn levels_that_double_are_ticks() {
    let points: Vec<_> = (0..=10).map(|e| (f64::from(1 << e), f64::from(e))).collect();
    let mut chart = chart(vec![series("users", &points)]);
    chart.x_ticks = XTicks::Log2;
    let texts = texts(&chart.lines());
    for level in ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024"] {
        assert!(texts.contains(&level.to_string()), "{level} of {texts:?}");
    }
}

#[test]
fn times_are_shown_in_their_zone() {
    let mut chart = chart(vec![series("a", &[(1_800_000_000.0, 1.0), (1_800_000_040.0, 1.0)])]);
    chart.x_ticks = XTicks::TimeOfDay { utc_offset_s: 3600 };
    let texts = texts(&chart.lines());
    // 1,800,000,000 is 08:00:00 UTC.
    assert!(texts.contains(&"09:00:00".to_string()), "{texts:?}");
    assert!(texts.contains(&"09:00:40".to_string()), "{texts:?}");
}

#[test]
fn numbers_have_prefixes() {
    let cases = [
        (0.0, "", "0"),
        (12_500.0, "", "12.5 k"),
        (999.99, "", "1 k"),
        (0.02, "s", "20 ms"),
        (1.5e-6, "s", "1.5 µs"),
        (3.0, "s", "3 s"),
        (-2e6, "", "-2 M"),
        (1e-12, "s", "0 ns"),
        (2e12, "B", "2 TB"),
        (1e15, "", "1000 T"),
    ];
    for (number, unit, expected) in cases {
        assert_eq!(si(number, unit), expected);
    }
}

#[test]
fn a_name_has_its_colour_in_every_chart() {
    let colour = |svg: &str, name: &str| {
        let document = Document::parse(svg).unwrap();
        let node =
            document.descendants().find(|n| n.attribute("data-series") == Some(name)).unwrap();
        node.attribute("data-colour").unwrap().to_string()
    };
    let points = [(0.0, 1.0)];
    let alone = chart(vec![series("lock/row", &points)]).lines();
    let beside = chart(vec![series("io/redo", &points), series("lock/row", &points)]).bars();
    assert_eq!(colour(&alone, "lock/row"), colour(&beside, "lock/row"));
    let many = (0..20).map(|at| series(&format!("n{at}"), &points)).collect();
    let svg = chart(many).lines();
    let all: std::collections::BTreeSet<_> =
        (0..20).map(|at| colour(&svg, &format!("n{at}"))).collect();
    assert_eq!(all.len(), 20, "twenty names, twenty colours");
}

#[test]
fn panels_share_scale_and_colours() {
    let low = chart(vec![series("a", &[(0.0, 1.0), (1.0, 1.0)])]);
    let high = chart(vec![series("a", &[(0.0, 90.0), (1.0, 90.0)]), series("b", &[(0.0, 1.0)])]);
    let svg = panels(Kind::Lines, &[low, high]);
    let document = Document::parse(&svg).expect("well-formed");
    let plots = document.descendants().filter(|n| n.attribute("class") == Some("plot"));
    let tops: Vec<_> = plots.map(|n| n.attribute("data-y-max").unwrap()).collect();
    assert_eq!(tops, ["100", "100"]);
    let inner = document.root_element().children().filter(|n| n.has_tag_name("svg"));
    assert_eq!(inner.filter_map(|n| n.attribute("x")).collect::<Vec<_>>(), ["0", "800"]);
    assert_eq!(read_back(&svg).len(), 3);
    Document::parse(&panels(Kind::Bars, &[])).expect("well-formed without a chart");
}
