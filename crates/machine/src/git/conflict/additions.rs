//! Both sides added something at the same place, and the additions are independent.
//!
//! Line merging knows no syntax: what one side "inserted" may be the end of one function and the start of the next.
//! So each addition must be complete in itself (brackets closed, no line further out than its first), must consist of
//! things whose order does not matter (definitions, fields, keys, prose), and must not share a line or a name with
//! the other.

use super::{Sides, imports, language::Language};

/// One added thing.
struct Item {
    name: String,
    /// It is in a list, where it must end with a comma.
    listed: bool,
}

impl Item {
    fn new(name: &str, listed: bool) -> Self {
        Self { name: name.to_owned(), listed }
    }
}

/// Keeps both additions, ours first.
pub(super) fn merge(language: Language, sides: &Sides<'_>, before: &str) -> Result<String, String> {
    if !sides.base.is_empty() {
        return Err("both sides changed the same lines".to_owned());
    }
    if sides.ours.trim().is_empty() || sides.theirs.trim().is_empty() {
        return Err("only one side added something".to_owned());
    }
    if language == Language::Unknown {
        return Err("additions to this kind of file may depend on their order".to_owned());
    }
    if let Some(line) = shared_line(language, sides) {
        return Err(format!("both sides added `{line}`"));
    }
    let (ours, theirs) = (items(language, sides.ours)?, items(language, sides.theirs)?);
    if indent_of_first(sides.ours) != indent_of_first(sides.theirs) && language != Language::Prose {
        return Err("the additions belong to different blocks".to_owned());
    }
    if language == Language::Toml && has_table(sides.ours) && !has_table_first(sides.theirs) {
        return Err("a key of one side would fall into a table of the other".to_owned());
    }
    let same = |item: &&Item| theirs.iter().any(|other| other.name == item.name);
    if let Some(item) = ours.iter().find(same) {
        return Err(format!("both sides added `{}`", item.name));
    }
    for (items, other) in [(&ours, sides.theirs), (&theirs, sides.ours)] {
        if let Some(item) = items.iter().find(|item| mentions(other, &item.name)) {
            return Err(format!("both additions mention `{}`", item.name));
        }
    }
    if ours.iter().chain(&theirs).any(|item| item.listed)
        && open_brackets(before).is_none_or(|open| open.last() != Some(&'{'))
    {
        return Err("the additions may be arguments, whose order matters".to_owned());
    }
    for (items, text) in [(&ours, sides.ours), (&theirs, sides.theirs)] {
        if items.iter().any(|item| item.listed) && !text.trim_end().ends_with([',', ';']) {
            return Err("the last entry of an addition has no comma".to_owned());
        }
    }
    let end = if sides.ours.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{}{end}{}", sides.ours, sides.theirs))
}

/// A meaningful line that both sides added: perhaps the same thing, done twice.
fn shared_line<'a>(language: Language, sides: &Sides<'a>) -> Option<&'a str> {
    let says_something =
        |line: &&str| line.chars().any(char::is_alphanumeric) && !language.is_attribute(line);
    let theirs: Vec<&str> = sides.theirs.lines().map(str::trim).filter(says_something).collect();
    sides.ours.lines().map(str::trim).filter(says_something).find(|line| theirs.contains(line))
}

/// The items of an addition, if it is complete and every item is recognized.
fn items(language: Language, text: &str) -> Result<Vec<Item>, String> {
    if language == Language::Prose {
        return prose(text);
    }
    if open_brackets(text) != Some(Vec::new()) {
        return Err("an addition is not complete in itself".to_owned());
    }
    let indent = indent_of_first(text);
    let mut items = Vec::new();
    let mut attribute_open = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let depth = indent_of(line);
        if depth < indent {
            return Err("an addition is not complete in itself".to_owned());
        }
        if depth > indent {
            continue;
        }
        attribute_open = language.is_attribute(line);
        if attribute_open || language.is_comment(line) || closes(line) {
            continue;
        }
        let unknown = || format!("the order of `{}` may matter", line.trim());
        match imports::parse(language, line).filter(|_| language != Language::Go) {
            Some(import) if import.opaque => return Err(unknown()),
            Some(import) => items.extend(import.names.into_iter().map(|name| Item { name, listed: false })),
            None => items.push(item(language, line.trim(), indent).ok_or_else(unknown)?),
        }
    }
    if attribute_open || language == Language::Python && text.trim_end().ends_with(':') {
        return Err("an addition is not complete in itself".to_owned());
    }
    Ok(items)
}

