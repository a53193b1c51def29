"""The formats of Enhetsregisteret (data.brreg.no)."""
