//! What a test hears of `tracing`: warnings, and calls of the store where it listens. Each thread, and so each test, hears its own.
//!
//! No test stands here.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fmt,
    sync::Once,
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::Interest,
};

/// An event by its fields, as text.
pub(crate) type Heard = BTreeMap<&'static str, String>;

thread_local! {
    static WARNINGS: Cell<usize> = const { Cell::new(0) };
    /// None where this thread does not listen.
    static CALLS: RefCell<Option<Vec<Heard>>> = const { RefCell::new(None) };
}

/// How many warnings this thread has heard. The first call begins to listen.
pub(crate) fn warnings() -> usize {
    install();
    WARNINGS.get()
}

/// The calls of the store that are told while this runs.
pub(crate) async fn calls_of(run: impl Future<Output = ()>) -> Vec<Heard> {
    install();
    CALLS.set(Some(Vec::new()));
    run.await;
    CALLS.take().expect("nobody else took them")
}

/// One subscriber for the whole process: with one for each test, `tracing` may ask the wrong thread whether anybody listens,
/// and remember its answer.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Ears).expect("nothing else listens"));
}

struct Ears;

impl Ears {
    fn is_call(metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tablemodel::store"
    }
}

impl Subscriber for Ears {
    /// Of calls each thread is asked each time.
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match (Self::is_call(metadata), *metadata.level() == tracing::Level::WARN) {
            (true, _) => Interest::sometimes(),
            (false, true) => Interest::always(),
            (false, false) => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        match Self::is_call(metadata) {
            true => CALLS.with_borrow(Option::is_some),
            false => *metadata.level() == tracing::Level::WARN,
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        if !Self::is_call(event.metadata()) {
            WARNINGS.set(WARNINGS.get() + 1);
            return;
        }
        let mut fields = Fields(Heard::new());
        event.record(&mut fields);
        CALLS.with_borrow_mut(|calls| calls.iter_mut().for_each(|calls| calls.push(std::mem::take(&mut fields.0))));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Fields(Heard);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let text = if field.name() == "elapsed_us" { format!("{value} as a number") } else { value.to_string() };
        self.0.insert(field.name(), text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
