//! What entities cost to compile: `cargo check` of generated crates, beside serde's two derives on the same structs; `cargo build` of
//! some that use them; and what it costs that they are compared with `tablemodel.lock`.
//!
//! The crates are written below the target directory; their dependencies are built before the clock starts. Nothing that the
//! compiler kept of a crate is left for a round, but where it says so: what it finds unchanged it does not look at again.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{Result, paired::median, report::Compile};

/// Entities of a generated crate.
const ENTITIES: u32 = 50;

/// Types of the fields of a generated entity, beside those of its keys.
const FIELD_TYPES: [&str; 7] = ["String", "String", "u8", "i64", "bool", "f64", "Option<String>"];

/// The library with what its command line takes: the gate is the same with it.
const CLI: &str = "features = [\"cli\"]";

/// Measures all crates, in turn.
pub(crate) fn measure(quick: bool) -> Result<Compile> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the crate has no workspace")?;
    let tablemodel = format!("tablemodel = {{ path = {:?} }}", env!("CARGO_MANIFEST_DIR"));
    let serde = "serde = { version = \"1\", features = [\"derive\"] }";
    let with_cli = format!("tablemodel = {{ path = {:?}, {CLI} }}", env!("CARGO_MANIFEST_DIR"));
    let serde_json = format!("{serde}\nserde_json = \"1\"");
    let model = [entities(), model()].concat();
    let crates = [
        Crate::write(&directory, workspace, "ours", &tablemodel, &entities())?,
        Crate::write(&directory, workspace, "with_serde", serde, &serde_structs())?,
        Crate::write(&directory, workspace, "empty", &tablemodel, "")?,
        Crate::write(&directory, workspace, "unlocked", &with_cli, &model)?,
        Crate::write(&directory, workspace, "locked", &with_cli, &model)?.locked()?,
    ];
    for it in &crates {
        eprintln!("building the dependencies of {}", it.name);
        it.check()?;
    }
    let mut rounds = Vec::new();
    for _ in 0..if quick { 1 } else { 11 } {
        let [ours, serde, empty, unlocked, locked] = crates.each_ref().map(|it| it.anew("check"));
        let [entities, with_serde, ..] = &crates;
        rounds.push([ours?, serde?, empty?, locked? - unlocked?, entities.check()? / with_serde.check()?]);
    }
    let used = [
        Crate::write(&directory, workspace, "called", &tablemodel, &[entities(), calls()].concat())?,
        Crate::write(&directory, workspace, "as_json", &serde_json, &[serde_structs(), json_calls()].concat())?,
    ];
    for it in &used {
        eprintln!("building the dependencies of {}", it.name);
        it.run("build")?;
    }
    let builds = (0..if quick { 1 } else { 5 }).map(|_| {
        let [ours, json] = used.each_ref().map(|it| it.anew("build"));
        Ok((ours?, json?))
    });
    let builds = builds.collect::<Result<Vec<_>>>()?;
    let gate_ms = |gate: f64| gate * 1_000.0 / f64::from(ENTITIES);
    Ok(Compile {
        ours: median(rounds.iter().map(|[ours, ..]| *ours)),
        serde: median(rounds.iter().map(|[_, serde, ..]| *serde)),
        empty: median(rounds.iter().map(|[_, _, empty, ..]| *empty)),
        ratio: median(rounds.iter().map(|[ours, serde, ..]| ours / serde)),
        again: median(rounds.iter().map(|[.., again]| *again)),
        gate: median(rounds.iter().map(|[_, _, _, gate, _]| gate_ms(*gate))),
        build: median(builds.iter().map(|(ours, _)| *ours)),
        build_json: median(builds.iter().map(|(_, json)| *json)),
        build_ratio: median(builds.iter().map(|(ours, json)| ours / json)),
    })
}

/// A generated crate.
struct Crate {
    name: &'static str,
    path: PathBuf,
    target: PathBuf,
}

impl Crate {
    fn write(directory: &Path, workspace: &Path, name: &'static str, dependency: &str, body: &str) -> Result<Self> {
        let path = directory.join(name);
        if path.exists() {
            fs::remove_dir_all(&path)?; // with a lock of what was generated then
        }
        fs::create_dir_all(path.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n\n[workspace]\n"
        );
        fs::write(path.join("Cargo.toml"), manifest)?;
        // The same versions of the dependencies, and none that would have to be downloaded.
        fs::copy(workspace.join("Cargo.lock"), path.join("Cargo.lock"))?;
        fs::write(path.join("src/lib.rs"), format!("//! Generated.\n\n{body}"))?;
        Ok(Self { name, path, target: directory.join("target") })
    }

    /// The same, with the lock that its own command line writes.
    fn locked(self) -> Result<Self> {
        eprintln!("writing the lock of {}", self.name);
        let bin = self.path.join("src/bin");
        fs::create_dir_all(&bin)?;
        fs::write(bin.join("tablemodel.rs"), format!("tablemodel::cli!({}::Model);\n", self.name))?;
        self.cargo(&["run", "--bin", "tablemodel", "--features", "tablemodel/ungated"], &["--", "init"])?;
        fs::remove_dir_all(bin)?;
        Ok(self)
    }

