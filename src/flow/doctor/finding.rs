//! One problem, and how it is fixed.

use crate::flow::prelude::*;

/// Fixes one problem; returns a remark beyond the remedy.
type Fix = Box<dyn FnOnce(&Context) -> Result<Option<String>>>;

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
    pub(super) fix: Option<Fix>,
}

impl Finding {
    /// A problem that a person has to fix.
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
            fix: None,
        }
    }

    /// A problem that `--fix` fixes, as the remedy says.
    pub(super) fn fixed_by(mut self, fix: impl FnOnce(&Context) -> Result<Option<String>> + 'static) -> Self {
        self.fixable = true;
        self.fix = Some(Box::new(fix));
        self
    }

    /// Marks it as not fixed if a second examination finds the same, or fails.
    pub(super) fn verify(&mut self, left: &Result<Vec<Finding>>) {
        if !self.fixed {
            return;
        }
        let why = match left {
            Ok(left) if left.iter().any(|finding| finding.code == self.code && finding.what == self.what) => {
                "the problem is still there".to_owned()
            }
            Ok(_) => return,
            Err(failure) => format!("the result could not be checked: {}", failure.message),
        };
        self.fixed = false;
        self.remedy.push_str(&format!(" (tried, but {why})"));
    }

    /// A failed fix leaves the finding in place and says why.
    pub(super) fn treat(&mut self, ctx: &Context) {
        let Some(fix) = self.fix.take() else { return };
        match fix(ctx) {
            Ok(remark) => {
                self.fixed = true;
                if let Some(remark) = remark {
                    self.remedy.push_str(&format!(" ({remark})"));
                }
            }
            Err(failure) => self.remedy.push_str(&format!(" (tried, and failed: {})", failure.message)),
        }
    }
}
