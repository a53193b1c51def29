"""OpenAPI description of the public interface, generated from the code that serves it."""
