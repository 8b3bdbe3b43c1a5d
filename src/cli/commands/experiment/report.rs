use super::open;
use crate::cli::prelude::*;
use crate::experiment::{Format, page, report};
use crate::flow::experiment::all;

/// Rank all runs by score: table, Markdown, CSV, JSON or one HTML page
///
/// Example: liza experiment report --format markdown
#[derive(Args)]
pub struct ReportArgs {
    /// Format of the report
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = parsed)]
    pub format: Format,
    /// Write the report to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

fn parsed(text: &str) -> Result<Format, String> {
    Format::parse(text).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
        format!("choose one of {}", known.join(", "))
    })
}

impl Execute for ReportArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        let (_, lab) = open(call, false)?;
        let summaries = all(&lab)?.into_iter().map(|kept| kept.summary).collect();
        let config = &lab.config().score;
        let report = report(summaries, config.column.clone(), config.better);
        let text = match self.format {
            Format::Table => report.table(),
            Format::Markdown => report.markdown(),
            Format::Csv => report.csv(),
            Format::Json => to_json_line(&serde_json::to_value(&report).unwrap_or_default()),
            Format::Html => page(&report, &home(&lab.runs, self.out.as_deref())),
        };
        match &self.out {
            None => Ok(Answer::new(&report, text)),
            Some(out) => {
                let whole = std::path::absolute(out).unwrap_or_else(|_| out.clone());
                crate::store::files::replace_shared(&whole, text.as_bytes())?;
                let text = format!("wrote {} ({})", out.display(), plural(report.rows.len(), "run"));
                Ok(Answer::new(&report, text))
            }
        }
    }
}

/// The path from the page to the runs: relative if the page is above them, so that both can be moved together.
fn home(runs: &Path, out: Option<&Path>) -> String {
    let dir =
        out.and_then(|out| std::path::absolute(out).ok()).and_then(|out| out.parent().map(Path::to_owned));
    let relative = dir.and_then(|dir| runs.strip_prefix(dir.canonicalize().ok()?).ok().map(Path::to_owned));
    match relative {
        Some(path) if path.as_os_str().is_empty() => String::new(),
        Some(path) => format!("{}/", in_address(&path)),
        None => format!("file://{}/", in_address(runs)),
    }
}

/// A path, escaped for a URL.
fn in_address(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let bytes = path.as_os_str().as_bytes().iter();
    bytes
        .map(|byte| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_of_a_path_are_escaped() {
        assert_eq!(in_address(Path::new("/a b/c#d/50%/é")), "/a%20b/c%23d/50%25/%C3%A9");
    }
}
