//! Installs the blocks in the hook files, beside existing hooks, and removes them without a trace.

use std::os::unix::fs::MetadataExt;

use super::Hook;
use super::hook_dir::{self, HookDir, Manager};
use super::script::{self, ALIASES, Facts, KEPT, Then};
use crate::flow::prelude::*;
use crate::store::files;

/// The action on one hook.
#[derive(Debug, Clone, Serialize)]
pub struct Done {
    pub hook: Hook,
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub path: PathBuf,
    pub what: String,
}

#[derive(Debug)]
pub struct Installed {
    pub done: Vec<Done>,
    /// Another program owns the hooks: what a person has to add there.
    pub manager: Option<Manager>,
}

/// Installs what can be installed. `beside`: where a manager owns the other hooks, also those it does not handle.
pub fn install(ctx: &Context, program: &Path, beside: bool) -> Result<Installed> {
    human(ctx, "install hooks")?;
    let board = ctx.read(&Needs::Nothing)?.board;
    let hook_dir = hook_dir::find(ctx)?;
    let wanted =
        format!("a person installed hooks on {}; `liza hooks uninstall` removes them\n", ctx.now.wall);
    ctx.machine.want_hooks(&wanted)?;
    let hooks: Vec<Hook> = match &hook_dir.manager {
        None => Hook::ALL.to_vec(),
        Some(manager) if beside => manager.leaves.clone(),
        Some(_) => Vec::new(),
    };
    let program = program.to_string_lossy();
    let facts = Facts { program: &program, integration_branch: &board.config().integration_branch };
    if !hooks.is_empty() {
        fs::create_dir_all(&hook_dir.dir).map_err(|error| Failure::io("make", &hook_dir.dir, &error))?;
    }
    let done = hooks.into_iter().map(|hook| put(&hook_dir, hook, &facts)).collect::<Result<_, _>>()?;
    super::super::git_settings::accept_hooks(ctx)?;
    Ok(Installed { done, manager: hook_dir.manager })
}

fn human(ctx: &Context, verb: &str) -> Result<()> {
    if ctx.is_human() {
        return Ok(());
    }
    Err(failure!(Code::HumanOnly, "only a person may {verb}").hint("`liza hooks status` changes nothing"))
}

fn put(hook_dir: &HookDir, hook: Hook, facts: &Facts) -> Result<Done> {
    let path = hook_dir.dir.join(hook.name());
    let done = |what: &str| Ok(Done { hook, path: path.clone(), what: what.to_owned() });
    let found = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(Failure::io("look at", &path, &error)),
        Ok(meta) => Some(meta),
    };
    let Some(meta) = found else {
        write(&path, &script::whole(hook, facts), 0o755)?;
        return done("made");
    };
    let mode = meta.permissions().mode() & 0o7777;
    // A hook that cannot be read is another program's, and is kept as it is.
    let text = text_of(&path, &meta).unwrap_or_default();
    if let Some(text) = &text
        && script::has_block(text)
    {
        let kept = kept_path(&path);
        let then = if fs::symlink_metadata(&kept).is_ok() { Then::Kept } else { Then::Rest };
        let fresh = script::with_block(text, hook, facts, then);
        return match fresh {
            Some(fresh) if &fresh == text && mode & 0o100 != 0 => done("there already"),
            Some(fresh) => {
                write(&path, &fresh, mode | 0o100)?;
                done("renewed")
            }
            None => done("there already"),
        };
    }
    // A link leads to a person's own file, and a file that git does not run must not start to run.
    let executable = mode & 0o100 != 0;
    if let Some(text) = text.filter(|_| executable)
        && let Some(with) = script::with_block(&text, hook, facts, Then::Rest)
    {
        write(&path, &with, mode)?;
        return done("added to the existing hook");
    }
    let kept = kept_path(&path);
    match fs::symlink_metadata(&kept) {
        // A kill between the two steps below leaves the same file under both names.
        Ok(other) if (other.dev(), other.ino()) == (meta.dev(), meta.ino()) => {}
        Ok(_) => {
            return Err(failure!(ErrorCode::RefusedHook, "{} blocks the installation", kept.display())
                .hint("check that file and move it away, then install again; nothing was changed"));
        }
        // First the new file under another name: an existing hook is never missing, not even briefly.
        Err(_) => fs::hard_link(&path, &kept)
            .or_else(|_| fs::rename(&path, &kept))
            .map_err(|error| Failure::io("keep", &path, &error))?,
    }
    alias(&path, &meta)?;
    write(&path, &script::whole_before_kept(hook, facts), 0o755)?;
    done("runs before the existing hook")
}

/// A kept link can still be run under its own name.
fn alias(path: &Path, meta: &fs::Metadata) -> Result<()> {
    let Some((dir, name)) = path.parent().zip(path.file_name()).filter(|_| meta.is_symlink()) else {
        return Ok(());
    };
    let aliases = dir.join(ALIASES);
    let failed = |error: std::io::Error| Failure::io("keep", path, &error);
    match fs::create_dir(&aliases) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let target = Path::new("..").join(kept_path(Path::new(name)));
    match std::os::unix::fs::symlink(target, aliases.join(name)) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(failed(error)),
        _ => Ok(()),
    }
}

