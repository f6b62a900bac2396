//! What both sides of a comparison can do, in the same words.
//!
//! No figure is taken here.

use std::path::Path;

use crate::{Result, employee::Employee};

/// Bytes of memory for pages of the file: more than the largest file of a comparison.
pub(crate) const CACHE_BYTES: usize = 256 * 1024 * 1024;

/// Employees in a file, with a unique index by email and an index by last name. Every write is on the disk before it
/// is acknowledged; reads see every write acknowledged before them.
pub(crate) trait Side: Clone + Send + Sync + 'static {
    /// An employee as it was read, with what it takes to write it back only if nobody else did meanwhile.
    type Kept: Send + 'static;

    /// Opens the file, which is created if it is not there.
    fn open(path: &Path, cache_bytes: usize) -> impl Future<Output = Result<Self>> + Send;

    /// Inserts many employees.
    fn bulk(&self, employees: Vec<Employee>) -> impl Future<Output = Result<()>> + Send;

    /// Inserts an employee whose number and email nobody has.
    fn insert(&self, employee: Employee) -> impl Future<Output = Result<Self::Kept>> + Send;

    /// The employee with this number.
    fn get(&self, id: u32) -> impl Future<Output = Result<Option<Self::Kept>>> + Send;

    /// The employee with this email.
    fn by_email(&self, email: &str) -> impl Future<Output = Result<Option<Self::Kept>>> + Send;

    /// The employees with these numbers, both ends included, in order.
    fn range(&self, first: u32, last: u32) -> impl Future<Output = Result<Vec<Self::Kept>>> + Send;

    /// The emails of the employees with this last name, in order of number, from the index alone.
    fn emails_of(&self, last_name: &str) -> impl Future<Output = Result<Vec<String>>> + Send;

    /// Reads, changes the last name, and writes if nobody else wrote meanwhile; else again.
    fn rename(&self, id: u32, last_name: &str) -> impl Future<Output = Result<Self::Kept>> + Send;

    /// Deletes an employee if nobody wrote it since it was read.
    fn delete(&self, kept: Self::Kept) -> impl Future<Output = Result<()>> + Send;

    /// Shows every employee, in order of number, without holding all of them.
    fn each(&self, see: impl FnMut(&Employee) + Send) -> impl Future<Output = Result<()>> + Send;

    /// Closes the file, which this has open alone.
    fn close(self) -> impl Future<Output = Result<()>> + Send;

    /// The employee alone.
    fn employee(kept: &Self::Kept) -> &Employee;
}
