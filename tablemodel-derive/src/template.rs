//! The grammar of a key template: literals, `{field}`, `{field:codec}`, and `{{` and `}}` for braces.
//! Fields are not looked up here; a template is only cut and its literals checked.

use std::collections::BTreeSet;

use proc_macro2::Ident;
use syn::{ext::IdentExt, parse::Parser};

use crate::codec::Codec;

/// A piece of a template, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Part { field: String, codec: Codec },
}

/// Cuts a template into pieces; what cannot be read is reported and left out.
pub(crate) fn cut(text: &str, problems: &mut Vec<String>) -> Vec<Piece> {
    let mut cutter = Cutter { pieces: Vec::new(), literal: String::new() };
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = if let Some(after) = rest.strip_prefix("{{") {
            cutter.literal.push('{');
            after
        } else if let Some(after) = rest.strip_prefix("}}") {
            cutter.literal.push('}');
            after
        } else if let Some(after) = rest.strip_prefix('{') {
            cutter.part(after, problems)
        } else {
            cutter.literal(next, problems);
            rest.get(next.len_utf8()..).unwrap_or_default()
        };
    }
    cutter.end_literal();
    check_literals(&cutter.pieces, problems);
    cutter.pieces
}

/// How many fields give a key, by names alone: of a template that cannot be read as a whole.
pub(crate) fn width(text: &str) -> usize {
    let text = text.replace("{{", "");
    let parts = text.split('{').skip(1).map(|part| part.split('}').next().unwrap_or_default());
    let fields = parts.filter_map(|part| match part.split_once(':') {
        Some((_, codec)) if codec.starts_with("shard") => None,
        Some((field, _)) => Some(field),
        None => Some(part),
    });
    fields.collect::<BTreeSet<_>>().len()
}

struct Cutter {
    pieces: Vec<Piece>,
    literal: String,
}

impl Cutter {
    fn literal(&mut self, next: char, problems: &mut Vec<String>) {
        match next {
            '}' => problems.push("`}` without `{`; for a brace in the key write `}}`".to_owned()),
            _ => self.literal.push(next),
        }
    }

    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            self.pieces.push(Piece::Literal(std::mem::take(&mut self.literal)));
        }
    }

    /// Reads `field}` or `field:codec}` and gives what follows.
    fn part<'a>(&mut self, after: &'a str, problems: &mut Vec<String>) -> &'a str {
        self.end_literal();
        let inside = after.split(['{', '}']).next().unwrap_or_default();
        let rest = after.get(inside.len()..).unwrap_or_default();
        let Some(rest) = rest.strip_prefix('}') else {
            problems.push(format!("`{{{inside}` has no closing `}}`"));
            return rest;
        };
        let (field, word) = match inside.split_once(':') {
            Some((field, word)) => (field, Some(word)),
            None => (inside, None),
        };
        match part(field, word) {
            Ok(piece) => self.pieces.push(piece),
            Err(problem) => problems.push(format!("in `{{{inside}}}`: {problem}")),
        }
        rest
    }
}

fn part(field: &str, word: Option<&str>) -> Result<Piece, String> {
    let name = field.strip_prefix("r#").unwrap_or(field);
    if name.trim().is_empty() {
        return Err("the field's name is missing".to_owned());
    }
    if !is_name(name) {
        return Err(match field.trim() {
            bare if bare != field && is_name(bare) => format!("write `{bare}` without spaces"),
            _ => format!("`{field}` is not a field's name; write `{{field}}` or `{{field:codec}}`"),
        });
    }
    let codec = word.map_or(Ok(Codec::Plain), Codec::parse)?;
    Ok(Piece::Part { field: as_ident(name), codec })
}

/// The name as the compiler has it in an identifier, in one form of Unicode.
fn as_ident(name: &str) -> String {
    let ident = (!name.is_ascii()).then(|| Ident::parse_any.parse_str(name).ok()).flatten();
    ident.map_or_else(|| name.to_owned(), |ident| ident.to_string())
}

/// As far as its letters show it: beyond ASCII names hold other characters too, and fields are looked up.
fn is_name(name: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || !(c.is_ascii() || c.is_whitespace());
    name.chars().all(is_of_name) && !name.starts_with(|c: char| c.is_numeric())
}

