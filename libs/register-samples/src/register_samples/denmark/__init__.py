"""The documents of CVR (distribution.virk.dk)."""
