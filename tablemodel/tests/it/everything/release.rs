//! Releases of the program: the newest, whose entities use every room, and the one before, which derives little from them.
//!
//! Both keep the same structs; what differs is the stored format. No test stands here.

use std::{fmt::Debug, marker::PhantomData};

use tablemodel::{
    __private::{
        At, Codec, Component, EntitySchema, FieldError, FieldReader, FieldWriter, FullKey, IndexSchema, ModelRow,
        PartitionOf, PathKind, PathQuery, PathState, Previous, Way,
    },
    Complete, Result, Upgrade, UpgradeError,
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
    /// Whether it has less than the others.
    const LACKS: bool;
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
    /// Its older version, where it has one.
    const WAS: Option<Was>;

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
    const LACKS: bool = false;
}

/// The one before: of what is derived it knows some indexes beside their entities.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before;

/// The same, and its persons are of an older version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Older;

/// The newest, which reads the persons of that version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raised;

const BEFORE: u8 = 0;
const OLDER: u8 = 1;
const RAISED: u8 = 2;

macro_rules! released {
    ($($release:ident $how:ident)*) => {$(
        impl Release for $release {
            type Model = ModelAs<$how>;
            type Of<E: Kept> = As<E, $how>;
            const IS_NEWEST: bool = false;
            const LACKS: bool = $how != RAISED;
        }
    )*};
}

released! { Before BEFORE Older OLDER Raised RAISED }

pub(super) struct ModelAs<const HOW: u8>;

impl<const HOW: u8> TableModel for ModelAs<HOW> {
    const ENTITIES: &'static [&'static EntitySchema] = &[
        As::<Person, HOW>::SCHEMA,
        As::<Doc, HOW>::SCHEMA,
        As::<Team, HOW>::SCHEMA,
        As::<Fan, HOW>::SCHEMA,
        As::<Sponsor, HOW>::SCHEMA,
    ];

    fn from_row(row: ModelRow) -> Result<Self> {
        row.unknown()
    }
}

/// An entity as another release keeps it.
#[derive(Debug, Clone)]
pub(super) struct As<E, const HOW: u8>(E);

impl<E: Kept, const HOW: u8> As<E, HOW> {
    const STORED: EntitySchema = match (HOW, E::WAS) {
        (OLDER, Some(was)) => EntitySchema {
            version: was.version,
            discriminator: was.discriminator,
            indexes: was.indexes,
            ..before(E::SCHEMA, E::INDEXES_BEFORE)
        },
        (BEFORE | OLDER, _) => before(E::SCHEMA, E::INDEXES_BEFORE),
        (_, Some(_)) => EntitySchema { previous: Some(Previous::of::<As<E, OLDER>, Self>()), ..same(E::SCHEMA) },
        (_, None) => same(E::SCHEMA),
    };
}

impl<E, const HOW: u8> Upgrade<As<E, OLDER>> for As<E, HOW> {
    fn upgrade(old: As<E, OLDER>) -> std::result::Result<Self, UpgradeError> {
        Ok(Self(old.0))
    }
}

/// The same format.
const fn same(schema: &'static EntitySchema) -> EntitySchema {
    EntitySchema {
        entity_type: schema.entity_type,
        version: schema.version,
        discriminator: schema.discriminator,
        table: schema.table,
        fields: schema.fields,
        partition: schema.partition,
        row: schema.row,
        indexes: schema.indexes,
        copies: schema.copies,
        aggregates: schema.aggregates,
        sharded: schema.sharded,
        adopt: schema.adopt,
        shape: schema.shape,
        reserved: schema.reserved,
        path: schema.path,
        previous: schema.previous,
        readable_by: schema.readable_by,
        moves_to: schema.moves_to,
        moved_from: schema.moved_from,
        frozen: schema.frozen,
        added_to: schema.added_to,
        reads: schema.reads,
    }
}

/// Without copies and aggregates, and with so many indexes.
const fn before(schema: &'static EntitySchema, indexes: usize) -> EntitySchema {
    let indexes = schema.indexes.split_at(indexes).0;
    EntitySchema { indexes, copies: &[], aggregates: &[], sharded: &[], ..same(schema) }
}

