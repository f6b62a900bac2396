//! Releases of the program: the newest, whose entities use every room, and the one before, which derives little from them.
//!
//! Both keep the same structs; what differs is the stored format. No test stands here.

use std::{fmt::Debug, marker::PhantomData};

use tablemodel::{
    __private::{
        At, Codec, Component, EntitySchema, FieldError, FieldReader, FieldWriter, FullKey, IndexSchema, ModelRow,
        PartitionOf, PathKind, PathQuery, PathState, Way,
    },
    Complete, Result,
    prelude::*,
};

use super::{Doc, Fan, Key, Model, Person, Sponsor, Team, steps::Editable};

/// A release of the program.
pub(super) trait Release: Debug + Clone + Send + Sync + 'static {
    /// Its entities.
    type Model: TableModel;
    /// What it keeps an entity as.
    type Of<E: Kept>: Form<Of = E>;
    /// Whether its paths are those that the derive made.
    const IS_NEWEST: bool;
}

/// A path to one entity.
pub(super) trait To<E: TableEntity>:
    Path<Found = Stored<E>, State: Complete + PathState<Kind: PathKind<Entity = E>>>
{
}

impl<E, P> To<E> for P
where
    E: TableEntity,
    P: Path<Found = Stored<E>, State: Complete + PathState<Kind: PathKind<Entity = E>>>,
{
}

/// What a release keeps an entity as.
pub(super) trait Form: TableEntity + Clone + Debug {
    type Of;

    fn of(entity: Self::Of) -> Self;

    fn it(self) -> Self::Of;

    fn it_mut(&mut self) -> &mut Self::Of;

    /// The path to the entity of a key.
    fn at(key: &Key) -> impl To<Self>;

    /// Where the entities of a club stand.
    fn in_club(club: &str) -> PartitionOf<Self>;
}

/// An entity of the newest release.
pub(super) trait Kept: Form<Of = Self> + Editable {
    /// What its key holds.
    const KEY: &'static [Component];
    /// How many of its indexes the release before had: those that were declared first.
    const INDEXES_BEFORE: usize;

    /// The path to the entity of a key, from its start.
    fn give(path: PathQuery, key: &Key) -> PathQuery;
}

/// The newest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest;

impl Release for Newest {
    type Model = Model;
    type Of<E: Kept> = E;
    const IS_NEWEST: bool = true;
}

/// The one before: of what is derived it knows some indexes beside their entities.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before;

impl Release for Before {
    type Model = ModelBefore;
    type Of<E: Kept> = Earlier<E>;
    const IS_NEWEST: bool = false;
}

pub(super) struct ModelBefore;

impl TableModel for ModelBefore {
    const ENTITIES: &'static [&'static EntitySchema] = &[
        Earlier::<Person>::SCHEMA,
        Earlier::<Doc>::SCHEMA,
        Earlier::<Team>::SCHEMA,
        Earlier::<Fan>::SCHEMA,
        Earlier::<Sponsor>::SCHEMA,
    ];

    fn from_row(row: ModelRow) -> Result<Self> {
        row.unknown()
    }
}

/// An entity as the release before keeps it.
#[derive(Debug, Clone)]
pub(super) struct Earlier<E>(E);

impl<E: Kept> Earlier<E> {
    const STORED: EntitySchema = before(E::SCHEMA, E::INDEXES_BEFORE);
}

/// Without copies and aggregates, and with so many indexes.
const fn before(schema: &'static EntitySchema, indexes: usize) -> EntitySchema {
    let none: &[IndexSchema] = &[];
    EntitySchema {
        entity_type: schema.entity_type,
        version: schema.version,
        discriminator: schema.discriminator,
        table: schema.table,
        fields: schema.fields,
        partition: schema.partition,
        row: schema.row,
        indexes: if indexes == 0 { none } else { schema.indexes.split_at(indexes).0 },
        copies: &[],
        aggregates: &[],
        sharded: &[],
        adopt: schema.adopt,
        shape: schema.shape,
        reserved: schema.reserved,
        path: schema.path,
        previous: None,
        readable_by: None,
        moves_to: None,
        moved_from: None,
        frozen: false,
        added_to: &[],
        reads: None,
    }
}

impl<E: Kept> TableEntity for Earlier<E> {
    const ENTITY_TYPE: &'static str = E::ENTITY_TYPE;
    const SCHEMA: &'static EntitySchema = &Self::STORED;