/// The text of a regular file, if it is UTF-8. None of a file that this user can neither read nor have written.
fn text_of(path: &Path, meta: &fs::Metadata) -> std::io::Result<Option<String>> {
    if !meta.is_file() {
        return Ok(None);
    }
    match fs::read(path) {
        Err(error)
            if error.kind() == std::io::ErrorKind::PermissionDenied
                && meta.uid() != rustix::process::geteuid().as_raw() =>
        {
            Ok(None)
        }
        read => read.map(|bytes| String::from_utf8(bytes).ok()),
    }
}

fn kept_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(KEPT);
    PathBuf::from(name)
}

/// Written completely or not at all, with its mode.
fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    let temp = files::beside(path);
    let _ = fs::remove_file(&temp);
    files::write_new(&temp, text.as_bytes())?;
    let placed =
        fs::set_permissions(&temp, fs::Permissions::from_mode(mode)).and_then(|()| fs::rename(&temp, path));
    if let Err(error) = placed {
        let _ = fs::remove_file(&temp);
        return Err(Failure::io("write", path, &error));
    }
    Ok(files::sync_parent(path)?)
}

/// Git's default hook directory, and its present one.
fn hook_dirs(ctx: &Context) -> Result<Vec<PathBuf>> {
    let mut dirs = vec![ctx.repo.common_dir.join("hooks")];
    let looked_at = hook_dir::find(ctx)?.dir;
    if !dirs.contains(&looked_at) {
        dirs.push(looked_at);
    }
    Ok(dirs)
}

/// Refuses, before anything is changed, if a hook cannot be read: it is unknown whether it runs liza.
pub fn refuse_unreadable(ctx: &Context) -> Result<()> {
    for dir in hook_dirs(ctx)? {
        for path in Hook::ALL.map(|hook| dir.join(hook.name())) {
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            text_of(&path, &meta).map_err(|error| {
                Failure::io("read", &path, &error)
                    .hint("nothing was changed; make that hook readable, or move it away")
            })?;
        }
    }
    Ok(())
}

/// Removes every block. Other programs' hooks are restored as they were.
pub fn uninstall(ctx: &Context) -> Result<Vec<Done>> {
    human(ctx, "remove hooks")?;
    refuse_unreadable(ctx)?;
    let dirs = hook_dirs(ctx)?;
    let mut done = Vec::new();
    for dir in dirs {
        for hook in Hook::ALL {
            if let Some(what) = take(&dir.join(hook.name()))? {
                done.push(Done { hook, path: dir.join(hook.name()), what });
            }
        }
        // Only an empty directory is removed; `git init` makes it with samples.
        for empty in [dir.join(ALIASES), dir.clone()] {
            let above = empty.parent().unwrap_or(&empty);
            let _ = host::anchored_path::AnchoredPath::at(above, &empty).map(|path| path.remove_empty());
        }
    }
    ctx.machine.want_no_hooks()?;
    super::super::git_settings::accept_hooks(ctx)?;
    Ok(done)
}

fn take(path: &Path) -> Result<Option<String>> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(None) };
    let text = text_of(path, &meta).map_err(|error| Failure::io("read", path, &error))?;
    let Some(text) = text.filter(|text| script::has_block(text)) else { return Ok(None) };
    let rest = script::without_block(&text);
    let failed = |error: &std::io::Error| Failure::io("remove the block from", path, error);
    let kept = kept_path(path);
    let is_kept = fs::symlink_metadata(&kept).is_ok();
    if let (Some(dir), Some(name)) = (path.parent(), path.file_name()) {
        let _ = fs::remove_file(dir.join(ALIASES).join(name));
    }
    if is_kept && script::is_only_ours(&rest) {
        fs::rename(&kept, path).map_err(|error| failed(&error))?;
        return Ok(Some("the earlier hook is restored".to_owned()));
    }
    if script::is_only_ours(&rest) {
        fs::remove_file(path).map_err(|error| failed(&error))?;
        return Ok(Some("removed".to_owned()));
    }
    write(path, &rest, meta.permissions().mode() & 0o7777)?;
    Ok(Some(if is_kept {
        // A person wrote into liza's file: now there are two hooks, and only their owner can merge them.
        format!("the block is removed; your earlier hook is in {} and no longer runs", kept.display())
    } else {
        "the block is removed".to_owned()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_hook_is_not_passed_over() {
        let dir = tempfile::tempdir().expect("a directory");
        let there = dir.path().join("pre-push");
        fs::write(&there, "#!/bin/sh\n").expect("written");
        let meta = fs::symlink_metadata(&there).expect("there");
        assert_eq!(text_of(&there, &meta).expect("readable").as_deref(), Some("#!/bin/sh\n"));
        assert!(text_of(&dir.path().join("gone"), &meta).is_err());
        assert_eq!(take(&dir.path().join("gone")).expect("nothing to do"), None);
    }
}
