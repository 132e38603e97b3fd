#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| limpid_fuzz::dictionary_rows(bytes));
