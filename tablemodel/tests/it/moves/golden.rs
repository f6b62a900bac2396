//! Golden rows of an entity that has moved: its upgrade is tested as any other.

use tablemodel::testing::{golden_rows, read_golden, upgrade_is_pure};

use super::second::{Flight, FlightV1};

#[test]
fn golden_rows_of_the_old_form_are_read_as_what_the_move_makes_of_them() {
    let flight = Flight { origin: "OSL".into(), carrier: "C0".into(), number: 7, code: "C07".into(), seats: 9 };
    let old = golden_rows(&[FlightV1::new("C0", 7, "OSL", 9)]).unwrap();
    upgrade_is_pure::<FlightV1, Flight>(&old);
    assert_eq!(read_golden::<Flight>(&old).unwrap(), std::slice::from_ref(&flight));
    let new = golden_rows(std::slice::from_ref(&flight)).unwrap();
    assert_eq!(read_golden::<Flight>(&format!("{old}{new}")).unwrap(), [flight.clone(), flight]);
}
