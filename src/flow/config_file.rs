//! Reading `liza.yaml` and files that tasks refer to, always from the main root.

use std::path::Component;

use super::prelude::*;
use crate::board::goals::GOAL_SPEC;

pub const LARGEST_CONFIG: usize = 1024 * 1024;

impl Context {
    /// The settings of this project; defaults where it sets none.
    pub fn project_config(&self) -> Result<ProjectConfig> {
        self.config_text()?.map_or_else(|| Ok(ProjectConfig::default()), |bytes| read_config(&bytes))
    }

    /// The setting `tests` alone, to advise about tasks: a text that does not contain the word is not parsed.
    pub fn test_patterns(&self) -> Result<Vec<PathPattern>> {
        match self.config_text()?.filter(|bytes| memchr::memmem::find(bytes, b"tests").is_some()) {
            Some(bytes) => Ok(read_config(&bytes)?.tests),
            None => Ok(crate::policy::project::usual_tests()),
        }
    }

    fn config_text(&self) -> Result<Option<Vec<u8>>> {
        let path = self.root().join("liza.yaml");
        match read_whole(&path, LARGEST_CONFIG as u64) {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::io("read", &path, &error)),
        }
    }

    /// Whether the target of a spec reference exists: the goal, or a file inside the repository.
    pub fn spec_found(&self, spec_ref: &str) -> Result<bool> {
        Ok(spec_file(spec_ref) == GOAL_SPEC || self.spec_path(spec_ref)?.is_some())
    }

    /// The file inside the repository that a spec reference names, if it exists.
    pub fn spec_path(&self, spec_ref: &str) -> Result<Option<PathBuf>> {
        let path = spec_file(spec_ref);
        let bad = |why: String| {
            failure!(Code::Value, "`{spec_ref}` cannot be a spec: {why}")
                .hint("name a file of the repository, relative to its root, such as specs/vision.md#anchor, or `goal` for the goal's text")
        };
        let path = RepoPath::new(path).map_err(|why| bad(why.to_string()))?;
        regular_file_inside(self.root(), Path::new(path.as_str())).map_err(bad)
    }
}

/// Reads and checks the text of a `liza.yaml`.
pub fn read_config(bytes: &[u8]) -> Result<ProjectConfig> {
    let wrong = |why: String| {
        failure!(ErrorCode::UsageConfig, "liza.yaml: {why}").hint("fix liza.yaml; nothing was changed")
    };
    let mut config: ProjectConfig =
        read_foreign(bytes, Limits::of_bytes(LARGEST_CONFIG)).map_err(|error| wrong(error.to_string()))?;
    if config.version > 1 {
        let what = format!("liza.yaml has version {}, this liza reads 1", config.version);
        return Err(Failure::new(ErrorCode::UsageConfig, what).hint("use a newer liza"));
    }
    let checked = crate::policy::gate::check(&config.gates, &config.gating);
    let checked = checked.and_then(|()| crate::policy::spend::check(&config.spend));
    let checked = checked.and_then(|()| crate::policy::prices::check(&config.prices));
    checked.and_then(|()| config.overseer.check()).map_err(|why| wrong(shown_line(&why).into_owned()))?;
    config.set_inactive_apart();
    Ok(config)
}

/// The file, if it is a regular one reached only through real directories: a link could lead out of the repository.
pub fn regular_file_inside(root: &Path, relative: &Path) -> Result<Option<PathBuf>, String> {
    let mut at = root.to_owned();
    let parts: Vec<Component<'_>> = relative.components().collect();
    for (number, part) in parts.iter().enumerate() {
        let Component::Normal(name) = part else { return Err("it leaves the repository".to_owned()) };
        at.push(name);
        let meta = match fs::symlink_metadata(&at) {
            Ok(meta) => meta,
            Err(_) => return Ok(None),
        };
        if meta.file_type().is_symlink() {
            return Err(format!("`{}` is a symbolic link", at.strip_prefix(root).unwrap_or(&at).display()));
        }
        let last = number + 1 == parts.len();
        if last && !meta.is_file() {
            return Err("it is not a regular file".to_owned());
        }
    }
    Ok(Some(at))
}
