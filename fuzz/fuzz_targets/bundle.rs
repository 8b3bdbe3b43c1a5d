#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| liza::wire::targets::bundle(bytes));
