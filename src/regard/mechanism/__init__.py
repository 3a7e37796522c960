"""Scaled dot-product attention, a panel of rows at a time. Nothing in here knows a word."""
