"""Records: pure reading of register documents, the same for importers and feeds."""
