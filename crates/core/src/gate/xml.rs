//! Elements and attributes of an XML report, in one pass.
//!
//! Reports come from the code under test and may be hostile. This reader takes time and memory in proportion to the
//! bytes it is given: nothing is expanded beyond the five entities of XML itself and character numbers, a document type
//! may be named and is not looked at, and one that declares something is refused. Text is passed over.

/// The deepest nesting of elements.
const DEEPEST: usize = 64;
const MOST_ATTRIBUTES: usize = 256;

/// An element that begins.
pub struct Element<'x> {
    /// Without the prefix of its namespace.
    pub name: &'x str,
    attributes: Vec<(&'x str, &'x str)>,
}

impl Element<'_> {
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, raw)| unescaped(raw))
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        super::lines::number(self.attribute(name)?.trim())
    }
}

/// Walks through a document. `visit` receives every element and the names of its ancestors, outermost first.
pub fn walk<'x>(bytes: &'x [u8], mut visit: impl FnMut(&Element<'x>, &[&'x str])) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut open: Vec<&str> = Vec::new();
    let mut begun = false;
    loop {
        let at = rest.find('<').unwrap_or(rest.len());
        if open.is_empty() && !rest[..at].trim().is_empty() {
            return Err("there is text outside its root element".to_owned());
        }
        rest = &rest[at..];
        if rest.is_empty() {
            break;
        }
        if let Some(inside) = rest.strip_prefix("<!--") {
            rest = after(inside, "-->")?;
        } else if let Some(inside) = rest.strip_prefix("<![CDATA[") {
            rest = after(inside, "]]>")?;
        } else if let Some(inside) = rest.strip_prefix("<?") {
            rest = after(inside, "?>")?;
        } else if let Some(inside) = rest.strip_prefix("<!DOCTYPE") {
            if begun {
                return Err("there is a document type inside it".to_owned());
            }
            // Declarations contain tags, so they are searched first.
            let near = inside.find('>').unwrap_or(inside.len());
            if inside[..near].contains('[') || tag(inside)?.0.contains('[') {
                return Err("it declares its own document type".to_owned());
            }
            rest = tag(inside)?.1;
        } else if let Some(inside) = rest.strip_prefix("</") {
            let (name, left) = tag(inside)?;
            let name = local(name.trim_end());
            if open.pop() != Some(name) {
                return Err(format!("`{name}` ends without a beginning"));
            }
            rest = left;
        } else {
            if begun && open.is_empty() {
                return Err("it has more than one root element".to_owned());
            }
            let (inside, left) = tag(&rest[1..])?;
            let (inside, empty) = inside.strip_suffix('/').map_or((inside, false), |inside| (inside, true));
            let element = element(inside)?;
            visit(&element, &open);
            if !empty {
                open.push(element.name);
                if open.len() > DEEPEST {
                    return Err(format!("elements nest more than {DEEPEST} levels deep"));
                }
            }
            begun = true;
            rest = left;
        }
    }
    match open.last() {
        Some(name) => Err(format!("it ends inside `{name}`")),
        None if begun => Ok(()),
        None => Err("it has no element".to_owned()),
    }
}

fn after<'x>(text: &'x str, end: &str) -> Result<&'x str, String> {
    text.split_once(end).map(|(_, rest)| rest).ok_or_else(|| format!("it ends before `{end}`"))
}

/// The text up to the `>` outside quotation marks, and the text after it.
fn tag(text: &str) -> Result<(&str, &str), String> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (_, Some(mark)) if byte == mark => quote = None,
            (_, Some(_)) => {}
            (b'"' | b'\'', None) => quote = Some(byte),
            (b'>', None) => return Ok((&text[..at], &text[at + 1..])),
            (b'<', None) => return Err("there is a `<` inside a tag".to_owned()),
            _ => {}
        }
    }
    Err("it ends inside a tag".to_owned())
}

