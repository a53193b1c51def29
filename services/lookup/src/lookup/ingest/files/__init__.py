"""Register files of any size, cut into documents."""
