"""The Danish register: Det Centrale Virksomhedsregister."""
