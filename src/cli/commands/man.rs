use clap::Command;

use crate::cli::prelude::*;

/// Print a manual page, or write all to a directory
///
/// The pages say the same as --help. `man liza-task-claim` finds them in a directory that `man` searches (in its
/// subdirectory `man1`).
///
/// Example: liza man --dir man1
///
/// Example: liza man
#[derive(Args)]
pub struct ManArgs {
    /// Write one page per command to this directory; liza creates it if it is missing
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

impl Execute for ManArgs {
    fn execute(&self, _: &Invocation) -> Result<Answer, Failure> {
        let mut root = crate::cli::command_line().disable_help_subcommand(true);
        root.build();
        let Some(dir) = &self.dir else {
            let text = page(&root)?;
            return Ok(Answer::new(json!({ "page": text }), text).verbatim());
        };
        std::fs::create_dir_all(dir).map_err(|error| Failure::io("make", dir, &error))?;
        let mut written = Vec::new();
        write_pages(&root, dir, &mut written)?;
        let text = format!("{} pages written to {}", written.len(), dir.display());
        Ok(Answer::new(json!({ "dir": dir.to_string_lossy(), "pages": written }), text))
    }
}

fn write_pages(command: &Command, dir: &Path, written: &mut Vec<String>) -> Result<(), Failure> {
    // `liza-task-claim`: building the tree sets the display name.
    let file = format!("{}.1", command.get_display_name().unwrap_or(command.get_name()));
    let path = dir.join(&file);
    std::fs::write(&path, page(command)?).map_err(|error| Failure::io("write", &path, &error))?;
    written.push(file);
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        write_pages(inner, dir, written)?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut bytes).map_err(|error| {
        Failure::new(ErrorCode::BugMan, format!("cannot render the manual page: {error}"))
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
