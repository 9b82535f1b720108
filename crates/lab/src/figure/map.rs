//! A map: a table whose cells are coloured by their value, with the value in them.

use std::fmt::Write as _;

use super::pen::{FONT, at, text};
use super::readable;
use crate::experiment::PanelDefinition;
use crate::findings::Curve;

/// Colours from the least value to the largest, evenly spread and mixed in between: “cividis”
/// (Nuñez, Anderton and Renslow, 2018), which grows lighter evenly for every kind of colour vision, and
/// in grey.
const COLOURS: [[f64; 3]; 5] = [
    [0.0, 32.0, 77.0],
    [65.0, 77.0, 107.0],
    [124.0, 123.0, 120.0],
    [188.0, 175.0, 111.0],
    [255.0, 234.0, 70.0],
];
/// Letters are white on colours below this share of the range, where white has the larger contrast.
const DARK: f64 = 0.45;
/// The colours in the legend.
const KEY: f64 = 64.0;
const KEY_STEPS: usize = 32;
/// The height of letters in cells: three digits and a point fit into a tenth of a panel.
const CELL_LETTER_HEIGHT: f64 = 8.0;

/// Draws the cells of `curves`, each a row from below, with the names of rows and columns. The legend
/// stands at `top`.
pub(super) fn draw_map(
    out: &mut String,
    panel: &PanelDefinition,
    curves: &[&Curve],
    [left, right]: [f64; 2],
    top: f64,
    [above, below]: [f64; 2],
) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let mut columns: Vec<f64> = points().map(|point| point.x).collect();
    columns.sort_by(f64::total_cmp);
    columns.dedup();
    let scale = Scale::new(panel.colour_range, points().map(|point| point.y.mean));
    let what = panel.shows.as_deref().unwrap_or_default();
    scale.legend(out, left, top, what);
    let width = (right - left) / columns.len().max(1) as f64;
    let height = (below - above) / curves.len().max(1) as f64;
    let label = |out: &mut String, x: f64, y: f64, anchor: &str, content: &str| {
        text(out, x, y, &format!("text-anchor=\"{anchor}\""), content);
    };
    for (column, x) in columns.iter().enumerate() {
        let middle = left + (column as f64 + 0.5) * width;
        label(out, middle, below + 12.0, "middle", &readable(*x));
    }
    for (row, curve) in curves.iter().enumerate() {
        let y = below - (row as f64 + 1.0) * height;
        let middle = y + height / 2.0 + FONT / 3.0;
        label(out, left - 4.0, middle, "end", &curve.name);
        for point in &curve.points {
            let column = columns.partition_point(|x| *x < point.x);
            let x = left + column as f64 * width;
            let (colour, letters) = scale.colours(point.y.mean);
            rectangle(out, [x, y], [width, height], &colour);
            let attributes = format!(
                "text-anchor=\"middle\" font-size=\"{CELL_LETTER_HEIGHT}\" fill=\"{letters}\""
            );
            let half = point.y.half_width.filter(|_| panel.intervals);
            let half = half.map(|half| format!("± {}", short(half)));
            let lines = [Some(short(point.y.mean)), half].into_iter().flatten();
            let above = lines.clone().count() as f64 / 2.0 - 0.5;
            for (line, value) in lines.enumerate() {
                let middle = y + height / 2.0 + (line as f64 - above) * (CELL_LETTER_HEIGHT + 2.0);
                let baseline = middle + CELL_LETTER_HEIGHT / 3.0;
                text(out, x + width / 2.0, baseline, &attributes, &value);
            }
        }
    }
}

/// Which colour stands for which value.
struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    fn new(fixed: Option<[f64; 2]>, values: impl Iterator<Item = f64>) -> Self {
        let usable = values.filter(|value| value.is_finite());
        let (least, most) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        });
        let found = if least < most {
            [least, most]
        } else {
            [0.0, 1.0]
        };
        let [from, to] = fixed.unwrap_or(found);
        Self { from, to }
    }

    /// The colour of a value, and the colour of letters on it; white where there is none.
    fn colours(&self, value: f64) -> (String, &'static str) {
        if !value.is_finite() {
            return ("#ffffff".to_owned(), "#000000");
        }
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        let letters = if share < DARK { "#ffffff" } else { "#000000" };
        (colour(share), letters)
    }

    fn legend(&self, out: &mut String, left: f64, top: f64, what: &str) {
        let baseline = top + FONT - 1.5;
        let [from, to] = [self.from, self.to].map(short);
        // A letter is about half as wide as it is high.
        let start = left + from.chars().count() as f64 * FONT * 0.6 + 3.0;
        text(out, left, baseline, "", &from);
        let step = KEY / KEY_STEPS as f64;
        for index in 0..KEY_STEPS {
            let share = (index as f64 + 0.5) / KEY_STEPS as f64;
            let x = start + index as f64 * step;
            rectangle(out, [x, top], [step, FONT], &colour(share));
        }
        let end = start + KEY + 3.0;
        text(out, end, baseline, "", &format!("{to}  {what}"));
    }
}

