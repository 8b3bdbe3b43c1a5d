//! What nearly every file of this directory needs.

pub(super) use std::collections::{BTreeMap, BTreeSet};
pub(super) use std::ffi::{OsStr, OsString};
pub(super) use std::os::unix::ffi::OsStrExt;
pub(super) use std::path::{Path, PathBuf};
pub(super) use std::{fs, io};

pub(super) use thiserror::Error;

pub(super) use super::command::{Git, GitError, failed, lossy, records, succeeded};
pub(super) use super::commit::parse_id;
pub(super) use super::query::{Query, QueryError};
pub(super) use super::repo::{Repo, read_git_file, read_link_file};
pub(super) use crate::board::CommitId;
pub(super) use crate::host::{plain_text, read_plain};
