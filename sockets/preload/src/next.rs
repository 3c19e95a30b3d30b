//! The functions that ours stand in front of.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The address of the next definition of a symbol, looked up once.
pub(crate) fn find(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cache.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: a name that ends with NUL.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        // Each of them is in every C library that has our own symbols; without it there is no
        // answer that would be right.
        std::process::abort();
    }
    cache.store(found, Ordering::Relaxed);
    found
}

/// A symbol as a function. Only [`next!`] calls it, with the type that the C library's function of
/// that name has.
pub(crate) fn typed<F: Copy>(found: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: of the same size, and of the type of that symbol.
    unsafe { std::mem::transmute_copy(&found) }
}

/// `next!(fn name(types) -> type)`: the function that the program would have called without us.
macro_rules! next {
    (fn $name:ident($($arg:ty),* $(,)?) -> $ret:ty) => {{
        static CACHE: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
            std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        const NAME: &std::ffi::CStr =
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no NUL inside"),
            };
        let found = crate::next::find(&CACHE, NAME);
        crate::next::typed::<unsafe extern "C-unwind" fn($($arg),*) -> $ret>(found)
    }};
}
pub(crate) use next;

/// `interpose! { fn name(arguments) -> type { ours } }`: functions that stand in front of those of the C
/// library. `ours` returns from them if the call is for us; the others go on to the C library as they
/// came, with nothing alive that needs a destructor.
macro_rules! interpose {
    () => {};
    ($(#[$doc:meta])*
     fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $ret:ty $ours:block
     $($others:tt)*) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the C function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $ret {
            $ours
            // SAFETY: the program's own call.
            unsafe { next!(fn $name($($type),*) -> $ret)($($argument),*) }
        }

        interpose! { $($others)* }
    };
}
pub(crate) use interpose;
