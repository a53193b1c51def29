"""The registers' own interfaces, asked politely.

`http` is the one client; `brreg`, `cvr` and `peppol` say what is asked of each register.
"""
