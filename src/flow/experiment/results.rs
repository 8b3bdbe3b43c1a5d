//! The results of a sweep: only a file that the sweep itself wrote counts.

use super::Lab;
use crate::experiment::{Score, artifacts, compared, picked};
use crate::flow::prelude::*;
use crate::git::private::leads_inside;
use crate::store::files::{FileIdentity, paths_in, write_new};

const LARGEST: u64 = 64 * 1024 * 1024;

/// The results file before the sweep.
pub struct Before(Option<FileIdentity>);

pub fn before(worktree: &Path, results: &str) -> Before {
    Before(FileIdentity::at(&worktree.join(results)).ok())
}

/// Copies the sweep's results into the run's directory, or returns why there are none.
pub fn copy(
    lab: &Lab,
    worktree: &Path,
    results: &str,
    before: &Before,
    run_dir: &Path,
) -> Result<Vec<u8>, String> {
    let path = worktree.join(results);
    let Ok(now) = FileIdentity::at(&path) else {
        return Err(format!("the sweep wrote no `{results}`{}", similar_files(&path)));
    };
    if before.0.as_ref().is_some_and(|before| now.is_untouched_since(before)) {
        return Err(format!("`{results}` existed before the sweep, and the sweep did not write it"));
    }
    if !leads_inside(worktree, Path::new(results)) {
        return Err(format!("`{results}` leads out of the worktree"));
    }
    let (bytes, _) =
        read_whole(&path, LARGEST).map_err(|error| format!("`{results}` cannot be read: {error}"))?;
    let copy = run_dir.join(artifacts::RESULTS);
    let without_secrets = match lab.leaked(&bytes) {
        Some(_) => lab.redacted(&String::from_utf8_lossy(&bytes)).into_bytes(),
        None => bytes.clone(),
    };
    write_new(&copy, &without_secrets).map_err(|error| format!("`{results}` cannot be copied: {error}"))?;
    Ok(bytes)
}

/// Similar files in that directory, in case the name is misspelt.
fn similar_files(path: &Path) -> String {
    let alike = |found: &PathBuf| found.extension().is_some() && found.extension() == path.extension();
    let found = path.parent().map(paths_in).unwrap_or_default().into_iter().filter(alike);
    let names: Vec<String> = found
        .take(5)
        .filter_map(|found| Some(format!("`{}`", found.file_name()?.to_string_lossy())))
        .collect();
    if names.is_empty() { String::new() } else { format!("; there is {}", shown_line(&list_words(names))) }
}

/// The score of these results, and a remark if they cannot be compared with the baseline.
pub fn score(lab: &Lab, results: &[u8]) -> Result<(Score, Option<String>), String> {
    let config = &lab.config().score;
    let value = picked(results, config)?;
    let Some(name) = &lab.config().baseline_csv else {
        return Ok((compared(value, None, config.better), None));
    };
    let path = lab.root().join(name);
    let baseline = match read_whole(&path, LARGEST) {
        Ok((bytes, _)) => picked(&bytes, config).map_err(|why| format!("the baseline `{name}`: {why}")),
        Err(error) => Err(format!("the baseline `{name}` cannot be read: {error}")),
    };
    match baseline {
        Ok(baseline) => Ok((compared(value, Some(baseline), config.better), None)),
        Err(why) => Ok((compared(value, None, config.better), Some(why))),
    }
}
