//! Sizes are those of the text that would be sent: checked against text that is really built.

use proptest::{collection::vec, prelude::*};
use tablemodel_store::{
    Action, Batch, Condition, DateTime, ETag, Operation, Properties, Uuid, Value, ValueRef, limits, size,
};

/// Any value, with texts that need escapes and doubles that need annotations.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        vec(any::<u8>(), 0..50).prop_map(Value::Binary),
        any::<bool>().prop_map(Value::Boolean),
        (DateTime::MIN.ticks()..=DateTime::MAX.ticks()).prop_map(|ticks| DateTime::from_ticks(ticks).into()),
        (DateTime::MIN.ticks()..=DateTime::MAX.ticks())
            .prop_map(|ticks| DateTime::from_ticks(ticks / 10_000_000 * 10_000_000).into()),
        any::<f64>().prop_map(Value::Double),
        (-1000..1000).prop_map(|number: i32| Value::Double(number.into())),
        any::<u128>().prop_map(|bits| Uuid::from_u128(bits).into()),
        any::<i32>().prop_map(Value::Int32),
        any::<i64>().prop_map(Value::Int64),
        any::<String>().prop_map(Value::String),
        "[\\x00-\\x7f]{0,40}".prop_map(Value::String),
    ]
}

fn properties() -> impl Strategy<Value = Properties> {
    vec(("[A-Za-z_][A-Za-z0-9_]{0,20}", value()), 0..12).prop_map(|pairs| pairs.into_iter().collect())
}

fn key() -> impl Strategy<Value = String> {
    "[^/\\\\#?\\x00-\\x1f\\x7f-\\u{9f}]{0,30}"
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A property as JSON members, each with a comma before it.
fn members(name: &str, value: ValueRef<'_>) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let (text, annotated) = match value {
        ValueRef::Binary(bytes) => (quoted(&STANDARD.encode(bytes)), true),
        ValueRef::Boolean(value) => (value.to_string(), false),
        ValueRef::DateTime(at) => (quoted(&at.to_string()), true),
        ValueRef::Double(double) if double.is_nan() => (quoted("NaN"), true),
        ValueRef::Double(f64::INFINITY) => (quoted("Infinity"), true),
        ValueRef::Double(f64::NEG_INFINITY) => (quoted("-Infinity"), true),
        ValueRef::Double(double) => (format!("{double:?}"), false),
        ValueRef::Guid(guid) => (quoted(&guid.to_string()), true),
        ValueRef::Int32(number) => (number.to_string(), false),
        ValueRef::Int64(number) => (quoted(&number.to_string()), true),
        ValueRef::String(text) => (quoted(text), false),
    };
    let annotation = if annotated { format!(",\"{name}@odata.type\":\"{}\"", value.edm()) } else { String::new() };
    format!("{annotation},\"{name}\":{text}")
}

fn json(partition: &str, row: &str, own: &Properties) -> String {
    let members: String = own.iter().map(|(name, value)| members(name.as_str(), value)).collect();
    format!("{{\"PartitionKey\":{},\"RowKey\":{}{members}}}", quoted(partition), quoted(row))
}

fn percent_encoded(key: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'\'' => "%27%27".to_owned(),
        byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    key.bytes().map(encoded).collect()
}

/// The request body, as a client would build it for an account with a long name and a shared access signature.
fn body(batch: &Batch) -> String {
    let id = Uuid::nil();
    let endpoint = "https://anaccountname24characters.table.core.windows.net";
    let signature = "sv=2019-02-02&ss=t&srt=sco&sp=rwdlacu&se=2030-01-01T00%3A00%3A00Z&st=2020-01-01T00%3A00%3A00Z&spr=https\
                     &sig=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%3D";
    let mut text = format!("--batch_{id}\r\nContent-Type: multipart/mixed; boundary=changeset_{id}\r\n\r\n");
    for Operation { row, action } in &batch.operations {
        let (verb, condition) = match action {
            Action::Insert(_) => ("POST", None),
            Action::Replace(_, condition) => ("PUT", Some(condition)),
            Action::Merge(_, condition) => ("MERGE", Some(condition)),
            Action::InsertOrReplace(_) => ("PUT", None),
            Action::InsertOrMerge(_) => ("MERGE", None),
            Action::Delete(condition) => ("DELETE", Some(condition)),
        };
        let (partition, table) = (percent_encoded(&batch.partition), &batch.table);
        text += &format!(
            "--changeset_{id}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             {verb} {endpoint}/{table}(PartitionKey='{partition}',RowKey='{}')?{signature} HTTP/1.1\r\n\
             Content-Type: application/json;odata=nometadata\r\nAccept: application/json;odata=minimalmetadata\r\n\
             DataServiceVersion: 3.0\r\nMaxDataServiceVersion: 3.0;NetFx\r\nPrefer: return-no-content\r\n",
            percent_encoded(row)
        );
        match condition {
            Some(Condition::Exists) => text += "If-Match: *\r\n",
            Some(Condition::Match(etag)) => text += &format!("If-Match: {etag}\r\n"),
            None => {}
        }
        let entity = action.properties().map_or(String::new(), |own| json(&batch.partition, row, own));
        text += &format!("\r\n{entity}\r\n");
    }
    text + &format!("--changeset_{id}--\r\n--batch_{id}--\r\n")
}

