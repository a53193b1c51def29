"""The Peppol Directory (directory.peppol.eu): its export of all business cards."""

#: Below the directory's address; JSON, since the XML and CSV exports say no more.
EXPORT = "export/businesscards-json"
