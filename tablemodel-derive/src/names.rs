//! How Rust names become stored names, and which stored names are legal.
//! Nothing is parsed here.

/// Names that belong to the store or to the framework.
const RESERVED: [&str; 4] = ["PartitionKey", "RowKey", "Timestamp", "EntityType"];

/// Names that Cosmos DB for Table keeps for itself: it takes no property that is called so. Its documentation has them in one case or
/// another; it does not have `Id`, which is what a field `id` is stored as.
const RESERVED_BY_COSMOS: [&str; 4] = ["id", "rid", "etag", "ResourceId"];

/// Tables of the framework, one of a room to come among them.
const RESERVED_TABLES: [&str; 3] = ["tmschema", "tmdirty", "tmqueue"];

/// Azure: property names have at most 255 characters.
const MAX_PROPERTY_CHARS: usize = 255;

/// A convention of names, as `rename_all` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    Lower,
    Upper,
}

impl Case {
    /// The words of `rename_all`.
    pub(crate) const WORDS: [&str; 7] =
        ["PascalCase", "camelCase", "snake_case", "SCREAMING_SNAKE_CASE", "kebab-case", "lowercase", "UPPERCASE"];

    /// The convention that a word names.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "snake_case" => Self::Snake,
            "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "kebab-case" => Self::Kebab,
            "lowercase" => Self::Lower,
            "UPPERCASE" => Self::Upper,
            _ => return None,
        })
    }

    /// A name in this convention: of a field (`first_name`) or a variant (`FirstName`).
    pub(crate) fn apply(self, name: &str) -> String {
        let words = words(name);
        match self {
            Self::Pascal => words.iter().map(|word| capital(word)).collect(),
            Self::Camel => {
                let capitals = words.iter().skip(1).map(|word| capital(word));
                words.iter().take(1).cloned().chain(capitals).collect()
            }
            Self::Snake => words.join("_"),
            Self::ScreamingSnake => words.join("_").to_uppercase(),
            Self::Kebab => words.join("-"),
            Self::Lower => words.concat(),
            Self::Upper => words.concat().to_uppercase(),
        }
    }
}

/// The words of a name in lower case: cut at `_` and before a capital that follows a small letter or a digit.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && after_small) {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        after_small = letter.is_lowercase() || letter.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// Why a property may not have this name, and what to do.
pub(crate) fn property_fault(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
        return Some(format!("`{name}` is a property of every row"));
    }
    if name.starts_with('_') || lower.starts_with("odata") {
        return Some(format!("property names that begin with `_` or `odata` are reserved, and `{name}` does"));
    }
    let is_legal = |c: char| c.is_alphabetic() || c.is_ascii_digit() || c == '_';
    let is_identifier = name.starts_with(char::is_alphabetic) && name.chars().all(is_legal);
    if !is_identifier {
        return Some(format!(
            "`{name}` is not a property name: it must begin with a letter and hold letters, digits and `_`"
        ));
    }
    let chars = name.encode_utf16().count(); // as the store counts
    (chars > MAX_PROPERTY_CHARS)
        .then(|| format!("the property name has {chars} characters; at most {MAX_PROPERTY_CHARS} are allowed"))
}

/// Why Cosmos DB for Table takes no property of this name.
pub(crate) fn cosmos_fault(name: &str) -> Option<String> {
    let is_reserved = name != "Id" && RESERVED_BY_COSMOS.iter().any(|reserved| reserved.eq_ignore_ascii_case(name));
    is_reserved.then(|| format!("Cosmos DB for Table keeps `{name}` for itself, and takes no property of that name"))
}

/// Why a table may not have this name.
pub(crate) fn table_fault(name: &str) -> Option<String> {
    if RESERVED_TABLES.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
        return Some(format!("the table `{name}` is the framework's own: choose another name"));
    }
    let is_legal = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
        && (3..=63).contains(&name.len())
        && !name.eq_ignore_ascii_case("tables");
    (!is_legal)
        .then(|| format!("`{name}` is not a table name: 3 to 63 letters and digits, a letter first, and not `Tables`"))
}

/// Why an entity may not be called so.
pub(crate) fn entity_type_fault(name: &str) -> Option<String> {
    let is_legal = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    (!is_legal).then(|| format!("`{name}` is not an entity type: use letters, digits, `_` and `-`"))
}

#[cfg(test)]
mod tests {
    use super::{Case, cosmos_fault, entity_type_fault, property_fault, table_fault};

    #[test]
    fn each_convention_is_applied_to_fields_and_variants() {
        for name in ["first_name2_x", "FirstName2X"] {
            let all: Vec<_> =
                Case::WORDS.iter().filter_map(|word| Case::parse(word)).map(|case| case.apply(name)).collect();
            let expected = [
                "FirstName2X",
                "firstName2X",
                "first_name2_x",
                "FIRST_NAME2_X",
                "first-name2-x",
                "firstname2x",
                "FIRSTNAME2X",
            ];
            assert_eq!(all, expected);
        }
        assert_eq!(Case::Pascal.apply("_hidden__x"), "HiddenX");
    }

    #[test]
    fn the_names_of_the_store_are_kept_free() {
        for name in
            ["PartitionKey", "rowkey", "Timestamp", "EntityType", "_seq", "_until", "odata", "OData_x", "", "a-b", "1a"]
        {
            assert!(property_fault(name).is_some(), "{name}");
        }
        for name in ["m²", "A½", "A\u{662}"] {
            assert!(property_fault(name).is_some(), "{name}: the store takes no other digits than these");
        }
        assert_eq!(property_fault("Straße_1"), None);
        assert!(property_fault(&"a".repeat(256)).is_some());
    }

    #[test]
    fn names_that_one_service_keeps_for_itself_are_told_from_those_that_none_takes() {
        for name in ["ID", "id", "rid", "Rid", "etag", "ETag", "ResourceId", "resourceId"] {
            assert!(cosmos_fault(name).is_some_and(|fault| fault.contains(name)), "{name}");
            assert_eq!(property_fault(name), None);
        }
        for name in ["Id", "OrderId", "Etags", "Resource_Id", "ResourceIdentifier"] {
            assert_eq!(cosmos_fault(name), None);
        }
    }

    #[test]
    fn tables_and_entities_have_legal_names() {
        for name in ["ab", "1ab", "a_b", "tables", "", "tmschema", "TMDIRTY", "tmqueue"] {
            assert!(table_fault(name).is_some(), "{name}");
        }
        assert!(["Company", "tmdirt", "tmschemas"].iter().all(|name| table_fault(name).is_none()));
        assert!(entity_type_fault("A@1").is_some() && entity_type_fault("A.b").is_some());
        assert_eq!(entity_type_fault("Employee_1"), None);
    }
}
