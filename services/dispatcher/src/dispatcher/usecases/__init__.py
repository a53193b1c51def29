"""What the dispatcher does: fan out events, deliver, wake what was missed."""