fn action() -> impl Strategy<Value = Action> {
    let etag = prop_oneof![
        any::<u32>().prop_map(|stamp| ETag::from_stamp(u64::from(stamp) << 30)),
        Just(ETag::parse("W/\"x\""))
    ];
    let condition = || prop_oneof![Just(Condition::Exists), etag.clone().prop_map(Condition::Match)];
    prop_oneof![
        properties().prop_map(Action::Insert),
        (properties(), condition()).prop_map(|(own, condition)| Action::Replace(own, condition)),
        (properties(), condition()).prop_map(|(own, condition)| Action::Merge(own, condition)),
        properties().prop_map(Action::InsertOrReplace),
        properties().prop_map(Action::InsertOrMerge),
        condition().prop_map(Action::Delete),
    ]
}

proptest! {
    #[test]
    fn json_bytes_are_those_of_the_json(partition in key(), row in key(), own in properties()) {
        let text = json(&partition, &row, &own);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "not JSON: {}", text);
        prop_assert_eq!(size::json_bytes(&partition, &row, &own), text.len(), "{}", text);
    }

    #[test]
    fn a_batch_counts_at_least_its_body_and_not_much_more(
        partition in key(),
        operations in vec((key(), action()), 1..6),
    ) {
        let operations = operations.into_iter().map(|(row, action)| Operation { row, action });
        let batch = Batch { operations: operations.collect(), ..Batch::new("SomeTable", partition) };
        let (counted, sent) = (size::batch_bytes(&batch), body(&batch).len());
        prop_assert!(sent <= counted, "{} sent, {} counted", sent, counted);
        let overhead = size::BATCH_OVERHEAD_BYTES + batch.operations.len() * size::OPERATION_OVERHEAD_BYTES;
        prop_assert!(counted < sent + overhead, "{} sent, {} counted", sent, counted);
        let each = |operation| size::operation_bytes(&batch.table, &batch.partition, operation);
        prop_assert_eq!(counted, size::BATCH_OVERHEAD_BYTES + batch.operations.iter().map(each).sum::<usize>());
    }

    #[test]
    fn utf16_len_counts_code_units(text in any::<String>()) {
        prop_assert_eq!(size::utf16_len(&text), text.encode_utf16().count());
    }

    #[test]
    fn row_bytes_follow_the_published_formula(partition in key(), row in key(), own in properties()) {
        let units = |text: &str| text.encode_utf16().count();
        let bytes = |value| match value {
            ValueRef::String(text) => 2 * units(text) + 4,
            ValueRef::Binary(bytes) => bytes.len() + 4,
            ValueRef::Boolean(_) => 1,
            ValueRef::Int32(_) => 4,
            ValueRef::Int64(_) | ValueRef::Double(_) | ValueRef::DateTime(_) => 8,
            ValueRef::Guid(_) => 16,
        };
        let own_bytes: usize = own.iter().map(|(name, value)| 8 + 2 * units(name.as_str()) + bytes(value)).sum();
        let expected = 4 + 2 * (units(&partition) + units(&row)) + own_bytes;
        prop_assert_eq!(size::row_bytes(&partition, &row, &own), expected);
    }
}

#[test]
fn an_empty_row_has_four_bytes() {
    assert_eq!(size::row_bytes("", "", &Properties::new()), 4);
}

#[test]
fn doubles_count_their_shortest_form() {
    let bytes = |double: f64| size::json_bytes("", "", &Properties::from_iter([("D", double)]));
    let base = size::json_bytes("", "", &Properties::from_iter([("D", 0i32)]));
    for (double, text) in
        [(5.0, "5.0"), (-0.0, "-0.0"), (1e300, "1e300"), (0.1, "0.1"), (f64::MIN_POSITIVE, "2.2250738585072014e-308")]
    {
        assert_eq!(bytes(double), base - 1 + text.len(), "{text}");
    }
}

#[test]
fn a_hundred_rows_of_forty_kib_of_escapes_are_too_many_for_a_batch() {
    let own = Properties::from_iter([("S", "\"".repeat(limits::MAX_STRING_CHARS))]);
    let batch = |count| {
        (0..count).fold(Batch::new("Tab", "p"), |batch, i| batch.with(i.to_string(), Action::Insert(own.clone())))
    };
    assert!(size::batch_bytes(&batch(60)) <= limits::MAX_BATCH_BYTES);
    assert!(size::batch_bytes(&batch(64)) > limits::MAX_BATCH_BYTES);
}