    fn write_fields(&self, to: &mut FieldWriter) -> std::result::Result<(), FieldError> {
        self.0.write_fields(to)
    }

    fn read_fields(from: &FieldReader<'_>) -> std::result::Result<Self, FieldError> {
        E::read_fields(from).map(Self)
    }
}

impl<E: Kept> Form for Earlier<E> {
    type Of = E;

    fn of(entity: E) -> Self {
        Self(entity)
    }

    fn it(self) -> E {
        self.0
    }

    fn it_mut(&mut self) -> &mut E {
        &mut self.0
    }

    fn at(key: &Key) -> impl To<Self> {
        Keyed::<E>(E::give(PathQuery::new::<ByKey<E>>(), key), PhantomData)
    }

    fn in_club(club: &str) -> PartitionOf<Self> {
        PartitionOf::new(PathQuery::new::<ByKey<E>>().given::<String>(club))
    }
}

/// The way by its key.
struct ByKey<E>(PhantomData<fn() -> E>);

impl<E: Kept> PathKind for ByKey<E> {
    type Entity = Earlier<E>;
    type Found = Stored<Earlier<E>>;
    const WAY: Way = Way { index: None, components: E::KEY };
}

struct Keyed<E>(PathQuery, PhantomData<fn() -> E>);

impl<E: Kept> Path for Keyed<E> {
    type State = At<ByKey<E>, FullKey>;
    type Found = Stored<Earlier<E>>;

    fn query(&self) -> &PathQuery {
        &self.0
    }

    fn into_query(self) -> PathQuery {
        self.0
    }
}

const fn part(property: &'static str) -> Component {
    Component { property, bucket: Codec::Plain }
}

/// What stands in a key behind its prefix, which is two characters long.
fn number<N: std::str::FromStr<Err: Debug>>(text: &str) -> N {
    text.parse().expect("a number")
}

/// Each entity with what its key holds, how many of its indexes are older, and the paths to it.
macro_rules! kept {
    ($($entity:ident, $key:expr, $indexes:literal, $at:ident: $path:expr, $give:expr, $club:ident: $query:expr;)*) => {$(
        impl Form for $entity {
            type Of = Self;

            fn of(entity: Self) -> Self {
                entity
            }

            fn it(self) -> Self {
                self
            }

            fn it_mut(&mut self) -> &mut Self {
                self
            }

            fn at($at: &Key) -> impl To<Self> {
                $path
            }

            fn in_club($club: &str) -> PartitionOf<Self> {
                $query
            }
        }

        impl Kept for $entity {
            const KEY: &'static [Component] = $key;
            const INDEXES_BEFORE: usize = $indexes;

            fn give(path: PathQuery, $at: &Key) -> PathQuery {
                let give: fn(PathQuery, &Key) -> PathQuery = $give;
                give(path, $at)
            }
        }
    )*};
}

kept! {
    Person, &[part("Club"), part("Year"), part("Id")], 4,
        key: Person::find().club(&key.0).year(number::<u16>(&key.1[2..7])).id(number::<u32>(&key.1[8..])),
        |path, key| path.given::<String>(&key.0).given::<u16>(number::<u16>(&key.1[2..7])).given::<u32>(number::<u32>(&key.1[8..])),
        club: Person::in_partition(club);
    Doc, &[part("Club"), part("Id")], 1,
        key: Doc::find().club(&key.0).id(number::<u32>(&key.1[2..])),
        |path, key| path.given::<String>(&key.0).given::<u32>(number::<u32>(&key.1[2..])),
        club: Doc::in_partition(club);
    Fan, &[part("Club"), part("Id")], 0,
        key: Fan::find().club(&key.0).id(number::<u32>(&key.1[2..])),
        |path, key| path.given::<String>(&key.0).given::<u32>(number::<u32>(&key.1[2..])),
        club: Fan::in_partition(club);
    Team, &[part("Club")], 0,
        key: Team::find().club(&key.0),
        |path, key| path.given::<String>(&key.0),
        club: Team::in_partition(club);
    Sponsor, &[part("Id")], 0,
        key: Sponsor::find().id(number::<u8>(&key.0)),
        |path, key| path.given::<u8>(number::<u8>(&key.0)),
        club: Sponsor::in_partition(number::<u8>(club));
}
