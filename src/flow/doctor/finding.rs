//! One thing that is not as it should be, and how it is put right.

use crate::flow::prelude::*;

/// Puts one thing right; says what there is to tell beyond the remedy.
type Mend = Box<dyn FnOnce(&Context) -> Result<Option<String>>>;

#[derive(Serialize)]
pub struct Finding {
    /// Stable, for programs.
    pub code: &'static str,
    pub what: String,
    pub why: String,
    /// What `--fix` does about it, or what a person has to do.
    pub remedy: String,
    pub fixable: bool,
    pub fixed: bool,
    #[serde(skip)]
    pub(super) mend: Option<Mend>,
}

impl Finding {
    /// Something a person has to see to.
    pub(in crate::flow) fn new(
        code: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            code,
            what: what.into(),
            why: why.into(),
            remedy: remedy.into(),
            fixable: false,
            fixed: false,
            mend: None,
        }
    }

    /// Something `--fix` sees to, as the remedy says.
    pub(super) fn mended_by(
        mut self,
        mend: impl FnOnce(&Context) -> Result<Option<String>> + 'static,
    ) -> Self {
        self.fixable = true;
        self.mend = Some(Box::new(mend));
        self
    }

    /// Takes back that it is fixed where a second look finds the same, or cannot look.
    pub(super) fn verify(&mut self, left: &Result<Vec<Finding>>) {
        if !self.fixed {
            return;
        }
        let why = match left {
            Ok(left) if left.iter().any(|finding| finding.code == self.code && finding.what == self.what) => {
                "it is still so".to_owned()
            }
            Ok(_) => return,
            Err(failure) => format!("the result could not be looked at: {}", failure.message),
        };
        self.fixed = false;
        self.remedy.push_str(&format!(" (tried, but {why})"));
    }

    /// A mend that fails leaves the finding standing and says why.
    pub(super) fn treat(&mut self, ctx: &Context) {
        let Some(mend) = self.mend.take() else { return };
        match mend(ctx) {
            Ok(told) => {
                self.fixed = true;
                if let Some(told) = told {
                    self.remedy.push_str(&format!(" ({told})"));
                }
            }
            Err(failure) => self.remedy.push_str(&format!(" (tried, and failed: {})", failure.message)),
        }
    }
}
