//! The settings of a repository that make git run programs or look elsewhere, so that a change of them is seen.

use std::os::unix::fs::PermissionsExt;

use super::prelude::*;

/// What stands there now, by name.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Settings(BTreeMap<String, Vec<u8>>);

impl Settings {
    pub fn of(repo: &Repo) -> Result<Self, GitError> {
        let mut found = BTreeMap::new();
        let common = &repo.common_dir;
        for name in ["info/attributes", "config.worktree"] {
            note(&mut found, name, &common.join(name));
        }
        let hooks = fs::read_dir(common.join("hooks")).into_iter().flatten().flatten();
        for hook in hooks {
            note(&mut found, &format!("hooks/{}", hook.file_name().to_string_lossy()), &hook.path());
        }
        // Those of the user too, and of every file that is included: whoever runs here can write them all.
        let listed = Git::reading(&repo.root, "config").args(["-z", "--includes", "--list"]).run()?;
        for entry in records(&listed) {
            let end = entry.iter().position(|byte| *byte == b'\n').unwrap_or(entry.len());
            let key = lossy(&entry[..end]);
            if is_dangerous(&key) {
                // The same key may stand there more than once.
                let all: &mut Vec<u8> = found.entry(key).or_default();
                all.extend_from_slice(&entry[end..]);
                all.push(0);
            }
        }
        Ok(Self(found))
    }

    /// What is not as it was, by name.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let all: BTreeSet<&String> = self.0.keys().chain(before.0.keys()).collect();
        all.into_iter().filter(|name| self.0.get(*name) != before.0.get(*name)).cloned().collect()
    }
}

/// A file with what is in it and whether it can be run; a link with where it leads.
fn note(found: &mut BTreeMap<String, Vec<u8>>, name: &str, path: &Path) {
    let Ok(meta) = path.symlink_metadata() else { return };
    let mut what = meta.permissions().mode().to_le_bytes().to_vec();
    if let Ok(target) = fs::read_link(path) {
        what.extend_from_slice(target.as_os_str().as_encoded_bytes());
    }
    if path.is_file()
        && let Ok(bytes) = fs::read(path)
    {
        what.extend_from_slice(blake3::hash(&bytes).as_bytes());
    }
    found.insert(format!(".git/{name}"), what);
}

/// Git writes section and last word of a key in small letters.
fn is_dangerous(key: &str) -> bool {
    const KEYS: &str = "\
        core.hookspath core.worktree core.fsmonitor core.filemode core.attributesfile core.sshcommand core.editor \
        core.pager core.gitproxy core.askpass extensions.worktreeconfig diff.external";
    const SECTIONS: [&str; 5] = ["filter.", "include.", "includeif.", "alias.", "credential."];
    KEYS.split(' ').any(|dangerous| dangerous == key)
        || SECTIONS.iter().any(|section| key.starts_with(section))
        || (key.starts_with("diff.") && (key.ends_with(".textconv") || key.ends_with(".command")))
        || (key.starts_with("merge.") && key.ends_with(".driver"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn what_could_run_a_program_is_seen_and_the_rest_is_not() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let before = Settings::of(&repo).unwrap();
        fixture.git(&["config", "user.name", "somebody else"]);
        fixture.git(&["config", "branch.x.remote", "origin"]);
        assert_eq!(Settings::of(&repo).unwrap(), before);
        for (key, value) in [
            ("filter.X.Clean", "evil"),
            ("core.hooksPath", "/x"),
            ("include.path", "/x"),
            ("alias.st", "!evil"),
            ("diff.a.textconv", "evil"),
            ("merge.a.driver", "evil"),
            ("core.fileMode", "maybe"),
        ] {
            let before = Settings::of(&repo).unwrap();
            fixture.git(&["config", "--add", key, value]);
            let changed = Settings::of(&repo).unwrap().changed_since(&before);
            assert_eq!(changed.len(), 1, "{key}");
            assert_eq!(changed[0].to_lowercase(), key.to_lowercase());
            fixture.git(&["config", "--unset-all", key]);
        }
        let before = Settings::of(&repo).unwrap();
        fs::create_dir_all(repo.common_dir.join("info")).unwrap();
        fs::create_dir_all(repo.common_dir.join("hooks")).unwrap();
        fs::write(repo.common_dir.join("info/attributes"), "* filter=x").unwrap();
        fs::write(repo.common_dir.join("hooks/pre-commit"), "x").unwrap();
        let now = Settings::of(&repo).unwrap();
        assert_eq!(now.changed_since(&before), [".git/hooks/pre-commit", ".git/info/attributes"]);
        assert_eq!(before.changed_since(&now).len(), 2);
    }
}
