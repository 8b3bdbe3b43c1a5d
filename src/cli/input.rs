//! Texts from the command line: as they stand, from `@file`, or from standard input with `-`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;

use serde::de::DeserializeOwned;

use crate::flow::{ErrorCode, Failure};
use crate::wire::{Limits, read_foreign};

/// Larger inputs are refused before they fill the memory.
const LARGEST_INPUT: u64 = 16 * 1024 * 1024;

/// Reads inputs and keeps them for the digest of a request: a repeated request must have the same inputs.
#[derive(Default)]
pub struct Input {
    taken: RefCell<Vec<u8>>,
    stdin: RefCell<Option<Vec<u8>>>,
}

impl Input {
    /// The text that `given` stands for.
    pub fn text(&self, given: &str) -> Result<String, Failure> {
        let bytes = match given {
            "-" => self.stdin()?,
            _ => match given.strip_prefix('@') {
                Some(path) => self.file(path)?,
                None => {
                    if given.contains('\0') {
                        return Err(Failure::usage("a text must not contain a NUL byte"));
                    }
                    return Ok(given.to_owned());
                }
            },
        };
        let text = String::from_utf8(bytes).map_err(|_| unusable("the text is not valid UTF-8"))?;
        if text.contains('\0') {
            return Err(unusable("the text contains a NUL byte"));
        }
        Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
    }

    pub fn texts(&self, given: &[String]) -> Result<Vec<String>, Failure> {
        given.iter().map(|text| self.text(text)).collect()
    }

    /// Values by name, each given as `KEY=VALUE`.
    pub fn pairs(&self, given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
        let pair = |pair: &String| {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| Failure::usage(format!("`{pair}` is not KEY=VALUE")))?;
            Ok((key.to_owned(), self.text(value)?))
        };
        given.iter().map(pair).collect()
    }

    /// A value as YAML or JSON, from a file, or from standard input with `-`.
    pub fn value<T: DeserializeOwned>(&self, given: &str) -> Result<T, Failure> {
        Ok(read_foreign(&self.document(given)?, Limits::default())?)
    }

    /// A whole document from a file, or standard input with `-`.
    pub fn document(&self, given: &str) -> Result<Vec<u8>, Failure> {
        if given == "-" { self.stdin() } else { self.file(given.strip_prefix('@').unwrap_or(given)) }
    }

    /// Everything that was read, for the digest of a request.
    pub fn taken(&self) -> Vec<u8> {
        self.taken.borrow().clone()
    }

    fn stdin(&self) -> Result<Vec<u8>, Failure> {
        if let Some(bytes) = self.stdin.borrow().as_ref() {
            return Ok(bytes.clone());
        }
        let bytes = read_bounded("standard input", std::io::stdin().lock())?;
        self.taken.borrow_mut().extend_from_slice(&bytes);
        *self.stdin.borrow_mut() = Some(bytes.clone());
        Ok(bytes)
    }

    fn file(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let file =
            std::fs::File::open(path).map_err(|error| unusable(format!("cannot read {path}: {error}")))?;
        let bytes = read_bounded(path, file)?;
        self.taken.borrow_mut().extend_from_slice(&bytes);
        Ok(bytes)
    }
}

fn read_bounded(name: &str, reader: impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = reader.take(LARGEST_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| unusable(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > LARGEST_INPUT {
        return Err(unusable(format!("{name} is larger than {LARGEST_INPUT} bytes")));
    }
    Ok(bytes)
}

fn unusable(why: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::UsageInput, why)
}
