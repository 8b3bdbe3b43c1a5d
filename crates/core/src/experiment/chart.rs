//! Charts as SVG: readable in print and without colour.

use std::fmt::Write as _;

/// Escapes text for HTML and SVG, attributes included.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// One bar.
pub struct Bar {
    pub label: String,
    pub value: f64,
    /// The text at its end.
    pub note: String,
    pub link: Option<String>,
    /// Drawn hatched, so that it differs without colour.
    pub marked: bool,
}

const WIDTH: f64 = 900.0;
const ROW: f64 = 26.0;
const LABELS: f64 = 250.0;
const NOTES: f64 = 145.0;
/// How many characters of a label fit.
const LABEL: usize = 36;
/// With more points, only numbers are below them.
const MOST_NAMES: usize = 7;
const MOST_NUMBERS: usize = 25;

fn open(height: f64, title: &str) -> String {
    format!(
        "<div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\" xmlns=\"http://www.w3.org/2000/svg\">\n",
        escaped(title)
    )
}

const CLOSE: &str = "</svg></div>\n";

/// Horizontal bars around zero, or from zero if no value is negative.
pub fn bars(title: &str, bars: &[Bar]) -> String {
    let least = bars.iter().map(|bar| bar.value).fold(0.0, f64::min);
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let span = if most > least { most - least } else { 1.0 };
    // The text beside a bar to the left needs space.
    let left = if least < 0.0 { LABELS + NOTES } else { LABELS };
    let room = WIDTH - left - NOTES;
    let at = |value: f64| left + (value - least) / span * room;
    #[expect(clippy::cast_precision_loss, reason = "a few bars")]
    let height = bars.len() as f64 * ROW + 10.0;
    let mut svg = open(height, title);
    let zero = at(0.0);
    let _ =
        writeln!(svg, "<line x1=\"{zero:.1}\" y1=\"0\" x2=\"{zero:.1}\" y2=\"{height}\" class=\"axis\"/>");
    for (index, bar) in bars.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a few bars")]
        let y = index as f64 * ROW + 5.0;
        let (from, to) = (zero.min(at(bar.value)), zero.max(at(bar.value)));
        let class = if bar.marked { "bar marked" } else { "bar" };
        let (x, anchor) = if bar.value < 0.0 { (from - 6.0, "end") } else { (to + 6.0, "start") };
        let middle = y + ROW / 2.0 + 1.0;
        let _ = writeln!(
            svg,
            "{}<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\" class=\"label\">{}</text><rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"{class}\"/><text x=\"{x:.1}\" y=\"{middle:.1}\" text-anchor=\"{anchor}\">{}</text>{}",
            bar.link.as_ref().map_or(String::new(), |link| format!("<a href=\"{}\">", escaped(link))),
            LABELS - 8.0,
            escaped(&crate::text::clipped(&bar.label, LABEL)),
            (to - from).max(1.0),
            ROW - 8.0,
            escaped(&bar.note),
            if bar.link.is_some() { "</a>" } else { "" },
        );
    }
    svg + CLOSE
}

/// One point of a course.
pub struct Point {
    pub label: String,
    pub value: f64,
    pub link: Option<String>,
}

/// Points from left to right, a line for the baseline, and steps for the best value so far.
pub fn course(title: &str, points: &[Point], baseline: Option<f64>, higher_is_better: bool) -> String {
    const HEIGHT: f64 = 260.0;
    const LEFT: f64 = 70.0;
    const RIGHT: f64 = 30.0;
    if points.is_empty() {
        return open(HEIGHT, title) + CLOSE;
    }
    let values = || points.iter().map(|point| point.value).chain(baseline);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    let span = if most > least { most - least } else { 1.0 };
    let y = |value: f64| 20.0 + (most - value) / span * (HEIGHT - 60.0);
    #[expect(clippy::cast_precision_loss, reason = "a few points")]
    let x = |index: usize| LEFT + (WIDTH - LEFT - RIGHT) * (index as f64 + 0.5) / points.len().max(1) as f64;
    let mut svg = open(HEIGHT, title);
    for value in [least, most] {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y(value) + 4.0,
            super::report::number(value)
        );
    }
    if let Some(baseline) = baseline {
        let at = y(baseline);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" class=\"baseline\"/><text x=\"{LEFT}\" y=\"{:.1}\">baseline {}</text>",
            WIDTH - RIGHT,
            at - 5.0,
            super::report::number(baseline)
        );
    }
    let mut best: Option<f64> = None;
    let mut steps = String::new();
    for (index, point) in points.iter().enumerate() {
        let better =
            best.is_none_or(|best| if higher_is_better { point.value > best } else { point.value < best });
        if better {
            if let Some(before) = best {
                let _ = write!(steps, " L {:.1} {:.1}", x(index), y(before));
            }
            best = Some(point.value);
        }
        let command = if steps.is_empty() { "M" } else { " L" };
        let _ = write!(steps, "{command} {:.1} {:.1}", x(index), y(best.unwrap_or(point.value)));
    }
    let _ = writeln!(svg, "<path d=\"{steps}\" class=\"best\"/>");
    for (index, point) in points.iter().enumerate() {
        let (cx, cy) = (x(index), y(point.value));
        let circle = format!(
            "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"5\" class=\"dot\"><title>{}: {}</title></circle>",
            escaped(&point.label),
            super::report::number(point.value)
        );
        let below = match points.len() {
            0..=MOST_NAMES => crate::text::clipped(&point.label, 20).into_owned(),
            // Every one, or every fifth.
            many if many <= MOST_NUMBERS || index % 5 == 4 || index == 0 => (index + 1).to_string(),
            _ => String::new(),
        };
        let name = format!(
            "<text x=\"{cx:.1}\" y=\"{:.1}\" text-anchor=\"middle\" class=\"small\">{}</text>",
            HEIGHT - 12.0,
            escaped(&below)
        );
        match &point.link {
            Some(link) => {
                let _ = writeln!(svg, "<a href=\"{}\">{circle}{name}</a>", escaped(link));
            }
            None => {
                let _ = writeln!(svg, "{circle}{name}");
            }
        }
    }
    svg + CLOSE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_leave_its_chart_label() {
        assert_eq!(escaped("<a href='x'>\"&\u{1b}"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\u{fffd}");
        let bar = Bar {
            label: "</svg><script>".into(),
            value: -1.0,
            note: "n".into(),
            link: Some("\"onload".into()),
            marked: true,
        };
        let svg = bars("t", &[bar]);
        assert!(!svg.contains("<script>") && !svg.contains("\"\"onload"), "{svg}");
    }

    #[test]
    fn odd_numbers_of_points_make_a_chart() {
        let point = |value| Point { label: "p".into(), value, link: None };
        for points in [
            vec![],
            vec![point(1.0)],
            vec![point(1.0), point(1.0)],
            vec![point(-3.0), point(5.0), point(2.0)],
        ] {
            let svg = course("t", &points, None, true);
            assert!(!svg.contains("NaN") && svg.ends_with(CLOSE), "{svg}");
        }
        let svg = bars("t", &[]);
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
