//! Generated code of a device that does nothing but print it.
