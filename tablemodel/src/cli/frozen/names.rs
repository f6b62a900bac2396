//! What frozen structs, their files and their fields are called: by stored names, since what the program calls them may change.

/// What a path is asked: no field is called so, nor a word of Rust.
const TERMINALS: &str =
    "one exists get_many all first stream page count delete_all select verified explain keys into_query";

/// The words of Rust, also those that it only keeps for itself.
const WORDS: &str = "as async await break const continue crate dyn else enum extern false fn for gen if impl in let loop match mod move mut pub \
    ref return self static struct super trait true try type unsafe use where while \
    abstract become box do final macro override priv typeof unsized virtual yield union raw safe macro_rules";

/// The entity's stored name, as far as it is a name of Rust.
fn ident(entity_type: &str) -> String {
    let name = entity_type.replace('-', "_");
    if name.starts_with(char::is_numeric) { format!("_{name}") } else { name }
}

/// `Employee` in version 1: `EmployeeV1`.
pub(in crate::cli) fn name(entity_type: &str, version: u32) -> String {
    format!("{}V{version}", ident(entity_type))
}

/// Its file, without the ending: `employee_v1`.
pub(in crate::cli) fn module(entity_type: &str, version: u32) -> String {
    format!("{}_v{version}", snake(&ident(entity_type)))
}

/// The field of a property: its name in small letters, and a `_` more where that is taken.
pub(in crate::cli) fn ident_of(property: &str) -> String {
    let name = snake(property);
    let is_taken = TERMINALS.split_whitespace().any(|taken| taken == name) || is_word(&name);
    if is_taken { name + "_" } else { name }
}

fn is_word(name: &str) -> bool {
    WORDS.split_whitespace().any(|word| word == name)
}

/// The word by which an index or a list is given its name.
pub(super) fn word_of(index: &str) -> String {
    if is_word(index) { format!("r#{index}") } else { index.to_owned() }
}

/// `FirstName` as `first_name`.
pub(in crate::cli) fn snake(name: &str) -> String {
    let mut snake = String::new();
    let mut after_small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && after_small {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
        after_small = letter.is_lowercase() || letter.is_numeric();
    }
    snake
}

/// What the derive calls the property of a field.
pub(super) fn pascal(field: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    field.split('_').map(capital).collect()
}
