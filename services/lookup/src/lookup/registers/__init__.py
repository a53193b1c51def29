"""The registers' own documents, files and interfaces, one package each."""
