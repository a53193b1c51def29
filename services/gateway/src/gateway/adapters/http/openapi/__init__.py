"""The description of the public interface, made from the code that serves it."""
