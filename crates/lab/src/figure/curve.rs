//! A curve: the line through its points, its marks, and how sure it is.

use std::fmt::Write as _;

use super::axis::Axis;
use super::pen::{Pen, at, line, mark, stroke};
use crate::experiment::Style;
use crate::findings::{Curve, Point};

/// Coordinates are written to a twentieth of this, finer than any printer: nearer points are one.
const RESOLUTION: f64 = 0.05;

/// One curve of a panel: its line, marks and confidence intervals.
pub(super) fn draw_curve(
    out: &mut String,
    curve: &Curve,
    pen: Pen,
    style: Style,
    [x, y]: [&Axis; 2],
) {
    let place = |point: &Point, value: f64| (x.place(point.x), y.place(value));
    let joined = matches!(style, Style::Line | Style::Steps);
    if joined {
        band(out, curve, pen, &place);
    }
    if style != Style::Points {
        let path = path(curve, style == Style::Steps, &place);
        stroke(out, &path, pen);
    }
    if joined {
        return;
    }
    for point in &curve.points {
        let (px, py) = place(point, point.y.mean);
        if !(px.is_finite() && py.is_finite()) {
            continue;
        }
        if let Some((low, high)) = point.y.interval() {
            let (low, high) = (place(point, low).1, place(point, high).1);
            if low.is_finite() && high.is_finite() {
                line(out, px, low, px, high, pen.colour);
            }
        }
        mark(out, px, py, pen);
    }
}

/// The line through the points; it breaks where there is nothing to draw, and where the next seed begins if each has
/// points of its own.
fn path(curve: &Curve, steps: bool, place: &dyn Fn(&Point, f64) -> (f64, f64)) -> String {
    let mut path = String::new();
    let mut last: Option<(f64, f64)> = None;
    for point in &curve.points {
        let (x, y) = place(point, point.y.mean);
        if !(x.is_finite() && y.is_finite()) {
            last = None;
            continue;
        }
        match last.filter(|(lx, _)| *lx <= x) {
            Some((lx, ly)) if (x - lx).abs() < RESOLUTION && (y - ly).abs() < RESOLUTION => {
                continue;
            }
            Some(_) if steps => {
                let _ = write!(path, "H{}V{}", at(x), at(y));
            }
            Some(_) => {
                let _ = write!(path, "L{} {}", at(x), at(y));
            }
            None => {
                let _ = write!(path, "M{} {}", at(x), at(y));
            }
        }
        last = Some((x, y));
    }
    path
}

/// The confidence interval as a band, where points have one.
fn band(out: &mut String, curve: &Curve, pen: Pen, place: &dyn Fn(&Point, f64) -> (f64, f64)) {
    let edges = curve.points.iter().filter_map(|point| {
        let (low, high) = point.y.interval()?;
        let ((x, low), (_, high)) = (place(point, low), place(point, high));
        (x.is_finite() && low.is_finite() && high.is_finite()).then_some((x, low, high))
    });
    let edges: Vec<(f64, f64, f64)> = edges.collect();
    if edges.len() < 2 {
        return;
    }
    let mut corners = String::new();
    let upper = edges.iter().map(|(x, _, high)| (x, high));
    let lower = edges.iter().rev().map(|(x, low, _)| (x, low));
    for (x, y) in upper.chain(lower) {
        let _ = write!(corners, "{},{} ", at(*x), at(*y));
    }
    let _ = writeln!(
        out,
        "<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.18\"/>",
        corners.trim_end(),
        pen.colour
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Findings, Sample};

    #[test]
    fn a_line_breaks_where_a_value_is_missing() {
        let mut sample = Sample::default();
        let values = [1.0, 2.0, f64::NAN, 1.0, 1.0];
        let points = values.iter().enumerate().map(|(x, y)| (x as f64, *y));
        sample.curve("c", "a", points);
        let findings = Findings::join(&[vec![sample]]);
        let place = |point: &Point, value: f64| (point.x, value);
        assert_eq!(path(&findings.curves[0], false, &place), "M0 1L1 2M3 1L4 1");
        assert_eq!(path(&findings.curves[0], true, &place), "M0 1H1V2M3 1H4V1");
    }

    #[test]
    fn each_seed_that_has_points_of_its_own_is_a_line_of_its_own() {
        let seeds = [[0.0, 2.0], [0.0, 3.0]].map(|xs| {
            let mut sample = Sample::default();
            sample.curve("c", "a", xs.map(|x| (x, 1.0)));
            sample
        });
        let findings = Findings::join(&[seeds.to_vec()]);
        let place = |point: &Point, value: f64| (point.x, value);
        assert_eq!(path(&findings.curves[0], false, &place), "M0 1L2 1M0 1L3 1");
        assert_eq!(path(&findings.curves[0], true, &place), "M0 1H2V1M0 1H3V1");
    }
}
