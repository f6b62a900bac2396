//! Checks that users run on their own types in their tests.
//! Nothing here is used by the framework at run time.