/// Prose lines may have any order, but not a numbered list, and not half a code block.
fn prose(text: &str) -> Result<Vec<Item>, String> {
    if text.matches("```").count() % 2 == 1 {
        return Err("an addition is not complete in itself".to_owned());
    }
    let numbered = |line: &str| {
        let digits = line.chars().take_while(char::is_ascii_digit).count();
        digits > 0 && line[digits..].starts_with(['.', ')'])
    };
    if text.lines().any(|line| numbered(line.trim_start())) {
        return Err("the order of a numbered list matters".to_owned());
    }
    Ok(Vec::new())
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn indent_of_first(text: &str) -> usize {
    text.lines().find(|line| !line.trim().is_empty()).map_or(0, indent_of)
}

fn closes(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(['}', ')', ']']) || line == "where"
}

/// The brackets that a text leaves open, outermost first; none if it closes a bracket that was not open.
///
/// Brackets inside strings count too: where that misleads, the rules give up.
fn open_brackets(text: &str) -> Option<Vec<char>> {
    let mut open = Vec::new();
    for c in text.chars() {
        let closed = |opener| open.last() == Some(&opener);
        match c {
            '(' | '[' | '{' => open.push(c),
            ')' if closed('(') => drop(open.pop()),
            ']' if closed('[') => drop(open.pop()),
            '}' if closed('{') => drop(open.pop()),
            ')' | ']' | '}' => return None,
            _ => {}
        }
    }
    Some(open)
}

/// Words that may precede the keyword of a definition.
const MODIFIERS: &str = "\
    pub async unsafe export default public private protected internal final abstract override declare readonly \
    open inline virtual extern";

/// Recognizes a line that starts an item whose order among its neighbours does not matter.
fn item(language: Language, line: &str, indent: usize) -> Option<Item> {
    match language {
        Language::Toml | Language::Yaml | Language::Json => return key(language, line),
        Language::Shell => {
            let name = line.strip_prefix("function ").unwrap_or(line).split("()").next()?.trim();
            return (line.ends_with('{') && is_word(name)).then(|| Item::new(name, false));
        }
        _ => {}
    }
    let line = without_modifiers(line);
    definition(language, line, indent).or_else(|| entry(language, line, indent))
}

fn without_modifiers(mut line: &str) -> &str {
    loop {
        let word = word_at(line);
        if !MODIFIERS.split(' ').any(|modifier| modifier == word) {
            return line;
        }
        let mut rest = line[word.len()..].trim_start();
        if let Some(inner) = rest.strip_prefix('(').filter(|_| word == "pub") {
            rest = inner.split_once(')').map_or("", |(_, after)| after).trim_start();
        }
        if word == "extern" && rest.starts_with('"') {
            rest = rest[1..].split_once('"').map_or("", |(_, after)| after).trim_start();
        }
        line = rest;
    }
}

fn definition(language: Language, line: &str, indent: usize) -> Option<Item> {
    let keyword = word_at(line);
    let rest = line[keyword.len()..].trim_start();
    let plain = |name: &str| is_word(name).then(|| Item::new(name, false));
    match (language, keyword) {
        (Language::Rust, "const" | "static") if word_at(rest) == "fn" => {
            plain(word_at(rest[2..].trim_start()))
        }
        (
            Language::Rust,
            "const" | "static" | "fn" | "struct" | "enum" | "trait" | "union" | "mod" | "type",
        ) => plain(word_at(rest)),
        (Language::Rust, "impl") => Some(Item::new(line.trim_end_matches(['{', '}', ' ']), false)),
        (Language::Python, "def" | "class") => plain(word_at(rest)),
        (Language::Python, name) if indent == 0 && is_word(name) => {
            let (between, value) = rest.split_once('=')?;
            let is_assigned = between.is_empty() || between.starts_with(':');
            (is_assigned && !value.starts_with('=') && !value.contains('(')).then(|| plain(name)).flatten()
        }
        (Language::Go, "func") => match rest.strip_prefix('(') {
            Some(method) => {
                let (receiver, name) = method.split_once(')')?;
                let of = receiver.rsplit([' ', '*']).next()?;
                Some(Item::new(&format!("{of}.{}", word_at(name.trim_start())), false))
            }
            None => plain(word_at(rest)),
        },
        (Language::Go, "type") => plain(word_at(rest)),
        (Language::Script, "function" | "class" | "interface" | "namespace" | "enum" | "type") => {
            plain(word_at(rest.trim_start_matches('*').trim_start()))
        }
        (Language::Script, "const" | "let" | "var") if indent == 0 => plain(word_at(rest)),
        (Language::Script, "it" | "test" | "describe")
            if rest.starts_with("('") || rest.starts_with("(\"") =>
        {
            rest[2..].split(['\'', '"']).next().map(|title| Item::new(title, false))
        }
        (Language::Script, name) if indent > 0 && line.ends_with('{') && rest.starts_with('(') => {
            (!CONTROL.contains(&name)).then(|| plain(name)).flatten()
        }
        (
            Language::Braces,
            "class" | "struct" | "enum" | "interface" | "namespace" | "func" | "fun" | "function",
        ) => plain(word_at(rest)),
        (Language::Braces, first) if line.ends_with('{') && !CONTROL.contains(&first) => {
            let head = line.split('(').next().filter(|head| head.len() < line.len())?;
            plain(head.rsplit([' ', '*', '&']).next()?)
        }
        _ => None,
    }
}

const CONTROL: [&str; 12] =
    ["if", "else", "for", "while", "switch", "catch", "try", "do", "return", "match", "function", "with"];

/// A field, a key with its value, or a variant of an enum: a line of a list.
fn entry(language: Language, line: &str, indent: usize) -> Option<Item> {
    let name = word_at(line);
    let rest = line[name.len()..].trim_start();
    let goes_on = rest.ends_with([',', '{', '[', '(']);
    let is_type_member = language == Language::Script && rest.ends_with(';');
    if !is_word(name) || indent == 0 || !matches!(language, Language::Rust | Language::Script) {
        return None;
    }
    let field = rest.trim_start_matches('?').strip_prefix(':').is_some_and(|value| !value.starts_with(':'));
    if field && (goes_on || is_type_member) {
        return Some(Item::new(name, true));
    }
    let variant = language == Language::Rust
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && (rest == "," || (rest.starts_with(['(', '{']) && goes_on && !rest.contains("=>")));
    variant.then(|| Item::new(name, true))
}

fn key(language: Language, line: &str) -> Option<Item> {
    let named = |name: &str| {
        let name = name.trim().trim_matches('"');
        (!name.is_empty()).then(|| Item::new(name, language == Language::Json))
    };
    match language {
        Language::Toml if line.starts_with("[[") => None,
        Language::Toml if line.starts_with('[') => named(line.trim_matches(['[', ']'])),
        Language::Toml => named(line.split_once('=')?.0),
        Language::Yaml if line.starts_with(['-', '?', '&', '*', '{', '[', '!', '%']) => None,
        Language::Yaml => {
            let (name, value) = line.split_once(':')?;
            (value.is_empty() || value.starts_with(' ')).then(|| named(name)).flatten()
        }
        _ => {
            let (name, rest) = line.strip_prefix('"')?.split_once('"')?;
            rest.trim_start().starts_with(':').then(|| named(name)).flatten()
        }
    }
}

fn has_table(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with('['))
}

fn has_table_first(text: &str) -> bool {
    let meaningful = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.lines().map(str::trim).find(meaningful).is_some_and(|line| line.starts_with('['))
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_word_char) && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn word_at(text: &str) -> &str {
    let end = text.find(|c| !is_word_char(c)).unwrap_or(text.len());
    &text[..end]
}

/// Whether a text contains a name as a separate word.
fn mentions(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_word_char) && !after.is_some_and(is_word_char)
    })
}