fn rectangle(out: &mut String, [x, y]: [f64; 2], [width, height]: [f64; 2], colour: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\" stroke=\"{colour}\" \
         stroke-width=\"0.3\"/>",
        at(x),
        at(y),
        at(width),
        at(height)
    );
}

fn colour(share: f64) -> String {
    let place = share * (COLOURS.len() - 1) as f64;
    let below = (place as usize).min(COLOURS.len() - 2);
    let part = place - below as f64;
    let [red, green, blue] = [0, 1, 2].map(|channel| {
        let (from, to) = (COLOURS[below][channel], COLOURS[below + 1][channel]);
        (from + part * (to - from)).round() as u8
    });
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Three digits, for there is room for no more.
fn short(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let decimals = match value.abs() {
        small if small < 9.995 => 2,
        middle if middle < 99.95 => 1,
        _ => 0,
    };
    let plain = format!("{value:.decimals$}");
    match plain.contains('.') {
        true => plain.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::draw;
    use crate::findings::{Findings, Sample};

    fn map(more: &str, rows: &[(&str, &[(f64, f64)])]) -> String {
        let panel = format!(
            "curves = \"c\"\nx = \"RTT (ms)\"\ny = \"rate (kb/s)\"\nstyle = \"map\"\nshows = \"in time (%)\"\n{more}"
        );
        let mut sample = Sample::default();
        for (name, points) in rows {
            sample.curve("c", *name, points.iter().copied());
        }
        let findings = Findings::join(&[vec![sample]]);
        draw("e", "t", &[toml::from_str(&panel).unwrap()], &findings)
    }

    #[test]
    fn every_cell_has_its_number_and_every_axis_its_name_and_unit() {
        let rows: [(&str, &[(f64, f64)]); 2] = [
            ("200", &[(3.5, 12.34), (20.0, 100.0)]),
            ("400", &[(3.5, 0.5), (20.0, 99.6)]),
        ];
        let figure = map("", &rows);
        let labels = [
            "12.3",
            ">100<",
            ">0.5<",
            "99.6",
            "RTT (ms)",
            "rate (kb/s)",
            "in time (%)",
            ">200<",
            ">400<",
            ">3.5<",
            ">20<",
        ];
        for text in labels {
            assert!(figure.contains(text), "{text}: {figure}");
        }
        // Rows begin below.
        let height = |name: &str| -> f64 {
            let line = figure.lines().find(|l| l.contains(name)).unwrap();
            let (_, rest) = line.split_once(" y=\"").unwrap();
            rest.split_once('"').unwrap().0.parse().unwrap()
        };
        assert!(height(">200<") > height(">400<"));
    }

    #[test]
    fn a_map_that_tells_intervals_has_them_below_the_values() {
        let row = [("200", &[(1.0, 2.0), (2.0, 5.0)][..])];
        assert!(
            !map("intervals = true", &row).contains('±'),
            "one seed has none"
        );
        let seeds = [1.5, 2.5].map(|y| {
            let mut sample = Sample::default();
            sample.curve("c", "200", [(1.0, y)]);
            sample
        });
        let findings = Findings::join(&[seeds.to_vec()]);
        let panel = "curves = \"c\"\nx = \"\"\ny = \"\"\nstyle = \"map\"\nshows = \"\"";
        let drawn = |more: &str| {
            let panel = toml::from_str(&format!("{panel}\n{more}")).unwrap();
            draw("e", "t", &[panel], &findings)
        };
        // 6.314 times a half.
        assert!(drawn("intervals = true").contains(">± 3.16<"));
        assert!(!drawn("").contains('±'));
    }

    #[test]
    fn a_cell_without_a_value_is_left_white() {
        let figure = map("", &[("200", &[(1.0, f64::NAN), (2.0, 5.0), (3.0, 6.0)])]);
        assert!(
            figure.contains(">–<") && !figure.contains("NaN"),
            "{figure}"
        );
    }

    #[test]
    fn the_ends_of_the_range_have_the_ends_of_the_colours() {
        let fixed = "colour_range = [0.0, 100.0]";
        let figure = map(fixed, &[("200", &[(1.0, 0.0), (2.0, 100.0), (3.0, 1e9)])]);
        assert!(figure.contains("#00204d"), "{figure}");
        assert_eq!(figure.matches("fill=\"#ffea46\"").count(), 2, "{figure}");
    }

    #[test]
    fn colours_grow_lighter_all_the_way() {
        let light = |share: f64| -> f64 {
            let hex = colour(share);
            let channel = |at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        };
        let steps: Vec<f64> = (0..=20).map(|step| light(f64::from(step) / 20.0)).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
    }
}
