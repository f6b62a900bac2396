//! The page of the stored format and the pages of the documentation say the same.

const FORMAT: &str = include_str!("../../../FORMAT.md");

/// The lines that define something: tables and code.
fn definitions(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter(|line| line.starts_with('|'))
}

#[test]
fn the_tables_of_types_and_keys_stand_in_the_format_page() {
    for page in [include_str!("../../docs/types.md"), include_str!("../../docs/keys.md")] {
        let missing: Vec<_> = definitions(page).filter(|line| !FORMAT.contains(line)).collect();
        assert!(missing.is_empty(), "FORMAT.md lacks {missing:#?}");
    }
}

#[test]
fn a_changed_line_would_be_noticed() {
    assert!(definitions("| `u8` | Edm.Int64 | | 3 digits |").any(|line| !FORMAT.contains(line)));
}
