"""Following: registers are read over their own interfaces, pass by pass."""
