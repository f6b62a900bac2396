//! Delivery where the store commits several partitions at once: what another mode left in the outbox is carried out, and nothing is left.
//!
//! Elsewhere delivery is `outbox`'s.

use tablemodel_store::Row;

use super::Relay;
use crate::{
    database::outbox::{Met, Outgoing},
    error::Result,
};

impl Relay {
    /// Makes what the intent names what its entity wants now, and takes away what remembers that and the outbox row. Where one of them
    /// cannot follow the others do, and the outbox row stays.
    pub(in crate::database) async fn deliver_at_once(&self, outgoing: &Outgoing, row: &Row) -> Result<()> {
        let (schema, owner) = (outgoing.schema, outgoing.owner());
        let mut met = Met::default();
        for entry in &outgoing.intent.entries {
            met.note(self.db.settle_claim(schema, &owner, entry, outgoing.since).await)?;
        }
        // A claim that the entity gave up may be another's by now.
        let strays = outgoing.intent.entries.iter().filter(|entry| entry.claimed(schema).is_none());
        met.note(self.db.touch(schema, &owner, strays.cloned().collect()).await)?;
        let registered = self.db.registered(schema)?;
        met.note(self.db.deliver_kept(outgoing).await)?;
        met.note(self.db.deliver_copied(&registered, outgoing).await)?;
        met.first()?;
        self.sweep(outgoing, row).await.map(drop)
    }
}
