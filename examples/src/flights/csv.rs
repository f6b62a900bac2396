//! Reading the gzipped CSV files: rows as text by column name, and typed values with errors that say where.
//! No entity is known here; `NA` is a missing value.

use std::{error::Error, fmt, fs::File, io::BufReader, path::Path, str::FromStr};

use ::csv::{Reader, StringRecord};
use flate2::bufread::GzDecoder;

use super::Result;

/// How a missing value is written.
const MISSING: &str = "NA";

/// One file, read from its beginning, one record in memory at a time.
pub struct Table {
    name: String,
    columns: StringRecord,
    reader: Reader<GzDecoder<BufReader<File>>>,
}

impl Table {
    /// Opens `name`.csv.gz in a directory and reads its header.
    ///
    /// # Errors
    ///
    /// A file that is not there or is not gzipped CSV.
    pub fn open(directory: &Path, name: &str) -> Result<Self> {
        let path = directory.join(format!("{name}.csv.gz"));
        let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut reader = Reader::from_reader(GzDecoder::new(BufReader::new(file)));
        let columns = reader.headers().map_err(|error| format!("{}: {error}", path.display()))?.clone();
        Ok(Self { name: name.to_owned(), columns, reader })
    }

    /// The records, each converted by `convert`.
    ///
    /// # Errors
    ///
    /// Each item: a record that is not CSV, or what `convert` says of it.
    pub fn records<T>(mut self, mut convert: impl FnMut(&Record<'_>) -> Result<T>) -> impl Iterator<Item = Result<T>> {
        let mut fields = StringRecord::new();
        std::iter::from_fn(move || match self.reader.read_record(&mut fields) {
            Ok(true) => Some(convert(&Record { table: &self.name, columns: &self.columns, fields: &fields })),
            Ok(false) => None,
            Err(error) => Some(Err(format!("{}.csv.gz: {error}", self.name).into())),
        })
    }
}

/// One line of a file.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    table: &'a str,
    columns: &'a StringRecord,
    fields: &'a StringRecord,
}

/// A field that does not hold what its column should.
#[derive(Debug)]
pub struct FieldError {
    table: String,
    line: u64,
    column: String,
    problem: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, line, column, problem } = self;
        write!(f, "{table}.csv.gz, line {line}, column `{column}`: {problem}")
    }
}

impl Error for FieldError {}

impl<'a> Record<'a> {
    /// The fields as they stand in the file.
    pub fn fields(&self) -> &'a StringRecord {
        self.fields
    }

    /// The text of a column; `None` where it is missing.
    ///
    /// # Errors
    ///
    /// A column that the file does not have.
    pub fn text(&self, column: &str) -> Result<Option<&'a str>> {
        let at = self.columns.iter().position(|name| name == column);
        let text = at.and_then(|at| self.fields.get(at)).ok_or_else(|| self.error(column, "no such column"))?;
        Ok((text != MISSING).then_some(text))
    }

    /// The value of a column; `None` where it is missing.
    ///
    /// # Errors
    ///
    /// A text that is not a `T`.
    pub fn optional<T: FromStr<Err: fmt::Display>>(&self, column: &str) -> Result<Option<T>> {
        let parse = |text: &str| text.parse().map_err(|error| self.error(column, &format!("`{text}`: {error}")).into());
        self.text(column)?.map(parse).transpose()
    }

    /// The value of a column.
    ///
    /// # Errors
    ///
    /// A missing value, or a text that is not a `T`.
    pub fn value<T: FromStr<Err: fmt::Display>>(&self, column: &str) -> Result<T> {
        self.optional(column)?.ok_or_else(|| self.error(column, "a value is missing").into())
    }

    /// An error about a column of this line.
    pub fn error(&self, column: &str, problem: &str) -> FieldError {
        let line = self.fields.position().map_or(0, ::csv::Position::line);
        FieldError { table: self.table.to_owned(), line, column: column.to_owned(), problem: problem.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record<T>(fields: &[&str], read: impl Fn(&Record<'_>) -> T) -> T {
        let (columns, fields) = (StringRecord::from(vec!["a", "b"]), StringRecord::from(fields.to_vec()));
        read(&Record { table: "test", columns: &columns, fields: &fields })
    }

    #[test]
    fn na_is_a_missing_value_and_nothing_else_is() {
        record(&["NA", ""], |record| {
            assert_eq!(record.optional::<u16>("a").unwrap(), None);
            assert_eq!(record.text("b").unwrap(), Some(""));
            assert!(record.value::<u16>("a").unwrap_err().to_string().contains("a value is missing"));
        });
    }

    #[test]
    fn an_error_names_file_column_and_text() {
        let error = record(&["7x", "1"], |record| record.value::<u16>("a").unwrap_err().to_string());
        assert!(error.starts_with("test.csv.gz, line 0, column `a`: `7x`: "), "{error}");
        let error = record(&["7", "1"], |record| record.value::<u16>("c").unwrap_err().to_string());
        assert!(error.ends_with("column `c`: no such column"), "{error}");
    }
}
