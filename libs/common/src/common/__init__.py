"""Code shared by the services: contracts, runtime, messaging, MongoDB; no business rules."""
