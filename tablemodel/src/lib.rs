//! Keep data in table stores.
