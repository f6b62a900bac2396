//! What `diff` writes compiles beside the user's structs, and rows of old versions are read by it.
//!
//! One program has an entity for each way in which a change is written down: it is built once, with what the other cases of trybuild use.

#[expect(clippy::duplicated_attributes, reason = "each index says for itself what it holds")]
mod after;
#[expect(clippy::duplicated_attributes, reason = "each index says for itself what it holds")]
mod before;
mod between;

use std::fs;

use super::Folder;

/// How each upgrade that `diff` only begins is ended.
const ENDINGS: [(&str, &str); 5] = [
    (
        "item_v2_upgrade.rs",
        "Ok(Self { shelf: old.shelf, id: old.id, quantity: old.quantity, sold: old.sold, kind: old.type_, \
         stars: old.stars, colour: None, price: f64::from(old.quantity) / 2.0 })",
    ),
    (
        "person_v1_upgrade.rs",
        "let height = old.height.parse().map_err(|_| tablemodel::UpgradeError::new(\"no height\"))?; \
         let initial = old.name.chars().take(1).collect(); \
         Ok(Self { country: old.country, id: old.id, name: old.name, initial, height })",
    ),
    ("picture_v1_upgrade.rs", "Ok(Self { album: old.album, id: old.id, pixels: tablemodel::Blob::from(old.pixels) })"),
    (
        "badge_v1_upgrade.rs",
        "let shows = crate::cli::tests::generated::after::Colours { colours: String::new() }; \
         Ok(Self { club: old.club.as_str().into(), id: old.id, team: old.team, shows, note: None })",
    ),
    ("film_v1_upgrade.rs", "Ok(Self { studio: old.studio, id: old.id, reel: old.reel, title: None })"),
];

/// The struct's source, with each attribute that `diff` said to write on it.
fn annotated(source: &str, told: &[String]) -> String {
    let mut source = source.to_owned();
    for line in told {
        let Some((attribute, path)) = line.strip_prefix("next: write `#[").and_then(|rest| rest.split_once("]` on `"))
        else {
            continue;
        };
        let ident = path.trim_end_matches('`').rsplit("::").next().unwrap();
        let head = format!("pub(crate) struct {ident} {{");
        assert!(source.contains(&head), "{line}");
        source = source.replace(&head, &format!("#[{attribute}]\n{head}"));
    }
    source
}

/// Ends each upgrade that was begun, and says the one default that there is.
fn end_upgrades(folder: &Folder) {
    let frozen = folder.read("tablemodel/frozen/item_v2.rs");
    let asked = frozen.lines().find(|line| line.contains("compile_error!")).unwrap();
    folder.edit("tablemodel/frozen/item_v2.rs", asked.trim(), "#[table(default)]");
    let mut begun = 0;
    for (name, ending) in ENDINGS {
        let name = format!("src/upgrades/{name}");
        let text = folder.read(&name);
        let (before, rest) = text.split_once("compile_error!").unwrap();
        let (_, after) = rest.split_once(";\n").unwrap();
        fs::write(folder.path(&name), format!("{before}{ending}\n{after}")).unwrap();
        begun += 1;
    }
    let files = fs::read_dir(folder.path("src/upgrades")).unwrap().count();
    assert_eq!(files, begun + 1, "each that was begun, and `mod.rs`");
}

#[test]
fn what_is_written_compiles_and_reads_the_rows_of_old_versions() {
    let folder = Folder::new();
    assert_eq!(folder.run::<before::Shop>("init"), 0);
    assert_eq!(folder.run::<between::Shop>("diff --name items --rename Qty=Quantity"), 0);
    let outcome = folder.answer::<after::Shop>(&["diff", "--name", "all", "--allow", "TM107=old rows are gone"]);
    assert_eq!(outcome.code, 0, "{:?}", outcome.lines);
    assert_eq!(folder.run::<after::Shop>("check"), 0);

    end_upgrades(&folder);
    let member = folder.read("tablemodel/frozen/member_v1.rs");
    assert!(member.contains("#[table(count(Team, key(club = club, name = team), into = members))]"), "{member}");
    let after = annotated(include_str!("generated/after.rs"), &outcome.lines);
    assert_eq!((after.matches("previous = ").count(), after.matches("moved_from = ").count()), (10, 2), "{after}");
    fs::write(folder.path("src/after.rs"), after).unwrap();
    fs::write(folder.path("src/before.rs"), include_str!("generated/before.rs")).unwrap();
    let here = folder.folder.path().display().to_string().replace('\\', "/");
    let program = folder.path("src/main.rs");
    fs::write(&program, include_str!("generated/program.rs").replace("FOLDER", &here)).unwrap();
    trybuild::TestCases::new().pass(program);
}