fn element(inside: &str) -> Result<Element<'_>, String> {
    let end = inside.find(|c: char| c.is_ascii_whitespace()).unwrap_or(inside.len());
    let (name, mut rest) = inside.split_at(end);
    let name = local(name);
    let named = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'))
    };
    if !named(name) {
        return Err("a tag has no name".to_owned());
    }
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(Element { name, attributes });
        }
        let wrong = || format!("an attribute of `{name}` is malformed");
        let (key, value) = rest.split_once('=').ok_or_else(wrong)?;
        let value = value.trim_start();
        let mark = value.chars().next().filter(|mark| matches!(mark, '"' | '\'')).ok_or_else(wrong)?;
        let (value, left) = value[1..].split_once(mark).ok_or_else(wrong)?;
        if !named(key.trim_end()) {
            return Err(wrong());
        }
        attributes.push((key.trim_end(), value));
        if attributes.len() > MOST_ATTRIBUTES {
            return Err(format!("`{name}` has more than {MOST_ATTRIBUTES} attributes"));
        }
        rest = left;
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn unescaped(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        // Searched only close by: many `&` without an end must not cause many searches of the rest.
        let end = rest.bytes().take(9).position(|byte| byte == b';');
        match end.and_then(|end| character(&rest[..end]).map(|c| (c, &rest[end + 1..]))) {
            Some((c, left)) => {
                out.push(c);
                rest = left;
            }
            // An unknown entity stays as it is.
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Result<Vec<String>, String> {
        let mut seen = Vec::new();
        walk(text.as_bytes(), |element, above| {
            let place: Vec<&str> = above.iter().copied().chain([element.name]).collect();
            let name = element.attribute("n").map_or(String::new(), |name| format!("={name}"));
            seen.push(format!("{}{name}", place.join("/")));
        })?;
        Ok(seen)
    }

    #[test]
    fn xml_elements_are_found_by_path() {
        let text = "\u{feff}<?xml version=\"1.0\"?>\n<!DOCTYPE a SYSTEM \"http://x/a>b.dtd\">\n<!-- <no> -->\n<x:a n='1 &lt; 2 &#65;&#x42; &unknown; & >'>\n text &amp; more <b n = \"it's\"/><![CDATA[</a><c>]]><d></d >\n</x:a>\n<?end?>\n";
        assert_eq!(seen(text).unwrap(), ["a=1 < 2 AB &unknown; & >", "a/b=it's", "a/d"]);
    }

    #[test]
    fn malformed_xml_is_reported() {
        for (text, why) in [
            ("", "it has no element"),
            ("words", "there is text outside its root element"),
            ("<a>", "it ends inside `a`"),
            ("<a><b></a></b>", "`a` ends without a beginning"),
            ("</a>", "`a` ends without a beginning"),
            ("<a/><b/>", "it has more than one root element"),
            ("<a/>words", "there is text outside its root element"),
            ("<a", "it ends inside a tag"),
            ("<a b=\"1", "it ends inside a tag"),
            ("<a b=1/>", "an attribute of `a` is malformed"),
            ("<a b/>", "an attribute of `a` is malformed"),
            ("<a <b/>", "there is a `<` inside a tag"),
            ("<>", "a tag has no name"),
            ("<a><!-- </a>", "it ends before `-->`"),
            ("<a><![CDATA[</a>", "it ends before `]]>`"),
            ("<!DOCTYPE a [<!ENTITY b \"c\">]><a/>", "it declares its own document type"),
            ("<!DOCTYPE a [ ]><a/>", "it declares its own document type"),
            ("<a><!DOCTYPE a><b/></a>", "there is a document type inside it"),
        ] {
            assert_eq!(seen(text).unwrap_err(), why, "{text}");
        }
        assert!(walk(b"<a>\xff</a>", |_, _| {}).is_err());
    }

    #[test]
    fn bombs_are_refused_or_passed_through_in_time() {
        assert!(seen(&"<a>".repeat(1_000_000)).unwrap_err().contains("deep"));
        let attributes: String = (0..100_000).map(|number| format!(" a{number}=''")).collect();
        assert!(seen(&format!("<a{attributes}/>")).unwrap_err().contains("attributes"));
        let nested = format!("{}{}", "<a>".repeat(60), "</a>".repeat(60));
        assert_eq!(seen(&format!("<r>{}</r>", nested.repeat(1000))).unwrap().len(), 60_001);
        assert!(seen(&format!("<a b='{}", "&".repeat(1_000_000))).is_err());
        let ampersands = format!("<a n='{}'/>", "&".repeat(200_000));
        assert_eq!(seen(&ampersands).unwrap()[0].len(), 200_002);
        let unclosed = format!("<a>{}", "<!--".repeat(200_000));
        assert!(seen(&unclosed).is_err());
    }
}
