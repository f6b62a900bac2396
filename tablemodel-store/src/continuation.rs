//! Continuations of this crate's stores: the last key looked at, bound to its query.
//!
//! Nothing of a store's state goes in: a continuation survives restarts, and deletes of the row it names.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{Continuation, Query, StoreError, StoreErrorKind, key::RowKey, mark::Mark};

/// The first byte; another layout takes another.
const VERSION: u8 = 1;

/// The continuation of `query` after a page whose last key looked at was `last`.
///
/// Base64url without padding of: version (1 byte), fingerprint of the query (8, big-endian), bytes of the partition
/// key (4, big-endian), partition key, row key.
pub(crate) fn encode(query: &Query, last: &RowKey) -> Continuation {
    let mut bytes = Vec::with_capacity(13 + last.partition.len() + last.row.len());
    bytes.push(VERSION);
    bytes.extend_from_slice(&fingerprint(query).to_be_bytes());
    bytes.extend_from_slice(&(last.partition.len() as u32).to_be_bytes());
    bytes.extend_from_slice(last.partition.as_bytes());
    bytes.extend_from_slice(last.row.as_bytes());
    Continuation::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// The key strictly after which `query` resumes; `None` where it begins.
///
/// `InvalidInput` for a continuation of another query, or one that no store of this crate made.
pub(crate) fn resume(query: &Query) -> Result<Option<RowKey>, StoreError> {
    let Some(continuation) = &query.continuation else { return Ok(None) };
    let (made_for, key) = decode(continuation).ok_or_else(|| refused("it is malformed"))?;
    if made_for != fingerprint(query) || !query.range.contains(&key) {
        return Err(refused("it was made for another query"));
    }
    Ok(Some(key))
}

fn decode(continuation: &Continuation) -> Option<(u64, RowKey)> {
    let bytes = URL_SAFE_NO_PAD.decode(continuation.as_str()).ok()?;
    let (&VERSION, rest) = bytes.split_first()? else { return None };
    let (made_for, rest) = rest.split_first_chunk()?;
    let (width, rest) = rest.split_first_chunk()?;
    let (partition, row) = rest.split_at_checked(u32::from_be_bytes(*width) as usize)?;
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    Some((u64::from_be_bytes(*made_for), RowKey { partition: text(partition)?, row: text(row)? }))
}

pub(crate) fn refused(why: &str) -> StoreError {
    let detail = format!("the continuation cannot be used: {why}; begin the query again without one");
    StoreError::new(StoreErrorKind::InvalidInput, detail)
}

/// Of table, range and filter. The limit and the projection may change from page to page.
pub(crate) fn fingerprint(query: &Query) -> u64 {
    let mut mark = Mark::default();
    mark.text(&query.table.to_ascii_lowercase());
    mark.range(&query.range);
    query.filter.iter().for_each(|filter| mark.filter(filter));
    fnv1a(&mark.0)
}

/// FNV-1a of 64 bits. Source: Fowler, Noll, Vo; <http://www.isthe.com/chongo/tech/comp/fnv/>.
fn fnv1a(bytes: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyRange, RowRange};
    use proptest::prelude::*;

    fn partition_query(table: &str, partition: &str) -> Query {
        Query::new(table, KeyRange::rows(partition, RowRange::all()))
    }

    proptest! {
        #[test]
        fn a_continuation_gives_its_key_back(partition in any::<String>(), row in any::<String>()) {
            let mut query = partition_query("Table", &partition);
            let key = RowKey { partition, row };
            query.continuation = Some(encode(&query, &key));
            prop_assert_eq!(resume(&query).unwrap(), Some(key));
        }

        #[test]
        fn any_text_is_refused_without_a_panic(token in "[A-Za-z0-9_-]{0,60}") {
            let mut query = partition_query("Table", "p");
            query.continuation = Some(Continuation::new(token));
            prop_assert_eq!(resume(&query).unwrap_err().kind(), StoreErrorKind::InvalidInput);
        }
    }

    #[test]
    fn limit_projection_and_case_of_the_table_may_change_between_pages() {
        let mut query = partition_query("Table", "p");
        let key = RowKey::new("p", "r");
        query.continuation = Some(encode(&query, &key));
        query.limit = 7;
        query.select = Some(vec!["A".into()]);
        query.table = "tABLE".to_owned();
        assert_eq!(resume(&query).unwrap(), Some(key));
    }

    #[test]
    fn the_format_is_what_it_was() {
        let token = encode(&partition_query("Table", "p"), &RowKey::new("p", "r"));
        assert_eq!(token.as_str(), "AXAXOcXLpSE7AAAAAXBy");
    }
}
