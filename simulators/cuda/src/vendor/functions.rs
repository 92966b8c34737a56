//! A library's functions, looked up by name.

/// Declares a struct of the functions of one library.
macro_rules! functions {
    (
        $(#[doc = $doc:literal])*
        $api:ident of $library:literal;
        $($name:ident = $symbol:literal: $of:ty;)*
    ) => {
        $(#[doc = $doc])*
        pub(super) struct $api {
            $(pub(super) $name: $of,)*
            /// Keeps the functions loaded.
            _library: libloading::Library,
        }

        impl $api {
            /// Looks all functions up.
            ///
            /// # Errors
            /// The first that is missing.
            pub(super) fn new(library: libloading::Library) -> Result<$api, crate::preflight::Absent> {
                let lacks = |name: &str| {
                    let why = format!("the {} found here has no {name}", $library);
                    crate::preflight::Absent::new(why, concat!("Install a newer ", $library))
                };
                Ok($api {
                    $($name: {
                        // SAFETY: the type is that of the library's header, see the struct.
                        let found = unsafe { library.get::<$of>($symbol.as_bytes()) };
                        *found.map_err(|_| lacks($symbol))?
                    },)*
                    _library: library,
                })
            }
        }
    };
}
