//! Registers code that LuaJIT compiles with the unwinder of Rust's musl, so that errors can be thrown out of it.
//!
//! LuaJIT registers a table of one CIE and one FDE (DWARF 5 §6.4.1), as libgcc's unwinder expects. Rust's musl has LLVM's
//! unwinder, which expects the FDE alone and would ignore the table. `scripts/package` makes LuaJIT call these functions
//! instead of `__register_frame` and `__deregister_frame`.

unsafe extern "C" {
    fn __register_frame(fde: *const u8);
    fn __deregister_frame(fde: *const u8);
}

/// The FDE of a table: it follows the CIE, which begins with its length in four bytes.
///
/// # Safety
/// `table` points to a CIE that an FDE follows.
unsafe fn fde_of(table: *const u8) -> *const u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let length = table.cast::<u32>().read_unaligned();
        table.add(size_of::<u32>() + length as usize)
    }
}

/// Registers the code that a table describes.
///
/// # Safety
/// `table` points to a CIE and an FDE, which stay in place until [`paceline_deregister_frame`].
#[unsafe(no_mangle)]
unsafe extern "C" fn paceline_register_frame(table: *const u8) {
    // SAFETY: the caller's promise.
    unsafe { __register_frame(fde_of(table)) }
}

/// The opposite of [`paceline_register_frame`].
///
/// # Safety
/// `table` was registered.
#[unsafe(no_mangle)]
unsafe extern "C" fn paceline_deregister_frame(table: *const u8) {
    // SAFETY: the caller's promise.
    unsafe { __deregister_frame(fde_of(table)) }
}
