//! Test support: servers started from tests, golden runner, crash campaigns.
