"""What a watched model shows: its calls of attention, read, followed and put together."""
