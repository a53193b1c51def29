"""What a list of records read from a register does to what is stored: decided here, done elsewhere.

Every write is conditional on the revision it was decided from, so a plan made from what somebody
else has changed meanwhile fails as a whole and is made again.
"""
