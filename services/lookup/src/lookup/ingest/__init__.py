"""Brings registers into MongoDB, independent of any register, and publishes their events."""
