//! A list in a row of the framework: in as many properties as it takes, since one holds 32,768 UTF-16 units.
//!
//! Nothing is read or written here.

#[cfg(all(test, feature = "embedded", feature = "testing"))]
mod tests;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tablemodel_store::{Properties, ValueRef, limits, size};

/// The property of that name holds a JSON list; what it has no room for is in those with 1, 2 and so on behind the name.
fn property(name: &str, number: usize) -> String {
    if number == 0 { name.to_owned() } else { format!("{name}{number}") }
}

/// Puts the list into properties, in the place of one that is there.
pub(super) fn put(name: &str, items: impl IntoIterator<Item = Json>, to: &mut Properties) {
    let pieces = pieces(items);
    let mut more = pieces.len();
    while to.remove(&property(name, more)).is_some() {
        more += 1;
    }
    for (number, piece) in pieces.into_iter().enumerate() {
        to.insert(property(name, number), Json::from(piece).to_string());
    }
}

/// The list in the properties; none where there is none, or it cannot be read.
pub(super) fn on<T: DeserializeOwned>(name: &str, properties: &Properties) -> Option<Vec<T>> {
    let text = |number| match properties.get(&property(name, number)) {
        Some(ValueRef::String(text)) => Some(text),
        _ => None,
    };
    text(0)?;
    let pieces = (0..).map_while(text).map(serde_json::from_str::<Vec<T>>);
    pieces.collect::<Result<Vec<_>, _>>().ok().map(|pieces| pieces.into_iter().flatten().collect())
}

/// The items in lists that each fit a property; at least one list.
fn pieces(items: impl IntoIterator<Item = Json>) -> Vec<Vec<Json>> {
    const BRACKETS: usize = 2;
    let (mut pieces, mut last, mut units) = (Vec::new(), Vec::new(), BRACKETS);
    for item in items {
        let takes = size::utf16_len(&item.to_string()) + 1; // with a comma
        if units + takes > limits::MAX_STRING_CHARS {
            pieces.push(std::mem::take(&mut last));
            units = BRACKETS;
        }
        units += takes;
        last.push(item);
    }
    pieces.push(last);
    pieces
}
