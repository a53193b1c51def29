"""Releases, commands and restores in Kubernetes, as `deploy/k8s/run` types them (ADR 0058)."""
