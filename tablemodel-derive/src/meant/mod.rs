//! What the words mean together: a resolved model in which every field is found and every rule was asked.
//! No code is generated here.

pub(crate) mod entity;
pub(crate) mod field;
pub(crate) mod key;
pub(crate) mod lineage;
pub(crate) mod model;
pub(crate) mod names;
pub(crate) mod path;
pub(crate) mod projection;
pub(crate) mod rules;
pub(crate) mod types;
pub(crate) mod value;
pub(crate) mod variants;
