"""Documentation page, generated from the OpenAPI document without external resources."""
