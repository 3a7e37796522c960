"""What is shown: a scene of plain values, and its renderings."""
