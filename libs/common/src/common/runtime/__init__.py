"""Settings, logging, metrics, health, start and stop of every process."""
