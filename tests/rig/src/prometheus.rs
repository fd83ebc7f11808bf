//! Reading the text format of Prometheus.

/// The sum over all series of the metric `name` that carry each of `labels`; 0 if there is none.
#[must_use]
pub fn sum(text: &str, name: &str, labels: &[(&str, &str)]) -> f64 {
    text.lines()
        .filter_map(|line| series(line, name))
        .filter(|(found, _)| labels.iter().all(|(key, value)| found.iter().any(|(k, v)| k == key && v == value)))
        .map(|(_, value)| value)
        .sum()
}

/// Labels and value of one line, if it is a sample of `name`.
fn series(line: &str, name: &str) -> Option<(Vec<(String, String)>, f64)> {
    let rest = line.strip_prefix(name)?;
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest.strip_prefix(' ')?),
    };
    Some((labels, value.split_whitespace().next()?.parse().ok()?))
}

/// Reads `key="value",…}` and gives the rest behind the brace.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text.trim_start_matches([',', ' ']);
    while !rest.starts_with('}') {
        let (key, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at,
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        };
        labels.push((key.to_owned(), value));
        rest = after[end + 1..].trim_start_matches([',', ' ']);
    }
    Some((labels, &rest[1..]))
}

#[cfg(test)]
mod tests {
    use super::sum;

    const TEXT: &str = "# HELP hits Hits.\n# TYPE hits counter\nhits{path=\"/a,}\",code=\"200\"} 3\nhits{path=\"/b\\\"\",code=\"200\"} 4 1700000000\nhits{path=\"/b\",code=\"500\"} 1\nhits_total 9\nplain 2e3\n";

    #[test]
    fn series_are_summed_by_name_and_labels() {
        for (name, labels, expected) in [
            ("hits", &[][..], 8.0),
            ("hits", &[("code", "200")], 7.0),
            ("hits", &[("path", "/a,}")], 3.0),
            ("hits", &[("path", "/b\""), ("code", "200")], 4.0),
            ("hits", &[("code", "404")], 0.0),
            ("hits_total", &[], 9.0),
            ("plain", &[], 2000.0),
            ("absent", &[], 0.0),
        ] {
            assert!((sum(TEXT, name, labels) - expected).abs() < f64::EPSILON, "{name} {labels:?}");
        }
    }
}
