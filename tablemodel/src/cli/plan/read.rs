//! A plan from its text, as far as it is to be written anew.
//! That nobody edited it is known by then: the lock has its fingerprint.

/// What a plan says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Written {
    /// Each entity as it was, if it was, and as it became: discriminator and fingerprint.
    pub(in crate::cli) entities: Vec<(Option<String>, String)>,
    /// The steps: entity, code, change.
    pub(in crate::cli) steps: Vec<[String; 3]>,
    /// Codes that were allowed, and why.
    pub(in crate::cli) allowed: Vec<(String, String)>,
}

impl Written {
    /// Reads what [`Plan::text`](super::Plan::text) wrote.
    pub(in crate::cli) fn parse(text: &str) -> Self {
        let (mut plan, mut table) = (Self::default(), "");
        for line in text.lines() {
            if line.starts_with("[[") {
                table = line;
                plan.begin(table);
            } else if let Some((key, value)) = line.split_once(" = ") {
                plan.take(table, key, unquoted(value));
            }
        }
        plan
    }

    fn begin(&mut self, table: &str) {
        match table {
            "[[entity]]" => self.entities.push(Default::default()),
            "[[step]]" => self.steps.push(Default::default()),
            "[[allow]]" => self.allowed.push(Default::default()),
            _ => {}
        }
    }

    fn take(&mut self, table: &str, key: &str, value: String) {
        match (table, self.entities.last_mut(), self.steps.last_mut(), self.allowed.last_mut()) {
            ("[[entity]]", Some((from, _)), ..) if key == "from" => *from = Some(value),
            ("[[entity]]", Some((_, to)), ..) => *to = value,
            ("[[step]]", _, Some([entity, code, change]), _) => match key {
                "entity" => *entity = value,
                "code" => *code = value,
                "change" => *change = value,
                _ => {}
            },
            ("[[allow]]", .., Some((code, _))) if key == "code" => *code = value,
            ("[[allow]]", .., Some((_, reason))) => *reason = value,
            _ => {}
        }
    }

    /// The properties that it renames: the entity, the old name, the new one.
    pub(in crate::cli) fn renames(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let is_rename = |[_, code, _]: &&[String; 3]| code == "TM104" || code == "TM107";
        self.steps.iter().filter(is_rename).filter_map(|[entity, _, change]| {
            let (from, to) = change.strip_prefix("property ")?.split_once(" -> ")?;
            Some((entity.as_str(), from, to))
        })
    }

    /// The pairs that may have been renames, and were said to be none: the entity, what it removes, what it adds in its place.
    pub(in crate::cli) fn apart(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.properties("TM103", "- property ").flat_map(|(entity, from, codec)| {
            let alike = move |(other, _, same): &(&str, &str, &str)| (*other, *same) == (entity, codec);
            self.properties("TM101", "+ property ").filter(alike).map(move |(_, to, _)| (entity, from, to))
        })
    }

    /// The properties of steps with this code: the entity, the name, the codec.
    fn properties(&self, code: &'static str, sign: &'static str) -> impl Iterator<Item = (&str, &str, &str)> {
        self.steps.iter().filter(move |[_, own, _]| own == code).filter_map(move |[entity, _, change]| {
            let (name, stored) = change.strip_prefix(sign)?.split_once(' ')?;
            Some((entity.as_str(), name, stored.rsplit_once(" as ")?.1))
        })
    }
}

/// The text of a basic string of TOML.
fn unquoted(text: &str) -> String {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let (mut unquoted, mut letters) = (String::new(), inside.chars());
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => match letters.next() {
                Some('u') => {
                    let code: String = letters.by_ref().take(4).collect();
                    unquoted.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
                }
                other => unquoted.extend(other),
            },
            (letter, false) => unquoted.push(letter),
        }
    }
    unquoted
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Plan, Step},
        Written, unquoted,
    };
    use crate::{cli::plan::quoted, format::Class};

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let step = |entity: &str, code: &str, change: &str| Step {
            entity: entity.to_owned(),
            code: code.to_owned(),
            class: Class::LazySafe,
            change: change.to_owned(),
            needs_plan: true,
        };
        let entities = vec![(Some("Item@1 0a".to_owned()), "Item@2 0b".to_owned()), (None, "Order@1 0c".to_owned())];
        let allowed = vec![("TM107".to_owned(), "a \"reason\"\n[[step]]\\u".to_owned())];
        let plan = Plan {
            id: "0001_a".to_owned(),
            parent: String::new(),
            entities: entities.clone(),
            steps: vec![
                step("Item", "TM104", "property A -> B"),
                step("Item", "TM103", "- property C Edm.Int32 as u8"),
                step("Item", "TM101", "+ property D Edm.Int32 nullable as u8"),
                step("Item", "TM101", "+ property E Edm.Int32 nullable as u16"),
                step("Item", "TM102", "+ property F Edm.Int32 as u8"),
                step("Order", "TM101", "+ property G Edm.Int32 nullable as u8"),
            ],
            allowed: allowed.clone(),
        };
        let read = Written::parse(&plan.text());
        assert_eq!((&read.entities, &read.allowed), (&entities, &allowed));
        assert_eq!(read.steps[1], ["Item", "TM103", "- property C Edm.Int32 as u8"]);
        assert_eq!(read.renames().collect::<Vec<_>>(), [("Item", "A", "B")]);
        assert_eq!(read.apart().collect::<Vec<_>>(), [("Item", "C", "D")]);
    }

    proptest::proptest! {
        #[test]
        fn a_text_is_read_back(text in "\\PC*|[\\x00-\\x7f]*") {
            proptest::prop_assert_eq!(unquoted(&quoted(&text)), text);
        }
    }
}
