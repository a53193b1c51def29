"""Events: reading the feed in pages, after a wait, or as a stream."""
