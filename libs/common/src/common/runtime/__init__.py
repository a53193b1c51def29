"""Settings, logging, metrics, health, start and stop: the same in every process."""
