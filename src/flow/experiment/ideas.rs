//! Reading ideas from a file or a directory.

use crate::experiment::{Idea, LARGEST_IDEA, MOST_IDEAS, split, unique};
use crate::flow::prelude::*;
use crate::store::files::paths_in;

const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// The ideas in a file, or in a directory with one idea in each `*.md` and `*.txt`, sorted by name.
pub fn gather(path: &Path) -> Result<Vec<Idea>> {
    let is_dir = path.metadata().map_err(|error| {
        Failure::io("read", path, &error)
            .hint("name a file or a directory of ideas: `liza experiment run IDEAS`")
    })?;
    let ideas = if is_dir.is_dir() {
        let mut files: Vec<PathBuf> = paths_in(path).into_iter().filter(|path| is_text(path)).collect();
        files.sort();
        let mut found = Vec::new();
        for file in files {
            found.extend(Idea::whole(&name_of(&file), &text_of(&file)?));
        }
        found
    } else {
        split(&name_of(path), &text_of(path)?)
    };
    if ideas.is_empty() {
        return Err(failure!(Code::Value, "there is no idea in {}", path.display())
            .hint("write one per `##` heading, or one per *.md or *.txt file of a directory"));
    }
    if ideas.len() > MOST_IDEAS {
        return Err(failure!(
            Code::Value,
            "{} has {} ideas; the limit is {MOST_IDEAS}",
            path.display(),
            ideas.len()
        ));
    }
    if let Some(long) = ideas.iter().find(|idea| idea.text.len() > LARGEST_IDEA) {
        let size = long.text.len();
        return Err(failure!(
            Code::Value,
            "the idea `{}` has {size} bytes; the limit is {LARGEST_IDEA}",
            long.id
        ));
    }
    Ok(unique(ideas))
}

fn is_text(path: &Path) -> bool {
    // Hidden files belong to editors or the system.
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && path.extension().is_some_and(|kind| kind == "md" || kind == "txt")
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn text_of(path: &Path) -> Result<String> {
    let real = path.canonicalize().map_err(|error| Failure::io("read", path, &error))?;
    let (bytes, _) = read_whole(&real, LARGEST_FILE).map_err(|error| Failure::io("read", path, &error))?;
    String::from_utf8(bytes).map_err(|_| {
        failure!(Code::Value, "{} is not UTF-8 text", path.display())
            .hint("convert it, for example with `iconv -t UTF-8`")
    })
}
