"""The Reconciliation Service API 0.2 of the W3C Community Group, which OpenRefine speaks."""