fn check_literals(pieces: &[Piece], problems: &mut Vec<String>) {
    for piece in pieces {
        let Piece::Literal(text) = piece else { continue };
        if let Some(bad) = text.chars().find(|c| is_illegal(*c)) {
            problems.push(format!("the literal `{text}` holds {bad:?}, which no key may hold; use `_`, `-` or `!`"));
        }
        if text.contains("~~") {
            problems.push(format!("the literal `{text}` holds `~~`, which is reserved for the framework's own rows"));
        }
    }
    if let [Piece::Literal(first), Piece::Part { .. }, ..] = pieces
        && first == "~"
    {
        problems.push("a key may not begin with a lone `~`: a text after it could make `~~`, which is reserved".into());
    }
}

/// What the service, or a store's condition on keys, refuses; and the space, which sets apart rows of one entity.
fn is_illegal(c: char) -> bool {
    c.is_control() || matches!(c, ' ' | '/' | '\\' | '#' | '?' | '%' | '\'')
}

#[cfg(test)]
mod tests {
    use super::{Codec, Piece, cut, width};

    fn good(text: &str) -> Vec<Piece> {
        let mut problems = Vec::new();
        let pieces = cut(text, &mut problems);
        assert_eq!(problems, Vec::<String>::new());
        pieces
    }

    fn bad(text: &str) -> String {
        let mut problems = Vec::new();
        cut(text, &mut problems);
        problems.join("; ")
    }

    #[test]
    fn a_template_is_literals_and_parts_in_order() {
        let id = Piece::Part { field: "id".into(), codec: Codec::Width(6) };
        let year = Piece::Part { field: "year".into(), codec: Codec::Plain };
        assert_eq!(
            good("empid_{id:06}_{year}"),
            [Piece::Literal("empid_".into()), id, Piece::Literal("_".into()), year]
        );
        assert_eq!(good("{{a}}"), [Piece::Literal("{a}".into())]);
        for name in ["größe", "हिन्दी", "l·l"] {
            assert_eq!(good(&format!("{{{name}}}")), [Piece::Part { field: name.into(), codec: Codec::Plain }]);
        }
        assert_eq!(good("{r#type}"), [Piece::Part { field: "type".into(), codec: Codec::Plain }]);
        assert_eq!(good(""), []);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert_eq!(bad("{id"), "`{id` has no closing `}`");
        assert_eq!(bad("{id_{name}"), "`{id_` has no closing `}`");
        assert!(bad("{id_{name:x}").starts_with("`{id_` has no closing `}`; in `{name:x}`: unknown codec `x`"));
        assert_eq!(bad("{ id :06}"), "in `{ id :06}`: write `id` without spaces");
        assert_eq!(bad("{ }"), "in `{ }`: the field's name is missing");
        assert_eq!(bad("id}"), "`}` without `{`; for a brace in the key write `}}`");
        assert_eq!(bad("{}"), "in `{}`: the field's name is missing");
        assert_eq!(bad("{a b}"), "in `{a b}`: `a b` is not a field's name; write `{field}` or `{field:codec}`");
        assert!(bad("{id:dsc}").contains("did you mean `desc`?"));
        assert!(bad("{a:x}{b:y}").matches("unknown codec").count() == 2, "all at once");
    }

    #[test]
    fn a_width_counts_fields_and_no_shards_or_braces() {
        assert_eq!(width("{{x}}_{a}_{b:dsc}_{a:shard(3)}_{a:06}_{c"), 3);
        assert_eq!(width("all"), 0);
    }

    #[test]
    fn literals_are_legal_in_every_store() {
        for text in ["a b_{x}", "a/{x}", "{x}#", "{x}\u{7f}", "{x}\u{9f}", "a'{x}"] {
            assert!(bad(text).contains("which no key may hold"), "{text}");
        }
        assert!(
            bad("~~{x}").contains("reserved") && bad("a~~{x}").contains("reserved") && bad("~{x}").contains("lone")
        );
        assert_eq!(good("~a{x}").len(), 2);
    }
}
