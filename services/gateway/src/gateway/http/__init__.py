"""HTTP: what every request and answer has, whichever its route."""
