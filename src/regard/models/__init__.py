"""Where queries, keys and values come from: the embedded encoder, and models from elsewhere."""
