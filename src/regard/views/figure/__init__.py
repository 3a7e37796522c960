"""Records and steps as matplotlib figures."""
