//! What the command `workalike` and the benchmark harness share.
//!
//! | module | content |
//! |---|---|
//! | `device` | the option `--device`, and the device that `auto` selects |
//! | `exit` | errors of arguments, and exit codes |
//! | `inputs` | inputs that are files, numbers or random |
//! | `method` | the method of a file, if the user names none |
//! | `random` | random arrays, the same in every run |
//! | `report` | output to stdout, and error messages |

pub mod device;
pub mod exit;
pub mod inputs;
pub mod method;
pub mod random;
pub mod report;
