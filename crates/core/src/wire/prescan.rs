//! A look at foreign YAML before the general parser may see it.
//!
//! The parser's time grows with nesting times length (200 KB of brackets took minutes), and aliases multiply
//! what they repeat, so both must be stopped from outside. To tell a bracket from a bracket inside a text this
//! scan cuts the bytes into tokens as that parser (libyaml) does. Its rule of safety: where the two could
//! disagree, see more nesting rather than less, or refuse.

use std::ops::Range;

/// Why the bytes are refused, and on which line.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) line: usize,
    pub(super) message: String,
}

fn refused<T>(line: usize, message: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { line, message: message.into() })
}

/// Refuses characters that no text file should hold, or that readers disagree about.
///
/// NEL, LS and PS end a line for libyaml and for no other parser; a lone CR likewise.
pub(super) fn check_characters(text: &str) -> Result<(), Refused> {
    let mut line = 1;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => line += 1,
            '\t' => {}
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => return refused(line, "a carriage return without a line feed"),
            '\u{feff}' => return refused(line, "a byte order mark (U+FEFF)"),
            '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                return refused(line, format!("the control character U+{:04X}", u32::from(c)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses JSON nested deeper than `depth`.
pub(super) fn check_json(text: &str, depth: usize) -> Result<(), Refused> {
    let (mut line, mut open) = (1, 0_usize);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\n' => line += 1,
            b'[' | b'{' => {
                open += 1;
                if open > depth {
                    return refused(line, too_deep(depth));
                }
            }
            b']' | b'}' => open = open.saturating_sub(1),
            b'"' => {
                while let Some(inner) = bytes.next() {
                    match inner {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        b'\n' => line += 1,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses YAML of more than `tokens` tokens, with nesting deeper than `depth`, references, tags, directives or a
/// second document. Returns the positions of its comments' texts.
pub(super) fn check_yaml(text: &str, depth: usize, tokens: usize) -> Result<Vec<Range<usize>>, Refused> {
    let mut scan = Scan {
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
        column: 0,
        depth,
        indents: Vec::new(),
        flow: 0,
        key: None,
        plain: None,
        started: false,
        content: false,
        comments: Vec::new(),
    };
    let mut left = tokens;
    while scan.next_token()? {
        if left == 0 {
            return scan.refuse(format!("it has more than {tokens} values and marks up to this line"));
        }
        left -= 1;
    }
    if scan.content { Ok(scan.comments) } else { refused(1, "the document is empty") }
}

fn too_deep(depth: usize) -> String {
    format!("it nests deeper than {depth} levels")
}

struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
    line: usize,
    /// In characters, as libyaml counts.
    column: usize,
    depth: usize,
    /// Columns of the enclosing block collections, rising.
    indents: Vec<usize>,
    flow: usize,
    /// Line and column of the last token in block context that a colon could turn into a key.
    key: Option<(usize, usize)>,
    /// The last token, if it was an unquoted scalar.
    plain: Option<&'t [u8]>,
    started: bool,
    content: bool,
    comments: Vec<Range<usize>>,
}

impl<'t> Scan<'t> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn is_space(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
    }

    fn is_break(&self) -> bool {
        matches!(self.peek(0), Some(b'\n' | b'\r'))
    }

    fn advance(&mut self) {
        match self.peek(0) {
            Some(b'\n') => {
                self.line += 1;
                self.column = 0;
            }
            Some(0x80..=0xbf) | None => {}
            Some(_) => self.column += 1,
        }
        self.at += 1;
    }

    /// Skips the rest of the line and its break.
    fn skip_line(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(length) => {
                self.at += length + 1;
                self.line += 1;
                self.column = 0;
            }
            None => self.at = self.bytes.len(),
        }
    }

    fn refuse<T>(&self, message: impl Into<String>) -> Result<T, Refused> {
        refused(self.line, message)
    }

    /// Stops in front of the next token; false at the end of the text.
    fn skip_to_token(&mut self) -> Result<bool, Refused> {
        let mut line_start = self.column == 0;
        loop {
            match self.peek(0) {
                None => return Ok(false),
                Some(b'\t') if line_start && self.flow == 0 => {
                    return self.refuse("a tab in the indentation");
                }
                Some(b'\n') => line_start = true,
                Some(b' ' | b'\t' | b'\r') => {}
                Some(b'#') => {
                    let words = self.at + 1;
                    self.skip_line();
                    // The end of its line stays.
                    let ended = self.bytes.get(self.at - 1) == Some(&b'\n');
                    self.comments.push(words..self.at - usize::from(ended));
                    line_start = true;
                    continue;
                }
                Some(_) => return Ok(true),
            }
            self.advance();
        }
    }

    /// The column of the innermost block collection, plus one; 0 outside of all.
    fn inner_indent(&self) -> usize {
        self.indents.last().map_or(0, |column| column + 1)
    }

    fn open_block(&mut self, column: usize) -> Result<(), Refused> {
        if self.flow == 0 && self.inner_indent() <= column {
            self.indents.push(column);
        }
        self.check_depth()
    }

    fn check_depth(&self) -> Result<(), Refused> {
        if self.indents.len() + self.flow > self.depth { self.refuse(too_deep(self.depth)) } else { Ok(()) }
    }

    fn at_marker(&self) -> bool {
        self.column == 0
            && matches!(self.bytes.get(self.at..self.at + 3), Some(b"---" | b"..."))
            && self.is_space(3)
    }

    fn next_token(&mut self) -> Result<bool, Refused> {
        if !self.skip_to_token()? {
            return Ok(false);
        }
        if self.flow == 0 {
            while self.indents.last().is_some_and(|column| *column > self.column) {
                self.indents.pop();
            }
        }
        let Some(byte) = self.peek(0) else { return Ok(false) };
        if self.column == 0 && byte == b'%' {
            return self.refuse("a `%` directive");
        }
        if self.at_marker() {
            return self.marker(byte);
        }
        self.content = true;
        let plain = self.plain.take();
        match byte {
            b'[' | b'{' => {
                self.note_key();
                self.flow += 1;
                self.check_depth()?;
            }
            b']' | b'}' if self.flow == 0 => return self.refuse("a closing bracket without an opening one"),
            b']' | b'}' => self.flow -= 1,
            b',' => {}
            b'-' if self.is_space(1) => {
                self.key = None;
                self.open_block(self.column)?;
            }
            b'?' if self.flow > 0 || self.is_space(1) => return self.refuse("a `?` key; write `key: value`"),
            b':' if self.flow > 0 || self.is_space(1) => {
                if plain == Some(b"<<") {
                    return self.refuse("a merge key (`<<`)");
                }
                let column = match self.key.take() {
                    Some((line, column)) if line == self.line => column,
                    _ => self.column,
                };
                self.open_block(column)?;
            }
            b'*' => return self.refuse("an alias (`*…`); put quotes around a text that starts with `*`"),
            b'&' => return self.refuse("an anchor (`&…`); put quotes around a text that starts with `&`"),
            b'!' => return self.refuse("a tag (`!…`); put quotes around a text that starts with `!`"),
            b'|' | b'>' if self.flow == 0 => return self.block_scalar().map(|()| true),
            b'\'' => return self.single_quoted().map(|()| true),
            b'"' => return self.double_quoted().map(|()| true),
            b'%' | b'@' | b'`' | b'|' | b'>' => {
                let c = char::from(byte);
                return self.refuse(format!("a value starts with `{c}`; put quotes around it"));
            }
            _ => return self.plain_scalar().map(|()| true),
        }
        self.advance();
        Ok(true)
    }

    fn note_key(&mut self) {
        if self.flow == 0 {
            self.key = Some((self.line, self.column));
        }
    }

    fn marker(&mut self, byte: u8) -> Result<bool, Refused> {
        if byte == b'.' || self.started || self.content {
            return self.refuse("a second document or an end-of-document mark");
        }
        self.started = true;
        for _ in 0..3 {
            self.advance();
        }
        Ok(true)
    }

    fn single_quoted(&mut self) -> Result<(), Refused> {
        self.note_key();
        let line = self.line;
        self.advance();
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) => return refused(line, "a quoted text without its closing quote"),
                (Some(b'\''), Some(b'\'')) => self.advance(),
                (Some(b'\''), _) => break,
                _ => {}
            }
            self.advance();
        }
        self.advance();
        Ok(())
    }

    fn double_quoted(&mut self) -> Result<(), Refused> {
        self.note_key();
        let line = self.line;
        self.advance();
        loop {
            match self.peek(0) {
                None => return refused(line, "a quoted text without its closing quote"),
                Some(b'\\') => self.advance(),
                Some(b'"') => break,
                _ => {}
            }
            self.advance();
        }
        self.advance();
        Ok(())
    }

    fn plain_scalar(&mut self) -> Result<(), Refused> {
        self.note_key();
        let (start, line, indent) = (self.at, self.line, self.inner_indent());
        let mut end = start;
        loop {
            if self.at_marker() || self.peek(0) == Some(b'#') {
                break;
            }
            while !self.is_space(0) {
                match self.peek(0) {
                    Some(b':') if self.is_space(1) => break,
                    Some(b':')
                        if self.flow > 0
                            && matches!(self.peek(1), Some(b',' | b'?' | b'[' | b']' | b'{' | b'}')) =>
                    {
                        return self.refuse("a colon inside an unquoted text");
                    }
                    Some(b',' | b'[' | b']' | b'{' | b'}') if self.flow > 0 => break,
                    _ => self.advance(),
                }
                end = self.at;
            }
            if !self.is_space(0) || self.peek(0).is_none() {
                break;
            }
            while self.peek(0).is_some() && self.is_space(0) {
                self.advance();
            }
            if self.flow == 0 && self.column < indent {
                break;
            }
        }
        let text = &self.bytes[start..end];
        self.plain = Some(text);
        match ambiguous_number(text) {
            Some(why) => refused(line, format!("`{}` {why}", String::from_utf8_lossy(text))),
            None => Ok(()),
        }
    }

    fn block_scalar(&mut self) -> Result<(), Refused> {
        self.advance();
        let mut wanted = 0;
        while let Some(byte @ (b'+' | b'-' | b'0'..=b'9')) = self.peek(0) {
            if byte.is_ascii_digit() {
                wanted = self.inner_indent().saturating_sub(1) + usize::from(byte - b'0');
            }
            self.advance();
        }
        while matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.advance();
        }
        if self.peek(0).is_some_and(|byte| byte != b'#') && !self.is_break() {
            return self.refuse("text beside `|` or `>`; it belongs on the next line");
        }
        self.skip_line();
        let mut widest = 0;
        loop {
            while self.peek(0) == Some(b' ') && (wanted == 0 || self.column < wanted) {
                self.advance();
            }
            widest = widest.max(self.column);
            if self.is_break() {
                self.skip_line();
                continue;
            }
            if self.peek(0) == Some(b'\t') && (wanted == 0 || self.column < wanted) {
                return self.refuse("a tab in the indentation");
            }
            if wanted == 0 {
                wanted = widest.max(self.inner_indent()).max(1);
            }
            if self.peek(0).is_none() || self.column != wanted {
                return Ok(());
            }
            self.skip_line();
        }
    }
}

/// Why an unquoted scalar would be read differently by different readers.
fn ambiguous_number(text: &[u8]) -> Option<&'static str> {
    let unsigned = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let all = |digits: &[u8], radix| {
        !digits.is_empty() && digits.iter().all(|digit| char::from(*digit).is_digit(radix))
    };
    let other_base = match unsigned {
        [b'0', b'x', digits @ ..] => all(digits, 16),
        [b'0', b'o', digits @ ..] => all(digits, 8),
        [b'0', b'b', digits @ ..] => all(digits, 2),
        [b'0', digits @ ..] => all(digits, 10),
        _ => false,
    };
    if other_base {
        return Some(
            "is read differently by different readers; write a decimal number, or quotes for a text",
        );
    }
    let text = std::str::from_utf8(text).ok()?;
    let fits = text.parse::<u64>().is_ok() || text.parse::<i64>().is_ok();
    (all(unsigned, 10) && !fits).then_some("is too large a number; put quotes around a text")
}
