//! Every room's program, run to its end. A program that finds a claim of its own broken does not end well.

use std::process::Command;

macro_rules! programs {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let output = Command::new(env!(concat!("CARGO_BIN_EXE_", stringify!($name)))).output().unwrap();
            let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{told}\n{errors}");
            assert!(!told.trim().is_empty(), "it shows something");
        }
    )*};
}

#[cfg(feature = "blob")]
programs! { blob }

programs! {
    quickstart compound_key copy index elsewhere unique list aggregate sparse wide chunked model projection rekey scan batch bulk
    paging patch upgrades
}
