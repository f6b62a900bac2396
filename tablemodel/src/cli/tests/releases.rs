//! Releases of the entity `Item`, for what becomes of its frozen structs.
//! Nothing is tested here.

/// Its key has this name.
pub(super) mod by_shelf {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", crate = "crate")]
    #[table(partition = "{shelf}", row = "{id:06}")]
    pub(in crate::cli::tests) struct Item {
        shelf: String,
        id: u16,
        name: String,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Item(Item),
    }
}

/// Its key has another name, and a wider integer.
pub(super) mod by_rack {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", crate = "crate")]
    #[table(partition = "{rack}", row = "{id:06}", version = 2)]
    pub(in crate::cli::tests) struct Item {
        rack: String,
        id: u32,
        name: String,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Item(Item),
    }
}

/// One property more; and the struct is called otherwise.
pub(super) mod by_rack_noted {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", crate = "crate")]
    #[table(partition = "{rack}", row = "{id:06}", version = 3)]
    pub(in crate::cli::tests) struct Article {
        rack: String,
        id: u32,
        name: String,
        note: Option<String>,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Article(Article),
    }
}

/// A default that is not its type's.
pub(super) mod rated {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", crate = "crate")]
    #[table(partition = "{shelf}", row = "{id:06}")]
    pub(in crate::cli::tests) struct Item {
        shelf: String,
        id: u32,
        #[table(default = 3)]
        stars: u8,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Item(Item),
    }
}

/// The same under another name.
pub(super) mod scored {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", crate = "crate")]
    #[table(partition = "{shelf}", row = "{id:06}")]
    pub(in crate::cli::tests) struct Item {
        shelf: String,
        id: u32,
        #[table(default = 3)]
        score: u8,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Item(Item),
    }
}

/// The second release as `diff` asks for it.
pub(super) mod second_raised {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", crate = "crate")]
    #[table(
        partition = "{shelf}",
        row = "{id:06}",
        version = 2,
        index(by_name, row = "name_{name}_{id:06}", keys_only)
    )]
    pub(in crate::cli::tests) struct Item {
        shelf: String,
        id: u32,
        name: String,
        quantity: u32,
        note: Option<String>,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Item(Item),
    }
}

/// A name that the first release had.
pub(super) mod back {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", crate = "crate")]
    #[table(
        partition = "{shelf}",
        row = "{id:06}",
        version = 3,
        index(by_name, row = "name_{name}_{id:06}", keys_only)
    )]
    pub(in crate::cli::tests) struct Item {
        shelf: String,
        id: u32,
        name: String,
        #[table(was = "Quantity")]
        qty: u32,
        note: Option<String>,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Item(Item),
    }
}

/// A version above the first.
pub(super) mod above {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", crate = "crate")]
    #[table(partition = "{shelf}", row = "{id:06}", version = 2)]
    pub(in crate::cli::tests) struct Item {
        shelf: String,
        id: u32,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Item(Item),
    }
}

/// Two properties.
pub(super) mod plain {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", crate = "crate")]
    #[table(partition = "{shelf}", row = "{id}")]
    pub(in crate::cli::tests) struct Item {
        pub(in crate::cli::tests) shelf: String,
        pub(in crate::cli::tests) id: u32,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Item(Item),
    }
}

/// One more, with these words on the struct.
macro_rules! noted {
    ($name:ident $(, $word:ident = $value:expr)*) => {
        pub(super) mod $name {
            use crate::prelude::*;

            #[derive(TableEntity)]
            #[table(name = "Stock", entity_type = "Item", crate = "crate")]
            #[table(partition = "{shelf}", row = "{id}" $(, $word = $value)*)]
            pub(in crate::cli::tests) struct Item {
                pub(in crate::cli::tests) shelf: String,
                pub(in crate::cli::tests) id: u32,
                pub(in crate::cli::tests) note: Option<String>,
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(in crate::cli::tests) enum Model {
                Item(Item),
            }
        }
    };
}

// By a program that does not say a new version yet; in one that old programs do not read; and in one that they do.
noted!(early);
noted!(unread, version = 2);
noted!(read, version = 2, previous = super::plain::Item, readable_by = 1);
