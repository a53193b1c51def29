"""The Peppol Directory."""
