"""Register files of any size, read document by document."""