    /// Seconds of a `cargo` command in which only this crate is compiled, all of it: as after a change that reaches everything.
    fn anew(&self, command: &str) -> Result<f64> {
        let kept = self.target.join("debug").join("incremental");
        for folder in fs::read_dir(kept)?.filter_map(std::io::Result::ok) {
            let name = folder.file_name();
            let of = name.to_str().and_then(|name| name.rsplit_once('-'));
            if of.is_some_and(|(of, _)| of == self.name) {
                fs::remove_dir_all(folder.path())?;
            }
        }
        self.run(command)
    }

    /// The same of `cargo check` where nothing has changed: macros are expanded once more, and most of what follows is found as it was.
    fn check(&self) -> Result<f64> {
        self.run("check")
    }

    fn run(&self, command: &str) -> Result<f64> {
        let source = self.path.join("src/lib.rs");
        fs::write(&source, fs::read(&source)?)?; // younger than what was compiled
        let begun = Instant::now();
        self.cargo(&[command], &[])?;
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Runs cargo, with what comes behind its own options.
    fn cargo(&self, words: &[&str], behind: &[&str]) -> Result<()> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(words).args(["--quiet", "--offline", "--target-dir"]).arg(&self.target).args(behind);
        cargo.current_dir(&self.path).stdin(Stdio::null());
        // As it is for users who said nothing.
        for said in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_PROFILE_DEV_DEBUG"] {
            cargo.env_remove(said);
        }
        cargo.env("CARGO_INCREMENTAL", "1");
        let output = cargo.output()?;
        if output.status.success() {
            return Ok(());
        }
        let (name, said) = (self.name, String::from_utf8_lossy(&output.stderr));
        Err(format!("crate `{name}`: cargo {} failed:\n{said}", words.join(" ")).into())
    }
}

/// Entities of ten fields and three paths.
fn entities() -> String {
    let attributes = |number: u32| {
        format!(
            "#[derive(Debug, Clone, PartialEq, tablemodel::TableEntity)]\n\
             #[table(name = \"Table{number}\", partition = \"{{office}}\", row = \"id_{{id:08}}\")]\n\
             #[table(index(by_email, row = \"email_{{email}}\", unique, keep(field0, field1)))]\n\
             #[table(index(by_field0, row = \"name_{{field0}}_{{id:08}}\", keep(email)))]\n"
        )
    };
    structs(attributes)
}

/// The model of the entities.
fn model() -> String {
    let variants = (0..ENTITIES).map(|number| format!("    Entity{number}(Entity{number}),\n"));
    format!("#[derive(tablemodel::TableModel)]\npub enum Model {{\n{}}}\n", variants.collect::<String>())
}

/// A function for each entity, which makes twelve calls.
fn calls() -> String {
    let call = |number: u32| {
        format!(
            "/// Uses it.\n\
             pub async fn use{number}(db: &tablemodel::Database, entity: &Entity{number}) -> tablemodel::Result<usize> {{\n    \
                 use tablemodel::prelude::*;\n    \
                 let at = || Entity{number}::find().office(\"Oslo\").id(1);\n    \
                 db.insert(entity).await?;\n    \
                 let mut stored = db.upsert(entity).await?;\n    \
                 db.save(&mut stored).await?;\n    \
                 db.update(at(), |entity| Ok(entity.field3 += 1)).await?;\n    \
                 db.bulk().insert_iter([entity.clone()]).await?;\n    \
                 let few = Entity{number}::by_field0().office(\"Oslo\").first(9, db).await?.len();\n    \
                 let page = Entity{number}::by_field0().office(\"Oslo\").page(9, None, db).await?.items.len();\n    \
                 let all = Entity{number}::find().office(\"Oslo\").id_between(1..=9).all(db).await?.len();\n    \
                 let count = Entity{number}::find().office(\"Oslo\").count(db).await?;\n    \
                 let one = at().one(db).await?.is_some();\n    \
                 let other = Entity{number}::by_email().office(\"Oslo\").email(\"m\").one(db).await?;\n    \
                 db.delete(stored).await?;\n    \
                 Ok(few + page + all + count as usize + usize::from(one) + usize::from(other.is_some()))\n\
             }}\n\n"
        )
    };
    (0..ENTITIES).map(call).collect()
}

/// The same structs with serde's two derives.
fn serde_structs() -> String {
    structs(|_| "#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]\n".to_owned())
}

/// A function for each of them, which writes and reads it as JSON.
fn json_calls() -> String {
    let call = |number: u32| {
        format!(
            "/// Uses it.\n\
             pub fn use{number}(entity: &Entity{number}) -> serde_json::Result<Entity{number}> {{\n    \
                 serde_json::from_slice(&serde_json::to_vec(entity)?)\n\
             }}\n\n"
        )
    };
    (0..ENTITIES).map(call).collect()
}

fn structs(attributes: impl Fn(u32) -> String) -> String {
    let mut source = String::new();
    for number in 0..ENTITIES {
        source.push_str(&attributes(number));
        // Writing to a string does not fail.
        let _ = writeln!(
            source,
            "pub struct Entity{number} {{\n    pub office: String,\n    pub id: u32,\n    pub email: String,"
        );
        for (at, of_type) in FIELD_TYPES.iter().enumerate() {
            let _ = writeln!(source, "    pub field{at}: {of_type},");
        }
        source.push_str("}\n\n");
    }
    source
}
