"""The Norwegian register: Brønnøysundregistrene."""
