use super::seal_bytes;
use crate::cli::prelude::*;

/// Review a bundle of another author
///
/// Checks the format, runs the gates in a private tree, and takes an answer to every checklist item. The verdict,
/// approve or reject, is kept in .liza/bundles. No task changes its state.
///
/// Example: liza bundle review t1.patchbundle.json --answer "1=yes"
#[derive(Args)]
pub struct ReviewArgs {
    /// Bundle file
    pub file: PathBuf,
    /// Answer to checklist item N, counted from 1; repeat
    #[arg(long, value_name = "N=yes|no[: TEXT]")]
    pub answer: Vec<String>,
    /// Commit to apply the bundle to (default: its base commit)
    #[arg(long, value_name = "REV")]
    pub onto: Option<Revision>,
}

impl OnBoard for ReviewArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let loaded = bundle::load(&self.file)?;
        let given = session.input.texts(&self.answer)?;
        let answers = given.iter().map(|given| answer(given)).collect::<Result<Vec<_>, _>>()?;
        session.seal_request()?;
        seal_bytes(session, &loaded.bytes);
        let (data, revision) = bundle::review(&session.ctx, &loaded, self.onto.as_ref(), &answers)?;
        let next = data.next.as_ref().map(|next| format!("\nnext: {next}")).unwrap_or_default();
        let kept = data.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let text = format!("approve {} (kept in {kept}){next}", data.bundle);
        Ok(Answer::new(data, text).at(revision))
    }
}

/// `2=no: the error is swallowed`
fn answer(given: &str) -> Result<(usize, bool, String), Failure> {
    let parsed = given.split_once('=').and_then(|(number, answer)| {
        let (word, text) = answer.split_once(':').unwrap_or((answer, ""));
        let yes = match word.trim().to_lowercase().as_str() {
            "yes" => true,
            "no" => false,
            _ => return None,
        };
        Some((number.trim().parse().ok()?, yes, text.trim().to_owned()))
    });
    parsed.ok_or_else(|| {
        Failure::usage(format!("--answer `{given}` is not N=yes or N=no, optionally followed by `: TEXT`"))
            .hint("for example --answer \"1=yes\" --answer \"2=no: empty names crash\"")
    })
}
