"""The documentation page: made from the OpenAPI document, needing no other host."""
