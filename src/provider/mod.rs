//! AGENT COMMANDS: how each is started, what of the environment it gets, and what its output tells.

mod invocation;
mod secrets;
mod usage;

use std::collections::BTreeMap;

use crate::policy::ProjectConfig;
use crate::policy::provider::ProviderEntry;

pub use invocation::{Invocation, Job, environment, invocation};
pub use secrets::{Redactor, secret_values};
pub use usage::{Meter, Usage};

/// Every agent command there is: the built-in ones, and those of the project.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: BTreeMap<String, ProviderEntry>,
}

impl Catalog {
    pub fn new(config: &ProjectConfig) -> Self {
        Self { entries: config.providers.clone() }
    }

    pub fn entry(&self, name: &str) -> Option<&ProviderEntry> {
        self.entries.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}