/// An index of an older version, beside its entity.
const fn was(index: &IndexSchema, discriminator: &'static str) -> IndexSchema {
    assert!(index.elsewhere.is_none());
    IndexSchema {
        name: index.name,
        discriminator,
        elsewhere: None,
        row: index.row,
        each: index.each,
        cover: index.cover,
        unique: index.unique,
        when: index.when,
        verified: index.verified,
        store: index.store,
    }
}

/// What an older version of an entity is called.
#[derive(Clone, Copy)]
pub(super) struct Was {
    version: u32,
    discriminator: &'static str,
    indexes: &'static [IndexSchema],
}

const PERSON_WAS: Was = Was {
    version: 1,
    discriminator: "Person@1",
    indexes: &[
        was(&Person::SCHEMA.indexes[0], "Person.by_name@1"),
        was(&Person::SCHEMA.indexes[1], "Person.by_zip@1"),
        was(&Person::SCHEMA.indexes[2], "Person.actives@1"),
        was(&Person::SCHEMA.indexes[3], "Person.by_seat@1"),
    ],
};

impl<E: Kept, const HOW: u8> TableEntity for As<E, HOW> {
    const ENTITY_TYPE: &'static str = E::ENTITY_TYPE;
    const SCHEMA: &'static EntitySchema = &Self::STORED;

    fn write_fields(&self, to: &mut FieldWriter) -> std::result::Result<(), FieldError> {
        self.0.write_fields(to)
    }

    fn read_fields(from: &FieldReader<'_>) -> std::result::Result<Self, FieldError> {
        E::read_fields(from).map(Self)
    }

    fn read_copies(&mut self, from: &FieldReader<'_>) -> std::result::Result<(), FieldError> {
        self.0.read_copies(from)
    }
}

impl<E: Kept, const HOW: u8> Form for As<E, HOW> {
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
        Keyed::<Self>(E::give(PathQuery::new::<ByKey<Self>>(), key), PhantomData)
    }

    fn in_club(club: &str) -> PartitionOf<Self> {
        PartitionOf::new(PathQuery::new::<ByKey<Self>>().given::<String>(club))
    }
}

/// The way by its key.
struct ByKey<F>(PhantomData<fn() -> F>);

impl<F: Form<Of: Kept>> PathKind for ByKey<F> {
    type Entity = F;
    type Found = Stored<F>;
    const WAY: Way = Way { index: None, components: F::Of::KEY };
}

struct Keyed<F>(PathQuery, PhantomData<fn() -> F>);

impl<F: Form<Of: Kept>> Path for Keyed<F> {
    type State = At<ByKey<F>, FullKey>;
    type Found = Stored<F>;

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
    ($($entity:ident, $key:expr, $indexes:literal, $was:expr, $at:ident: $path:expr, $give:expr, $club:ident: $query:expr;)*) => {$(
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
            const WAS: Option<Was> = $was;

            fn give(path: PathQuery, $at: &Key) -> PathQuery {
                let give: fn(PathQuery, &Key) -> PathQuery = $give;
                give(path, $at)
            }
        }
    )*};
}

kept! {
    Person, &[part("Club"), part("Year"), part("Id")], 4, Some(PERSON_WAS),
        key: Person::find().club(&key.0).year(number::<u16>(&key.1[2..7])).id(number::<u32>(&key.1[8..])),
        |path, key| path.given::<String>(&key.0).given::<u16>(number::<u16>(&key.1[2..7])).given::<u32>(number::<u32>(&key.1[8..])),
        club: Person::in_partition(club);
    Doc, &[part("Club"), part("Id")], 1, None,
        key: Doc::find().club(&key.0).id(number::<u32>(&key.1[2..])),
        |path, key| path.given::<String>(&key.0).given::<u32>(number::<u32>(&key.1[2..])),
        club: Doc::in_partition(club);
    Fan, &[part("Club"), part("Id")], 0, None,
        key: Fan::find().club(&key.0).id(number::<u32>(&key.1[2..])),
        |path, key| path.given::<String>(&key.0).given::<u32>(number::<u32>(&key.1[2..])),
        club: Fan::in_partition(club);
    Team, &[part("Club")], 0, None,
        key: Team::find().club(&key.0),
        |path, key| path.given::<String>(&key.0),
        club: Team::in_partition(club);
    Sponsor, &[part("Id")], 0, None,
        key: Sponsor::find().id(number::<u8>(&key.0)),
        |path, key| path.given::<u8>(number::<u8>(&key.0)),
        club: Sponsor::in_partition(number::<u8>(club));
}
